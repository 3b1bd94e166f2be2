package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"linerate/internal/result"
)

// shown is what a client with these words prints of a test of one interval, and
// then of its error if there is one.
func shown(t *testing.T, words, failure string) (stdout, stderr string) {
	t.Helper()
	a, err := parseIPerf3(strings.Fields("-c h " + words))
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	o := newIPerf3Output(a, Stdio{Out: &out, Err: &errs})
	r := &result.Report{
		Config:  &result.Config{Protocol: "udp", Direction: "forward", Flows: 1, DurationS: 1, PayloadBytes: 1448},
		Streams: []result.Stream{{ID: 1, Local: "[::1]:5", Remote: "[::1]:5201", Sender: true}},
		Error:   failure, Warnings: []string{"the clock is coarse"},
	}
	o.Started(r)
	r.Intervals = []result.Interval{{EndS: 1, Sender: &result.SenderInterval{PayloadBytes: 1448, IntervalSent: &result.IntervalSent{Packets: 1}}}}
	o.Interval(r, &r.Intervals[0])
	r.Sender = &result.Sender{PayloadBytes: 1448, SentPackets: &result.SentPackets{Packets: 1}}
	if err := o.finish(r); err != nil {
		t.Fatal(err)
	}
	return out.String(), errs.String()
}

func TestIPerf3OutputAsText(t *testing.T) {
	out, errs := shown(t, "-u", "the peer went away")
	for _, want := range []string{
		"Connecting to host h, port 5201\n[  5] local ::1 port 5 connected to ::1 port 5201\n",
		"[  5]   0.00-1.00   sec  1.41 KBytes  11.6 Kbits/sec  1  \n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%s\nwant %s", out, want)
		}
	}
	if strings.Contains(out, "iperf Done.") {
		t.Errorf("a test that broke off is done:\n%s", out)
	}
	if want := "warning: the clock is coarse\niperf3: error - the peer went away\n"; errs != want {
		t.Errorf("%q, want %q", errs, want)
	}
}

func TestIPerf3OutputAsOneObject(t *testing.T) {
	out, errs := shown(t, "-u -J", "the peer went away")
	var tree struct {
		Start struct {
			Version string `json:"version"`
			System  string `json:"system_info"`
		} `json:"start"`
		Error string `json:"error"`
	}
	if err := json.Unmarshal([]byte(out), &tree); err != nil {
		t.Fatal(err)
	}
	if tree.Error != "the peer went away" || tree.Start.Version != iperf3Says() || tree.Start.System == "" {
		t.Errorf("%+v", tree)
	}
	if want := "warning: the clock is coarse\n"; errs != want {
		t.Errorf("%q, want %q", errs, want)
	}
}

func TestIPerf3OutputAsLines(t *testing.T) {
	for words, want := range map[string]string{
		"-u --json-stream":             "start interval error end",
		"-u --json-stream-full-output": "start interval error end ",
	} {
		out, _ := shown(t, words, "the peer went away")
		var events []string
		for d := json.NewDecoder(strings.NewReader(out)); d.More(); {
			var line struct{ Event string }
			if err := d.Decode(&line); err != nil {
				t.Fatal(err)
			}
			events = append(events, line.Event)
		}
		if got := strings.Join(events, " "); got != want {
			t.Errorf("%s: %q, want %q", words, got, want)
		}
	}
}
