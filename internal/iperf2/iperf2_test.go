package iperf2_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"
	"pgregory.net/rapid"

	"linerate/internal/iperf2"
	"linerate/internal/probe"
)

// unhex reads hex with spaces between groups.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// conversation has the UDP payloads of a whole test between a client and a
// server of iperf 2.1.8: iperf -u -t 0.04 -b 160k -l 200.
func conversation(t testing.TB) (payloads [][]byte) {
	t.Helper()
	f, err := os.Open("testdata/udp-conversation.pcap")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := pcapgo.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for p := range gopacket.NewPacketSource(r, r.LinkType()).Packets() {
		if udp, ok := p.TransportLayer().(*layers.UDP); ok {
			payloads = append(payloads, udp.Payload)
		}
	}
	if len(payloads) != 8 {
		t.Fatalf("%d datagrams in the capture, want 6 of data, a FIN and its answer", len(payloads))
	}
	return payloads
}

// stock is what the client of the conversation asks for.
var stock = iperf2.Settings{
	Flows: 1, Port: 5001, Size: 200, Duration: 40 * time.Millisecond, Rate: 160_000, Release: "2.1.8",
}

// said is what its server reports.
var said = iperf2.Report{
	Bytes: 1400, Duration: 50225 * time.Microsecond, Datagrams: 7, Jitter: 10 * time.Microsecond, PPS: 139,
	Latency: &iperf2.Latency{
		Min: 4 * time.Microsecond, Mean: 35 * time.Microsecond, Max: 97 * time.Microsecond,
		Stdev: 28947 * time.Nanosecond, Datagrams: 7,
	},
}

func TestStockConversation(t *testing.T) {
	payloads := conversation(t)
	if got := iperf2.ParseUDP(payloads[0]); got != stock {
		t.Errorf("the client asks for %+v, want %+v", got, stock)
	}
	if !iperf2.Opens(payloads[0]) || iperf2.LayoutOf(payloads[0]) != iperf2.Layout21 {
		t.Error("the first datagram opens no flow of release 2.1")
	}
	fin, answer := payloads[6], payloads[7]
	if iperf2.Opens(fin) {
		t.Error("the FIN opens a flow")
	}
	got, err := iperf2.ParseReport(answer)
	if err != nil {
		t.Fatal(err)
	}
	want := said
	want.Latency = nil // this server ran without -e and says that its latency is not valid
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Errorf("the server's report: -want +got\n%s", diff)
	}
	// As that server measured latency all the same, ours is its answer but for the
	// word of flags and the sum of the latencies, which it did not round.
	b := said.Append(nil, iperf2.Layout21, fin)
	copy(b[16:20], answer[16:20])
	copy(b[72:80], answer[72:80])
	copy(b[88:96], answer[88:96])
	if !bytes.Equal(b, answer) {
		t.Errorf("our report\n%x\nis not the stock server's\n%x", b, answer)
	}
}

// Our header is the stock client's, byte by byte.
func TestPutUDPIsTheStockHeader(t *testing.T) {
	first := conversation(t)[0]
	b := make([]byte, 200)
	copy(b, first[:iperf2.PrefixSize])
	copy(b[iperf2.HeaderSize:], first[iperf2.HeaderSize:])
	s := stock
	s.PutUDP(b)
	if diff := cmp.Diff(first, b); diff != "" {
		t.Errorf("-stock +ours\n%s", diff)
	}
}

// The flags that clients of 2.1.8 send with their options.
func TestStockFlags(t *testing.T) {
	for _, c := range []struct {
		options, flags, upper string
		want                  iperf2.Settings
	}{
		{"", "48010098", "0000", iperf2.Settings{}},
		{"--trip-times", "680100d8", "0010", iperf2.Settings{Start: 1_796_032_530 * time.Second}},
		{"-R", "6c010098", "0400", iperf2.Settings{Mode: iperf2.Reverse}},
		{"--full-duplex", "6c010098", "0800", iperf2.Settings{Mode: iperf2.FullDuplex}},
		{"-d", "c8010099", "0000", iperf2.Settings{Mode: iperf2.Dual}},
		{"-r", "c8010098", "0000", iperf2.Settings{Mode: iperf2.Tradeoff}},
		{"--isochronous", "680100d8", "0001", iperf2.Settings{Isochronous: true}},
		{"--isochronous -R", "6c010118", "0441", iperf2.Settings{Isochronous: true, Mode: iperf2.Reverse}},
		{"--no-udp-fin", "68010098", "0008", iperf2.Settings{NoFIN: true}},
		{"--fq-rate", "680100d8", "0200", iperf2.Settings{}},
		{"--txstart-time", "68010098", "1000", iperf2.Settings{}},
	} {
		b := make([]byte, 200)
		copy(b[16:], unhex(t, c.flags))
		copy(b[48:], unhex(t, c.upper))
		copy(b[112:], unhex(t, "6b0d4812 00000000"))
		if got := iperf2.ParseUDP(b); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.options, got, c.want)
		}
		if c.want.Isochronous || strings.Contains(c.options, "-t") || strings.Contains(c.options, "-fq") {
			continue // we don't ask for these, or write none of their flags
		}
		ours := make([]byte, 200)
		c.want.PutUDP(ours)
		if !bytes.Equal(ours[16:20], b[16:20]) || !bytes.Equal(ours[48:50], b[48:50]) {
			t.Errorf("%s: we write flags %x and %x, want %s and %s", c.options, ours[16:20], ours[48:50], c.flags, c.upper)
		}
	}
}

// What a datagram holds where clients have their flags is no reason to believe it.
func TestPayloadIsNoHeader(t *testing.T) {
	for _, fill := range []byte{0xff, '0', 0x40, 0xc8, 0} {
		b := bytes.Repeat([]byte{fill}, 1470)
		if got := iperf2.ParseUDP(b); got != (iperf2.Settings{}) {
			t.Errorf("datagrams of %#x ask for %+v", fill, got)
		}
	}
	digits := conversation(t)[0]
	for i := range digits[16:] {
		digits[16+i] = '0' + byte((16+i)%10) // -C
	}
	if got := iperf2.ParseUDP(digits); got != (iperf2.Settings{}) {
		t.Errorf("a client with -C asks for %+v", got)
	}
	short := conversation(t)[0][:75]
	if got := iperf2.ParseUDP(short); got != (iperf2.Settings{}) {
		t.Errorf("a header cut short asks for %+v", got)
	}
}

// First datagrams as releases send them, and where each wants what.
func TestLayouts(t *testing.T) {
	tests := []struct {
		name, first, fin string
		layout           iperf2.Layout
		settings         iperf2.Settings
		report           string // from the front, flags included
	}{
		{
			"2.0.5", "00000000 6b0d49ee 000b4777 00000000 00000001 00001389 000000c8 00027100 fffffffc 36373839",
			"fffffffb 6b0d49ee 000c0b85 00000000 00000001", iperf2.Layout205,
			iperf2.Settings{Flows: 1, Port: 5001, Size: 200, Rate: 160_000, Duration: 40 * time.Millisecond},
			"fffffffb 6b0d49ee 000c0b85 80000000 00000000 000003e8 00000000 0000c2ca 00000001 00000002 00000005 00000000 00000007 00000000",
		},
		{
			"2.0.10", "00000000 6b0d49ee 000b4777 32333435 00000000 00000001 00001389 000000c8 00027100 fffffffc",
			"80000005 6b0d49ee 000c0b85 32333435", iperf2.Layout2010, iperf2.Settings{},
			"80000005 6b0d49ee 000c0b85 32333435 80000000 00000000 000003e8 00000000 0000c2ca 00000001 00000002 00000005 00000000 00000000 00000007",
		},
		{
			"2.0.13", "00000000 6b0d49ee 000b4777 00000000 08000000 00000001 00001389 000000c8 00027100 fffffffc",
			"fffffffb 6b0d49ee 000c0b85 ffffffff", iperf2.Layout2013,
			iperf2.Settings{Flows: 1, Port: 5001, Size: 200, Rate: 160_000, Duration: 40 * time.Millisecond},
			"fffffffb 6b0d49ee 000c0b85 ffffffff 88000000 00000000 000003e8 00000000 0000c2ca 00000001 00000002 00000005 00000000 00000007",
		},
		{
			"2.1.8 -C", "00000001 6b0d49ee 000b4777 00000000 36373839 30313233",
			"fffffffb 6b0d49ee 000c0b85 ffffffff", iperf2.Layout21, iperf2.Settings{},
			"00000000 00000000 00000000 00000000 88000000 00000000 000003e8 00000000 0000c2ca 00000001 00000002 00000005 00000000 00000007",
		},
	}
	report := iperf2.Report{Bytes: 1000, Duration: 49866 * time.Microsecond, Lost: 1, OutOfOrder: 2, Datagrams: 5, Jitter: 7 * time.Microsecond}
	for _, c := range tests {
		first, fin := unhex(t, c.first), unhex(t, c.fin)
		if !iperf2.Opens(first) {
			t.Errorf("%s: the first datagram opens no flow", c.name)
		}
		if got := iperf2.LayoutOf(first); got != c.layout {
			t.Errorf("%s: layout %v, want %v", c.name, got, c.layout)
		}
		if got := iperf2.ParseUDP(first); got != c.settings {
			t.Errorf("%s: settings %+v, want %+v", c.name, got, c.settings)
		}
		b := report.Append(nil, c.layout, fin)
		if want := unhex(t, c.report); !bytes.HasPrefix(b, want) {
			t.Errorf("%s: report\n%x, want\n%x", c.name, b[:len(want)], want)
		}
		got, err := iperf2.ParseReport(b)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if diff := cmp.Diff(&report, got); diff != "" {
			t.Errorf("%s: read back: -want +got\n%s", c.name, diff)
		}
	}
}

// A stock server's second report is the FIN itself; neither it nor the ack of
// releases 2.0.10 to 2.0.13 is a report.
func TestParseReportRefuses(t *testing.T) {
	payloads := conversation(t)
	fin, answer := payloads[6], payloads[7]
	other := bytes.Clone(answer)
	other[0] = 1
	for name, b := range map[string][]byte{
		"the FIN back": fin[:128], "data": payloads[0], "an ack": iperf2.AppendAck(nil), "nothing": nil,
		"half a report": answer[:55], "a report with a number": other,
	} {
		if r, err := iperf2.ParseReport(b); err == nil {
			t.Errorf("%s: taken for %+v", name, r)
		}
	}
	if _, err := iperf2.ParseReport(answer[:56]); err != nil {
		t.Errorf("a report without latency: %v", err)
	}
}

func TestReportReadsBack(t *testing.T) {
	fin := conversation(t)[6]
	rapid.Check(t, func(t *rapid.T) {
		us := rapid.Int64Range(0, 1<<40)
		want := iperf2.Report{
			Bytes:      rapid.Uint64().Draw(t, "bytes"),
			Duration:   time.Duration(us.Draw(t, "duration")) * time.Microsecond,
			Lost:       rapid.Uint64().Draw(t, "lost"),
			OutOfOrder: rapid.Uint64().Draw(t, "out of order"),
			Datagrams:  rapid.Uint64().Draw(t, "datagrams"),
			Jitter:     time.Duration(us.Draw(t, "jitter")) * time.Microsecond,
			PPS:        rapid.Uint32().Draw(t, "pps"),
		}
		got, err := iperf2.ParseReport(want.Append(nil, iperf2.Layout21, fin))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
}

// Whatever comes to a server's port, less goes back.
func TestAnswersAreNoLargerThanWhatCame(t *testing.T) {
	report := iperf2.Report{Bytes: 1}
	answered := 0
	rapid.Check(t, func(t *rapid.T) {
		datagrams := rapid.SliceOfN(rapid.OneOf(
			rapid.SliceOfN(rapid.Byte(), 0, 40), rapid.SliceOfN(rapid.Byte(), 60, 300)), 1, 20).Draw(t, "datagrams")
		for _, b := range datagrams {
			if len(b) >= 16 && rapid.Bool().Draw(t, "FIN") {
				b[0] |= 0xc0
				copy(b[12:], []byte{0xff})
				copy(b[8:12], []byte{0, 0, 0, 1})
			}
		}
		answers := iperf2.NewAnswers(&report, iperf2.Layout21, uint64(len(datagrams[0])))
		in, out := len(datagrams[0]), len(answers.First())
		for _, b := range datagrams[1:] {
			in += len(b)
			out += len(answers.To(b))
		}
		if out > in {
			t.Fatalf("%d bytes in answer to %d", out, in)
		}
		answered += out
	})
	if answered == 0 {
		t.Error("nothing was ever answered")
	}
}

func TestAnswersRepeatOneReport(t *testing.T) {
	payloads := conversation(t)
	fin := payloads[6]
	answers := iperf2.NewAnswers(&said, iperf2.Layout21, 1400)
	first := answers.First()
	stamper := probe.Stamper{Format: probe.IPerf2}
	for try := range 5 {
		if got := answers.To(stamper.AppendFIN(nil, 200, 6, try, 1)); !bytes.Equal(got, first) {
			t.Errorf("answer to FIN %d: %x, want %x", try, got, first)
		}
	}
	if got := answers.To(payloads[0]); got != nil {
		t.Errorf("data is answered: %x", got)
	}
	if _, err := iperf2.ParseReport(first); err != nil {
		t.Error(err)
	}
	small := iperf2.NewAnswers(&said, iperf2.Layout21, 18)
	if first, got := small.First(), small.To(fin[:18]); first != nil || got != nil {
		t.Errorf("%d and %d bytes in answer to two datagrams of 18", len(first), len(got))
	}
	old := iperf2.NewAnswers(&said, iperf2.Layout205, 1400)
	if first, got := old.First(), old.To(fin); first != nil || !bytes.HasPrefix(got, fin[:12]) {
		t.Errorf("release 2.0.5 is answered %x, then %x, want its FIN's front back", first, got)
	}
}

func FuzzParseUDP(f *testing.F) {
	for _, b := range conversation(f) {
		f.Add(b)
	}
	f.Add(bytes.Repeat([]byte{0xff}, 200))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := iperf2.ParseUDP(b)
		if s.Rate >= 1<<56 || s.Bytes >= 1<<31 || s.Duration < 0 || s.Port < 0 || s.Port > 65535 || s.Size < 0 || s.Start < 0 {
			t.Fatalf("out of range: %+v", s)
		}
		if s.Release == "" || s.Isochronous {
			return
		}
		ours := make([]byte, iperf2.HeaderSize)
		s.PutUDP(ours)
		again := iperf2.ParseUDP(ours)
		again.Release = s.Release
		if again != s {
			t.Fatalf("%+v is written as %+v", s, again)
		}
	})
}

func FuzzParseReport(f *testing.F) {
	payloads := conversation(f)
	fin := payloads[6]
	f.Add(payloads[7])
	for l := iperf2.Layout21; l <= iperf2.Layout205; l++ {
		f.Add(said.Append(nil, l, fin))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := iperf2.ParseReport(b)
		if err != nil {
			return
		}
		if r.Duration < 0 || r.Jitter < 0 || r.Latency != nil && r.Latency.Stdev < 0 {
			t.Fatalf("out of range: %+v", r)
		}
		if int32(binary.BigEndian.Uint32(b)) > 0 {
			t.Fatalf("data is taken for a report: %x", b)
		}
	})
}
