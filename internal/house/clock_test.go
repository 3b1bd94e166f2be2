package house

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// calendars are the files that may make a number of the wall clock, and what for.
// All else measures by differences of time.Time, or by linux.Monotonic, which no step
// of that clock touches.
var calendars = map[string]string{
	"internal/linux/clock_linux.go":  "its distance to the monotonic clock",
	"internal/linux/clock_other.go":  "its distance to the monotonic clock",
	"rx/clock_linux.go":              "the kernel's receive stamps",
	"internal/iperf3/token.go":       "the date of a login",
	"internal/report/iperf3start.go": "the date of a test, as printed",
	"internal/cli/iperf_run.go":      "the date of a test, as printed",
}

var wallClock = regexp.MustCompile(`\.Unix(Nano|Micro|Milli)?\(\)|unix\.CLOCK_REALTIME|\.Round\(0\)`)

// BC-088: durations, pacing and intervals stay as they are when the time is set.
func TestOnlyDatesAreOfTheWallClock(t *testing.T) {
	root, seen := os.DirFS("../.."), 0
	err := fs.WalkDir(root, ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := fs.ReadFile(root, path)
		if found := wallClock.Find(source); found != nil {
			if seen++; calendars[path] == "" {
				t.Errorf("%s reads the wall clock (%s): measure by linux.Monotonic or time.Since", path, found)
			}
		}
		return err
	})
	if err != nil || seen != len(calendars) {
		t.Errorf("%d files read the wall clock, want the %d of the table (%v)", seen, len(calendars), err)
	}
}
