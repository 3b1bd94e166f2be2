package report

import (
	"bytes"
	"testing"

	"linerate/internal/result"
)

func TestCSV(t *testing.T) {
	whole := cleanReport()
	whole.Intervals = nil
	both := cleanReport()
	both.Intervals = append(both.Intervals, sendReport().Intervals[0]) // other columns, and an empty cell for those that it lacks
	for name, r := range map[string]*result.Report{
		"csv-compare": compareReport(), "csv-send": sendReport(), "csv-whole": whole, "csv-both": both,
	} {
		var b bytes.Buffer
		if err := CSV(&b, r); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
	}
	var bounces bytes.Buffer
	times := &result.Times{Min: 1, P50: 2, P99: 3, P999: 4, Max: 5}
	want := "bounce_ns.payload_bytes,bounce_ns.tried,bounce_ns.lost,bounce_ns.per_second,bounce_ns.min,bounce_ns.p50,bounce_ns.p99,bounce_ns.p999,bounce_ns.max\n100,9,0,3,1,2,3,4,5\n"
	if err := CSV(&bounces, &result.Report{BounceNS: &result.Bounces{PayloadBytes: 100, Tried: 9, PerSecond: 3, Times: times}}); err != nil || bounces.String() != want {
		t.Errorf("a test that is all of requests: %q, %v", bounces.String(), err)
	}
	var b bytes.Buffer
	if err := CSV(&b, &result.Report{Error: "nothing began"}); err != nil || b.Len() != 0 {
		t.Errorf("a report without rows: %q, %v", b.String(), err)
	}
}
