package report

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/result"
)

// A sampled is a test of which testdata/iperf3 holds what stock iperf3 printed.
type sampled struct {
	name      string
	protocol  string
	direction string
	parallel  int
	counts    []uint64 // packets (UDP) or KiB (TCP) of one stream in each interval
	step      float64  // seconds of an interval
	omit      int      // intervals
}

var samples = []sampled{
	{name: "tcp-fwd", protocol: "tcp", direction: "forward", parallel: 1, counts: []uint64{1024, 1024}, step: 1},
	{name: "tcp-rev", protocol: "tcp", direction: "reverse", parallel: 1, counts: []uint64{1024, 1024}, step: 1},
	{name: "tcp-bidir", protocol: "tcp", direction: "bidir", parallel: 1, counts: []uint64{1024, 1024}, step: 1},
	{name: "tcp-P2", protocol: "tcp", direction: "forward", parallel: 2, counts: []uint64{512, 512}, step: 1},
	{name: "tcp-V", protocol: "tcp", direction: "forward", parallel: 1, counts: []uint64{1024, 1024}, step: 1},
	{name: "tcp-bidir-P2-V", protocol: "tcp", direction: "bidir", parallel: 2, counts: []uint64{512}, step: 1},
	{name: "udp-fwd", protocol: "udp", direction: "forward", parallel: 1, counts: []uint64{173, 173}, step: 1},
	{name: "udp-rev", protocol: "udp", direction: "reverse", parallel: 1, counts: []uint64{173, 173}, step: 1},
	{name: "udp-bidir", protocol: "udp", direction: "bidir", parallel: 1, counts: []uint64{173, 173}, step: 1},
	{name: "udp-P2", protocol: "udp", direction: "forward", parallel: 2, counts: []uint64{87, 86}, step: 1},
	{name: "udp-V", protocol: "udp", direction: "forward", parallel: 1, counts: []uint64{173, 173}, step: 1},
	{name: "udp-bidir-P2-V", protocol: "udp", direction: "bidir", parallel: 2, counts: []uint64{87}, step: 1},
	{name: "udp-f", protocol: "udp", direction: "forward", parallel: 1, counts: []uint64{173, 173}, step: 1},
	{name: "udp-title", protocol: "udp", direction: "forward", parallel: 1, counts: []uint64{173, 173}, step: 1},
	{name: "udp-get-server-output", protocol: "udp", direction: "forward", parallel: 1, counts: []uint64{173, 173}, step: 1},
	{name: "udp-omit", protocol: "udp", direction: "forward", parallel: 1, counts: []uint64{173, 173}, step: 1, omit: 1},
}

// report is what such a test would be to us, at one end.
func (s sampled) report(server bool) *result.Report {
	r := &result.Report{Started: "2026-11-30T10:21:54.435+01:00", Config: &result.Config{
		Protocol: s.protocol, Direction: s.direction, Flows: s.parallel, RateBps: 2e6 * float64(s.parallel), DurationS: s.step * float64(len(s.counts)-s.omit), OmitS: float64(s.omit), MSS: 1448, Congestion: "bbr", PeerCongestion: "bbr", ControlMSS: 1448,
	}}
	forth := s.direction != "reverse"
	for i := range s.parallel {
		r.Streams = append(r.Streams, stream(i, forth != server))
	}
	if s.direction == "bidir" {
		for i := range s.parallel {
			r.Streams = append(r.Streams, stream(s.parallel+i, server))
		}
		r.Reverse = &result.Direction{}
	}
	for i, n := range s.counts {
		at := float64(i)
		if i >= s.omit {
			at -= float64(s.omit) // times begin anew
		}
		iv := result.Interval{StartS: s.step * at, EndS: s.step * (at + 1), Omitted: i < s.omit}
		iv.Sender, iv.Receiver = s.interval(n)
		if s.direction == "bidir" {
			iv.Reverse = &result.ReverseInterval{}
			iv.Reverse.Sender, iv.Reverse.Receiver = s.interval(n)
		}
		r.Intervals = append(r.Intervals, iv)
	}
	r.Hosts = []result.Host{
		{Role: "sender", CPU: &result.CPU{Process: 0.038, System: 0.038}},
		{Role: "receiver", CPU: &result.CPU{Process: 0.008, System: 0.008}},
	}
	r.Sender, r.Receiver = s.total()
	if s.direction == "bidir" {
		r.Reverse.Sender, r.Reverse.Receiver = s.total()
	}
	return r
}

func stream(i int, sender bool) result.Stream {
	id := i + 1
	if i > 0 {
		id++
	}
	return result.Stream{ID: id, Local: "127.0.0.1:52010", Remote: "127.0.0.1:52012", Sender: sender}
}

// interval is n of each stream, as both ends count it.
func (s sampled) interval(n uint64) (*result.SenderInterval, *result.ReceiverInterval) {
	all := uint64(s.parallel)
	left, came := s.left(n*all), s.came(n*all)
	for i := range s.parallel {
		flow := uint16(i)
		l, c := s.left(n), s.came(n)
		l.Flow, c.Flow = &flow, &flow
		left.Flows, came.Flows = append(left.Flows, *l), append(came.Flows, *c)
	}
	return left, came
}

func (s sampled) left(n uint64) *result.SenderInterval {
	if s.protocol == "tcp" {
		return &result.SenderInterval{PayloadBytes: n << 10, IntervalTCP: &result.IntervalTCP{Retransmits: ptr[uint64](0), CwndBytes: ptr[uint64](264 << 10)}}
	}
	return &result.SenderInterval{PayloadBytes: n * 1448, IntervalSent: &result.IntervalSent{Packets: n}}
}

func (s sampled) came(n uint64) *result.ReceiverInterval {
	if s.protocol == "tcp" {
		return &result.ReceiverInterval{PayloadBytes: n << 10}
	}
	return &result.ReceiverInterval{IntervalArrived: &result.IntervalArrived{Packets: n, Unique: n, UniquePayloadBytes: n * 1448, JitterNS: ptr[int64](15_000)}}
}

// total is the sum of the intervals that are not omitted.
func (s sampled) total() (*result.Sender, *result.Receiver) {
	var n uint64
	for _, x := range s.counts[s.omit:] {
		n += x
	}
	all := uint64(s.parallel)
	sent, came := s.sent(n*all), s.arrived(n*all)
	for i := range s.parallel {
		flow := uint16(i)
		x, c := s.sent(n), s.arrived(n)
		x.Flow, c.Flow = &flow, &flow
		sent.Flows, came.Flows = append(sent.Flows, *x), append(came.Flows, *c)
	}
	return sent, came
}

func (s sampled) sent(n uint64) *result.Sender {
	if s.protocol == "tcp" {
		return &result.Sender{PayloadBytes: n << 10, SentTCP: &result.SentTCP{Retransmits: ptr[uint64](0)}}
	}
	return &result.Sender{PayloadBytes: n * 1448, SentPackets: &result.SentPackets{Packets: n}}
}

func (s sampled) arrived(n uint64) *result.Receiver {
	if s.protocol == "tcp" {
		return &result.Receiver{PayloadBytes: n << 10}
	}
	return &result.Receiver{PayloadBytes: n * 1448, ArrivedPackets: &result.ArrivedPackets{Packets: n, Unique: n, JitterNS: ptr[int64](15_000)}, Arrivals: &result.Arrivals{UniquePayloadBytes: n * 1448}}
}

// facts are what else such a test has at one end.
func (s sampled) facts(server bool) *IPerf3 {
	f := &IPerf3{
		Server: server, Version: "iperf 3.12", System: "Linux host 6.18.44 #1 SMP PREEMPT_DYNAMIC x86_64",
		Cookie: "kl47b73n2tie3mc7bf4wjfyitgt2yosv2t4s",
		Host:   "127.0.0.1", Port: 5201, Block: 1448,
		Interval: 1,
	}
	if s.protocol == "tcp" {
		f.Block = 131072
	}
	if server {
		f.Port = 43840
	}
	return f
}

// printed is the text of a test from its start.
func (s sampled) printed(t *testing.T, r *result.Report, f *IPerf3) string {
	t.Helper()
	var b strings.Builder
	text := NewIPerf3Text(&b, s.styled(f.Server), f)
	errs := []error{text.Program()}
	if f.Server {
		errs = append(errs, text.Listening(5201, 1))
	}
	errs = append(errs, text.Started(r))
	for i := range r.Intervals {
		errs = append(errs, text.Interval(r, &r.Intervals[i]))
	}
	errs = append(errs, text.Summary(r))
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// stock is what stock iperf3 printed at one end of such a test.
func (s sampled) stock(t *testing.T, end string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/iperf3/text-" + s.name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	for part := range strings.SplitSeq(string(text), "##### ") {
		if title, body, ok := strings.Cut(part, "\n"); ok && strings.HasPrefix(title, end) {
			return body
		}
	}
	t.Fatalf("%s holds nothing of the %s", s.name, end)
	return ""
}

var (
	cookieLine = regexp.MustCompile(`Cookie: [a-z2-7]{36}\n`)
	digit      = regexp.MustCompile(`[0-9]`)
	socketID   = regexp.MustCompile(`\[ *\d+\]`)
	portNumber = regexp.MustCompile(`port \d+`)
)

// masked has every digit as 0: what is left is the layout, to the column.
func masked(s string) string {
	s = cookieLine.ReplaceAllString(s, "Cookie: #\n")
	s = socketID.ReplaceAllString(s, "[  0]")
	s = portNumber.ReplaceAllString(s, "port 0")
	return digit.ReplaceAllString(s, "0")
}

// styled is how stock iperf3 was asked at one end.
func (s sampled) styled(server bool) IPerf3Style {
	switch {
	case s.name == "udp-f" && server:
		return IPerf3Style{Format: 'K'}
	case s.name == "udp-f":
		return IPerf3Style{Format: 'm'}
	case s.name == "udp-title" && !server:
		return IPerf3Style{Title: "abc", Timestamps: "%H:%M:%S_"}
	}
	return IPerf3Style{Verbose: strings.HasSuffix(s.name, "-V")}
}

// narrow leaves a server what a stock one knows when it prints.
func narrow(r *result.Report) {
	r.Config.MSS, r.Config.ControlMSS = 0, 0
	if r.Config.Direction == "reverse" {
		r.Receiver = nil
		return
	}
	r.Sender = nil
	if r.Reverse != nil {
		r.Reverse.Receiver = nil
	}
}

func TestIPerf3TextIsStockToTheColumn(t *testing.T) {
	for _, s := range samples {
		for end, server := range map[string]bool{"client": false, "server": true} {
			t.Run(s.name+"/"+end, func(t *testing.T) {
				r, f := s.report(server), s.facts(server)
				if server {
					narrow(r)
				} else if s.name == "udp-get-server-output" {
					_, r.ServerText, _ = strings.Cut(s.stock(t, "server"), "(test #1)\n")
					_, r.ServerText, _ = strings.Cut(r.ServerText, "\n")
				}
				want, got := masked(s.stock(t, end)), masked(s.printed(t, r, f))
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-stock +ours):\n%s", diff)
				}
			})
		}
	}
}
