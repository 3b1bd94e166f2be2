package report

import (
	"cmp"
	"math"
	"net/netip"
	"time"

	"linerate/internal/result"
)

// IPerf3 is what iperf3 shows of a test and a report lacks. The caller fills in
// what it knows before the test starts. What is unknown stays zero or nil and is left
// out, or is iperf3's own 0 where its format wants the key.
type IPerf3 struct {
	Server bool // this end waited; otherwise it is the client

	Version string // as --version begins: "iperf 3.12 (…)"
	System  string // as uname -a tells it
	Cookie  string

	// Host and Port are of the other end of the control connection: as they were
	// asked for at a client, the client's own at a server.
	Host string
	Port int

	MSSAsked    bool // Config.MSS was asked for
	BlockAsked  bool // Block was asked for
	Block       int  // bytes of one write or read, where the report's PayloadBytes do not tell
	Blocks      uint64
	FQRate      uint64 // bit/s that the kernel paces each stream to; 0 for no limit
	Interval    float64
	BufferAsked int // bytes, as SO_SNDBUF and SO_RCVBUF tell them

	Title, ExtraData string
}

// socket is what stands for stream i of a report. In iperf3 it is the stream's file
// descriptor: 5 of the first, and then as a rule the next but one.
func socket(i int) int { return 5 + 2*i }

// A lane is one direction of a test, as this end sees it.
type lane struct {
	sends    bool // this end sends
	back     bool // the second direction of --bidir: from the server to the client
	sockets  []int
	sender   *result.Sender
	receiver *result.Receiver
}

// lanes are the directions of a test: one, or with --bidir two, that to the
// server first.
func (f *IPerf3) lanes(r *result.Report) []lane {
	forward := lane{sends: !f.Server, sender: r.Sender, receiver: r.Receiver}
	switch r.Config.Direction {
	case "reverse":
		forward.sends = f.Server
	case "bidir":
		back := lane{sends: f.Server, back: true}
		if r.Reverse != nil {
			back.sender, back.receiver = r.Reverse.Sender, r.Reverse.Receiver
		}
		return []lane{wired(r, forward), wired(r, back)}
	}
	return []lane{wired(r, forward)}
}

// wired adds the sockets of a lane to it.
func wired(r *result.Report, l lane) lane {
	for i, s := range r.Streams {
		if s.Sender == l.sends {
			l.sockets = append(l.sockets, socket(i))
		}
	}
	return l
}

// halves are the parts of an interval that belong to a lane.
func (l *lane) halves(iv *result.Interval) (*result.SenderInterval, *result.ReceiverInterval) {
	if !l.back {
		return iv.Sender, iv.Receiver
	}
	if iv.Reverse == nil {
		return nil, nil
	}
	return iv.Reverse.Sender, iv.Reverse.Receiver
}

// seen says whether this end had a part in an interval: of a test's last, only the
// other end may have.
func (f *IPerf3) seen(r *result.Report, iv *result.Interval) bool {
	for _, l := range f.lanes(r) {
		if sent, received := l.halves(iv); l.sends && sent != nil || !l.sends && received != nil {
			return true
		}
	}
	return false
}

// started is when a test began by the wall clock, in UTC.
func started(r *result.Report) time.Time {
	t, err := time.Parse(time.RFC3339Nano, r.Started)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}

// parallel is how many streams a test has in each direction.
func parallel(c *result.Config) int { return max(c.Flows, 1) }

// block is the size of one datagram (UDP), or of one write or read, in bytes.
func (f *IPerf3) block(c *result.Config) int { return cmp.Or(c.PayloadBytes, f.Block) }

// bitrate is the rate asked of each stream, in bit/s of payload; 0 for no limit.
func bitrate(c *result.Config) uint64 { return uint64(math.Round(c.RateBps / float64(parallel(c)))) }

// cpus are what this end and the other used; nil where that is unknown.
func (f *IPerf3) cpus(r *result.Report) (local, remote *result.CPU) {
	role := "receiver"
	if f.lanes(r)[0].sends {
		role = "sender"
	}
	for i := range r.Hosts {
		if r.Hosts[i].Role == role {
			local = r.Hosts[i].CPU
		} else {
			remote = r.Hosts[i].CPU
		}
	}
	return local, remote
}

// congestions are the algorithms of TCP at both ends of a lane; empty where unknown.
func congestions(r *result.Report, l *lane) (sender, receiver string) {
	if !tcp(r) {
		return "", ""
	}
	if l.sends {
		return r.Config.Congestion, r.Config.PeerCongestion
	}
	return r.Config.PeerCongestion, r.Config.Congestion
}

// tcp says whether a test ran over TCP.
func tcp(r *result.Report) bool { return r.Config.Protocol == "tcp" }

// length is how long the counted part of a test was, in seconds: until the end of
// its last interval, and without intervals as long as either end says.
func (l *lane) length(r *result.Report) float64 {
	if n := len(r.Intervals); n > 0 && !r.Intervals[n-1].Omitted {
		return r.Intervals[n-1].EndS
	}
	var s float64
	if l.sender != nil {
		s = l.sender.Seconds
	}
	if l.receiver != nil {
		s = max(s, l.receiver.Seconds)
	}
	return s
}

// rfc1123GMT is how iperf3 writes the time of a test's start.
const rfc1123GMT = "Mon, 02 Jan 2006 15:04:05 GMT"

// endpoint is one end of a stream as iperf3 writes it: IPv4 not mapped into IPv6,
// and without a zone.
func endpoint(s string) netip.AddrPort {
	a, err := netip.ParseAddrPort(s)
	if err != nil {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}
