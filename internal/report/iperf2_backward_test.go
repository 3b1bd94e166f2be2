package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/result"
)

// The second half of -r comes on a connection of the server's: to the client one as any
// other, under no banner of its own, and to the server the reverse.
func TestIPerf2OfTheConnectionThatTheServerOpened(t *testing.T) {
	half := func(server bool) *result.Report {
		r := &result.Report{
			Config:   &result.Config{Protocol: "tcp", Direction: "reverse", Destination: "192.0.2.2:5001"},
			Streams:  []result.Stream{{Local: "192.0.2.1:5001", Remote: "192.0.2.2:34774", Sender: server}},
			Sender:   &result.Sender{PayloadBytes: 1_703_936, Seconds: 0.6912},
			Receiver: &result.Receiver{PayloadBytes: 1_703_936, Seconds: 0.7018},
		}
		if server {
			r.Streams[0].Local, r.Streams[0].Remote = r.Streams[0].Remote, r.Streams[0].Local
		}
		return r
	}
	for _, c := range []struct {
		server bool
		want   string
	}{
		{false, `
[  1] local 192.0.2.1 port 5001 connected with 192.0.2.2 port 34774
[ ID] Interval       Transfer     Bandwidth
[  1] 0.0000-0.7018 sec  1.62 MBytes  19.4 Mbits/sec
`},
		{true, `
[ *1] local 192.0.2.2 port 34774 connected with 192.0.2.1 port 5001 (reverse)
[ ID] Interval       Transfer     Bandwidth
[ *1] 0.0000-0.6912 sec  1.62 MBytes  19.7 Mbits/sec
`},
	} {
		o := IPerf2Options{Server: c.server}
		got := iperf2Text(t, o, half(c.server))
		if c.server { // without what it said when it began to wait
			_, got, _ = strings.Cut(got, "(default)\n"+rule)
		}
		if diff := cmp.Diff(strings.TrimPrefix(c.want, "\n"), got); diff != "" {
			t.Errorf("server %v: -stock +ours\n%s", c.server, diff)
		}
	}
}
