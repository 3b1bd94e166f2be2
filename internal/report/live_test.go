package report

import (
	"testing"

	"linerate/internal/result"
)

func TestInstant(t *testing.T) {
	for _, tt := range []struct {
		start, end float64
		want       string
	}{
		{0, 1, "1 s"}, {9, 10, "10 s"}, {2, 2.0991, "2.1 s"}, {0.2, 0.31234, "0.31 s"},
		{0.998, 0.999, "0.999 s"}, {0, 0.0016004, "0.002 s"}, {0, 0.0000004, "0 s"}, {0, 0.00012, "0.0001 s"}, {0, 0, "0 s"},
	} {
		if got := instant(&result.Interval{StartS: tt.start, EndS: tt.end}); got != tt.want {
			t.Errorf("%v to %v is %q, want %q", tt.start, tt.end, got, tt.want)
		}
	}
}
