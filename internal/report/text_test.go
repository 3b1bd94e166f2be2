package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"linerate/internal/result"
)

// The numbers that a person reads are those that a program reads (BC-024).
func TestTextAgreesWithJSON(t *testing.T) {
	for _, tt := range []struct {
		report *result.Report
		text   string  // the place of a number in the text
		path   string  // the key of it in the JSON
		scale  float64 // base units in one of the text
		near   float64 // relative difference that rounding makes
	}{
		{sendReport(), `sent (\d+) packets`, "sender.packets", 1, 0},
		{sendReport(), `packets, ([\d.]+) MB payload`, "sender.payload_bytes", 1e6, 5e-5},
		{sendReport(), `payload in ([\d.]+) s`, "sender.seconds", 1, 0},
		{sendReport(), `rate \+([\d.]+) ppm`, "sender.rate_error_ppm", 1, 0.05},
		{sendReport(), `gaps ([\d.]+) µs`, "sender.gap_ns.p50", 1e3, 0},
		{sendReport(), `p99 ([\d.]+),`, "sender.gap_ns.p99", 1e3, 0},
		{sendReport(), `longest burst (\d+)`, "sender.longest_burst", 1, 0},
		{sendReport(), `([\d.]+) Mbit/s payload`, "config.rate_bps", 1e6, 0},
		{sendReport(), `(\d+) packets/s`, "config.rate_pps", 1, 1e-4},
		{sendReport(), `\n +1 s +(\d+)`, "intervals.0.sender.packets", 1, 0},
		{sendReport(), `\n +1 s +\d+ +([\d.]+)`, "intervals.0.sender.rate.l4_bps", 1e6, 1e-5},
		{sendReport(), `\n +1 s +\d+ +[\d.]+ +([\d.]+)`, "intervals.0.sender.rate.l1_bps", 1e6, 1e-5},
		{shortReport(), `(\d+) packets were given up`, "sender.shortfall", 1, 0},
		{shortReport(), `achieved ([\d.]+) Mbit/s`, "sender.rate.l4_bps", 1e6, 5e-4},
		{slowReport(), `([\d.]+) MB given up`, "sender.shortfall_bytes", 1e6, 0},
		{slowReport(), `achieved ([\d.]+) Mbit/s`, "sender.rate.l4_bps", 1e6, 0},
		{shortReport(), `refused a packet (\d+) times`, "sender.refused", 1, 0},
		{shortReport(), `(\d+) packets left late`, "sender.late_packets", 1, 0},
		{shortReport(), `sender (\d+) %`, "hosts.0.cpu.process", 0.01, 0.01},
		{lossyReport(), `received (\d+) of`, "receiver.unique", 1, 0},
		{lossyReport(), `lost (\d+) \(`, "receiver.lost", 1, 0},
		{lossyReport(), `lost \d+ \(([\d.]+) %\)`, "receiver.loss_ratio", 0.01, 5e-2},
		{lossyReport(), `in (\d+) gaps`, "receiver.gaps", 1, 0},
		{lossyReport(), `longest (\d+) in a row`, "receiver.loss_burst.max", 1, 0},
		{lossyReport(), `(\d+) duplicate`, "receiver.duplicates", 1, 0},
		{lossyReport(), `(\d+) reordered`, "receiver.reordered", 1, 0},
		{lossyReport(), `extent up to (\d+)`, "receiver.reorder_extent_max", 1, 0},
		{lossyReport(), `(\d+) beyond the window`, "receiver.beyond_window", 1, 0},
		{lossyReport(), `(\d+) foreign`, "receiver.foreign", 1, 0},
		{lossyReport(), `rate ([\d.]+) Mbit/s L4`, "receiver.rate.l4_bps", 1e6, 5e-4},
		{lossyReport(), `([\d.]+) Mbit/s L1`, "receiver.rate.l1_bps", 1e6, 5e-4},
		{lossyReport(), `([\d.]+) MB payload`, "receiver.unique_payload_bytes", 1e6, 5e-5},
		{lossyReport(), `jitter ([\d.]+) µs ·`, "receiver.jitter_ns", 1e3, 0.05},
		{lossyReport(), `delay p50 ([\d.]+) µs`, "receiver.delay_ns.p50", 1e3, 0},
		{lossyReport(), `p99 ([\d.]+) µs`, "receiver.delay_ns.p99", 1e3, 0},
		{lossyReport(), `max ([\d.]+) ms`, "receiver.delay_ns.max", 1e6, 0},
		{ledgerReport(), `receiver socket +(\d+)`, "ledger.lost.0.packets", 1, 0},
		{ledgerReport(), `unexplained +(\d+)`, "ledger.unexplained", 1, 0},
	} {
		text := string(printed(t, tt.report, Options{}))
		found := regexp.MustCompile(tt.text).FindStringSubmatch(text)
		if found == nil {
			t.Errorf("nothing like %q in:\n%s", tt.text, text)
			continue
		}
		got, err := strconv.ParseFloat(found[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		want := lookup(t, tt.report, tt.path)
		// A unit that is no power of two leaves a last bit behind.
		if math.Abs(got*tt.scale-want) > (tt.near+1e-15)*math.Abs(want) {
			t.Errorf("the text says %s, %s is %v", found[0], tt.path, want)
		}
	}
}

// lookup is the number at a path of keys and indices in the JSON of a report.
func lookup(t *testing.T, r *result.Report, path string) float64 {
	t.Helper()
	var b bytes.Buffer
	if err := JSON(&b, r); err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(b.Bytes(), &v); err != nil {
		t.Fatal(err)
	}
	for key := range strings.SplitSeq(path, ".") {
		if list, ok := v.([]any); ok {
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(list) {
				t.Fatalf("no %s in the JSON", path)
			}
			v = list[i]
			continue
		}
		object, _ := v.(map[string]any)
		v = object[key]
	}
	n, ok := v.(float64)
	if !ok {
		t.Fatalf("no number at %s of the JSON: %v", path, v)
	}
	return n
}

// Colours only repeat what the words say: without them the text is the same.
func TestColourCarriesNoMeaning(t *testing.T) {
	escapes := regexp.MustCompile(`\x1b\[\d+m`)
	for _, r := range []*result.Report{sendReport(), shortReport(), cleanReport(), lossyReport(), nothingReport(), noCountReport(), corruptReport()} {
		plain, painted := printed(t, r, Options{Width: 80}), printed(t, r, Options{Width: 80, Color: true})
		if !bytes.Equal(plain, escapes.ReplaceAll(painted, nil)) {
			t.Errorf("painted text differs:\n%s", painted)
		}
	}
}

// The unit of the live table is the first rate's; a guess, or one that a rate
// outgrows, is replaced under a new head.
func TestLiveUnit(t *testing.T) {
	interval := func(pps float64) *result.Interval {
		r := &result.ReceiverInterval{IntervalArrived: &result.IntervalArrived{}}
		if pps != 0 {
			r.Rate = rateOf(pps)
		}
		return &result.Interval{EndS: 1, Receiver: r}
	}
	for _, tt := range []struct {
		name string
		pps  []float64
		want []string // the unit of each head
	}{
		{"steady", []float64{7000, 7001, 6999}, []string{"Mbit/s"}},
		{"idle first", []float64{0, 0, 7000, 7000}, []string{"Mbit/s"}},
		{"idle, then slow", []float64{0, 1, 1}, []string{"Mbit/s", "kbit/s"}},
		{"idle, then fast", []float64{0, 7e6}, []string{"Mbit/s", "Gbit/s"}},
		{"first interval nearly empty", []float64{1, 7000}, []string{"kbit/s", "Mbit/s"}},
		{"a stall keeps the unit", []float64{7000, 1, 0, 7000}, []string{"Mbit/s"}},
	} {
		var b bytes.Buffer
		text := NewText(&b, Options{})
		for _, pps := range tt.pps {
			if err := text.Interval(&result.Report{}, interval(pps)); err != nil {
				t.Fatal(err)
			}
		}
		var got []string
		for _, head := range regexp.MustCompile(`packets +(\S+) L4`).FindAllStringSubmatch(b.String(), -1) {
			got = append(got, head[1])
		}
		if strings.Join(got, " ") != strings.Join(tt.want, " ") {
			t.Errorf("%s: heads in %v, want %v", tt.name, got, tt.want)
		}
	}
}

// A long run's times take the room of the next column, and no more.
func TestLiveColumnsHold(t *testing.T) {
	var b strings.Builder
	row(&b, sendColumns, "1 s", "1", "2", "3", "4")
	row(&b, sendColumns, "86400.25 s", "1", "2", "3", "4")
	lines := strings.Split(b.String(), "\n")
	if len(lines[0]) != 49 || len(lines[1]) != 49 {
		t.Errorf("lines of %d and %d columns, want 49:\n%s", len(lines[0]), len(lines[1]), b.String())
	}
}

type brokenWriter struct{}

var errBroken = errors.New("no space left on device")

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestWriteErrors(t *testing.T) {
	text, r := NewText(brokenWriter{}, Options{}), sendReport()
	for name, err := range map[string]error{
		"Header":         text.Header(r),
		"Interval":       text.Interval(r, &r.Intervals[0]),
		"Summary":        text.Summary(r),
		"JSON":           JSON(brokenWriter{}, r),
		"StreamInterval": StreamInterval(brokenWriter{}, &r.Intervals[0]),
		"StreamEnd":      StreamEnd(brokenWriter{}, r),
		"Compare":        Compare(brokenWriter{}, compareReport(), Options{}),
		"Doctor":         Doctor(brokenWriter{}, doctorReport(), Options{}),
	} {
		if !errors.Is(err, errBroken) {
			t.Errorf("%s: %v, want %v", name, err, errBroken)
		}
	}
}

func TestColumns(t *testing.T) {
	for s, want := range map[string]int{"": 0, "abc": 3, "µs · ×": 6, "\x1b[31mlost 18\x1b[0m of": 10} {
		if got := columns(s); got != want {
			t.Errorf("columns(%q) = %d, want %d", s, got, want)
		}
	}
}

// The last line speaks of all directions, and says no more than is known.
func TestVerdict(t *testing.T) {
	came := func(lost uint64, bound bool) *result.Receiver {
		return &result.Receiver{ArrivedPackets: &result.ArrivedPackets{Packets: 9, Unique: 9, Lost: lost, LossIsLowerBound: bound}}
	}
	for _, c := range []struct {
		forward, reverse *result.Receiver
		says, table      string
	}{
		{came(0, false), came(0, false), "nothing was lost\n", " 0 "},
		{came(0, false), came(3, false), "", " 3 "},
		{came(0, false), came(0, true), "no gap was seen", " ≥ 0 "},
		{came(0, false), nil, "", " 0 "},
		{came(2, true), nil, "", " ≥ 2 "},
	} {
		r := &result.Report{
			Config: &result.Config{Protocol: "udp", Peer: "linerate", Direction: "bidir"}, Receiver: c.forward,
			Reverse: &result.Direction{Receiver: c.reverse},
		}
		text := string(printed(t, r, Options{}))
		said := text[strings.LastIndex(strings.TrimSuffix(text, "\n"), "\n")+1:]
		if !strings.Contains(text, c.table) || c.says != "" && !strings.HasPrefix(said, c.says) || c.says == "" && strings.Contains(text, "nothing was lost") {
			t.Errorf("%+v and %+v:\n%s", c.forward, c.reverse, text)
		}
	}
}
