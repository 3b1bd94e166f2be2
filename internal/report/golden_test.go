package report

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/result"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares text with testdata/name.golden.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// printed is the whole text of a report, as a command prints it.
func printed(t *testing.T, r *result.Report, o Options) []byte {
	t.Helper()
	var b bytes.Buffer
	text := NewText(&b, o)
	errs := []error{text.Header(r)}
	for i := range r.Intervals {
		errs = append(errs, text.Interval(r, &r.Intervals[i]))
	}
	errs = append(errs, text.Summary(r))
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func TestText(t *testing.T) {
	pipe := Options{Width: 80}
	for _, tt := range []struct {
		name   string
		report *result.Report
		o      Options
	}{
		{"send", sendReport(), pipe},
		{"send_wide", sendReport(), Options{Width: 140}},
		{"send_short", shortReport(), pipe},
		{"send_max_verbose", maxReport(), Options{Width: 80, Verbose: true}},
		{"recv_clean", cleanReport(), pipe},
		{"recv_lossy", lossyReport(), pipe},
		{"recv_lossy_verbose", lossyReport(), Options{Width: 80, Verbose: true}},
		{"recv_corrupt", corruptReport(), pipe},
		{"recv_lossy_colour", lossyReport(), Options{Width: 80, Color: true}},
		{"recv_many_flows", manyFlowsReport(), pipe},
		{"recv_all_lost", allLostReport(), pipe},
		{"recv_lower_bound", lowerBoundReport(), pipe},
		{"recv_no_count", noCountReport(), pipe},
		{"recv_nothing", nothingReport(), pipe},
		{"ledger", ledgerReport(), pipe},
		{"test_iperf2", iperf2Report(), Options{Width: 100, Verbose: true}},
	} {
		t.Run(tt.name, func(t *testing.T) { golden(t, tt.name, printed(t, tt.report, tt.o)) })
	}
}

func TestCompare(t *testing.T) {
	for name, o := range map[string]Options{
		"compare_narrow": {Width: 80},
		"compare_wide":   {Width: 120},
	} {
		var b bytes.Buffer
		if err := Compare(&b, compareReport(), o); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
	}
}

func TestDoctor(t *testing.T) {
	for name, r := range map[string]*result.Report{
		"doctor":       doctorReport(),
		"doctor_clean": {Findings: doctorReport().Findings[:1]},
	} {
		var b bytes.Buffer
		if err := Doctor(&b, r, Options{Width: 80}); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
	}
}

func TestJSON(t *testing.T) {
	var b bytes.Buffer
	if err := JSON(&b, lossyReport()); err != nil {
		t.Fatal(err)
	}
	golden(t, "json", b.Bytes())

	b.Reset()
	r := sendReport()
	for i := range r.Intervals {
		if err := StreamInterval(&b, &r.Intervals[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := StreamEnd(&b, r); err != nil {
		t.Fatal(err)
	}
	golden(t, "json_stream", b.Bytes())
}
