package report

import (
	"fmt"
	"io"
	"strings"

	"linerate/internal/result"
)

// Doctor prints the findings of doctor, each with the command that mends it, and
// how many would spoil a test.
func Doctor(w io.Writer, r *result.Report, o Options) error {
	var b strings.Builder
	var bad uint64
	for _, f := range r.Findings {
		c := green
		if f.Level != "ok" {
			c = yellow
			bad++
		}
		fmt.Fprintf(&b, "%s  %s\n", o.paint(c, fmt.Sprintf("%-4s", f.Level)), f.What)
		if f.Mend != "" {
			fmt.Fprintf(&b, "      mend: %s\n", f.Mend)
		}
	}
	if bad == 0 {
		o.line(&b, "", o.paint(green, "nothing found that would spoil a test"))
	} else {
		o.line(&b, "", o.paint(yellow, count(bad, "finding")))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
