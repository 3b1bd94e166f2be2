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
	var b bytes.Buffer
	if err := CSV(&b, &result.Report{Error: "nothing began"}); err != nil || b.Len() != 0 {
		t.Errorf("a report without rows: %q, %v", b.String(), err)
	}
}
