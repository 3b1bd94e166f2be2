package cli

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"time"

	"linerate/internal/lab"
	"linerate/internal/probe"
	"linerate/internal/result"
)

// coordinated runs linerate test at host a of a lab against linerate serve at host
// b, and returns the report.
func coordinated(t *testing.T, c lab.Config, args ...string) (*result.Report, lab.ImpairCounts) {
	t.Helper()
	l, err := lab.New(c)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	stop, err := l.B().Background(exec.Command("linerate", "serve"))
	if err != nil {
		t.Fatal(err)
	}
	defer stop(10 * time.Millisecond)
	if err := awaitServer(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	var rep *result.Report
	cmd := exec.CommandContext(t.Context(), "linerate", append([]string{"test", "--json"}, args...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := l.A().Start(cmd); err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(out).Decode(&rep); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	var back lab.ImpairCounts
	if c.Reverse != nil {
		if _, back, err = l.Impaired(); err != nil {
			t.Fatal(err)
		}
	}
	return rep, back
}

// held is how many values a histogram has.
func held(h []result.Bucket) (n uint64) {
	for _, b := range h {
		n += b.N
	}
	return n
}

// What the wire does to reflections is in the round trips, to the packet, and in no
// count of the load.
func TestRoundTripsBesideALoad(t *testing.T) {
	wire := lab.Config{Reverse: &lab.Impairment{Magic: probe.MagicReflection, DropEvery: 10}}
	for name, args := range map[string][]string{
		"raw paths":        {"10.77.0.2", "--rtt", "--path", "packet", "--rx", "ebpf"},
		"reverse, IPv6":    {"fd77::2", "--rtt=200", "-R", "--rx", "afxdp"},
		"both, DSCP, IPv6": {"fd77::2", "--rtt=500", "--bidir", "--dscp", "EF"},
	} {
		t.Run(name, func(t *testing.T) {
			rep, wire := coordinated(t, wire, append(args, "-k", "2000", "--rate", "10kpps", "--histogram")...)
			trips := rep.RTTNS
			if trips == nil || trips.Times == nil || rep.Error != "" {
				t.Fatalf("%+v, error %q", trips, rep.Error)
			}
			if trips.Sent < 10 || trips.Sent != wire.Seen || trips.Lost != wire.Dropped || trips.Lost != trips.Sent/10 {
				t.Errorf("%d sent, %d lost; the wire saw %d, dropped %d", trips.Sent, trips.Lost, wire.Seen, wire.Dropped)
			}
			if !(0 < trips.Min && trips.Min <= trips.P50 && trips.P50 <= trips.P99 && trips.P99 <= trips.P999 && trips.P999 <= trips.Max) {
				t.Errorf("%+v", trips.Times)
			}
			if n := held(trips.Histogram); n != trips.Sent-trips.Lost {
				t.Errorf("%d round trips in the histogram, want %d", n, trips.Sent-trips.Lost)
			}
			if n := held(rep.Receiver.DelayNS.Histogram); n != 2000 {
				t.Errorf("%d packets in the histogram of delay, want 2000", n)
			}
			for _, w := range rep.Warnings {
				if strings.Contains(w, "not of this test") {
					t.Error(w)
				}
			}
			if r := rep.Receiver; rep.Sender.Packets != 2000 || r.Unique != 2000 || r.Packets != 2000 || r.Foreign != 0 {
				t.Errorf("the load: %+v", r.ArrivedPackets)
			}
		})
	}
}

// A detour of each reflection is in each round trip.
func TestRoundTripsTellOfDelay(t *testing.T) {
	const delay = 30 * time.Millisecond
	rep, _ := coordinated(t, lab.Config{Delay: delay, Reverse: &lab.Impairment{Magic: probe.MagicReflection, DelayEvery: 1}},
		"10.77.0.2", "--rtt", "-k", "3000", "--rate", "10kpps")
	if trips := rep.RTTNS; trips.Lost != 0 || trips.Times == nil || trips.Min < int64(delay) {
		t.Errorf("%+v %+v", trips, trips.Times)
	}
}

func TestRoundTripsBesideTCP(t *testing.T) {
	rep, wire := coordinated(t, lab.Config{Reverse: &lab.Impairment{Magic: probe.MagicReflection, DropEvery: 10}},
		"10.77.0.2", "--rtt=200", "--tcp", "-t", "1")
	if trips := rep.RTTNS; trips == nil || trips.Sent < 20 || trips.Sent != wire.Seen || trips.Lost != wire.Dropped {
		t.Errorf("%+v; the wire saw %d, dropped %d", trips, wire.Seen, wire.Dropped)
	}
	if rep.Receiver.PayloadBytes == 0 || rep.Receiver.PayloadBytes != rep.Sender.PayloadBytes {
		t.Errorf("%d bytes sent, %d received", rep.Sender.PayloadBytes, rep.Receiver.PayloadBytes)
	}
}

// Probes that nothing answers are all lost, and the report says why that may be.
func TestNoRoundTrips(t *testing.T) {
	rep, _ := coordinated(t, lab.Config{Reverse: &lab.Impairment{Magic: probe.MagicReflection, DropEvery: 1}},
		"10.77.0.2", "--rtt", "-k", "1000", "--rate", "10kpps")
	if trips := rep.RTTNS; trips == nil || trips.Sent == 0 || trips.Lost != trips.Sent || trips.Times != nil {
		t.Errorf("%+v", trips)
	}
	if len(rep.Warnings) == 0 {
		t.Error("no warning")
	}
}
