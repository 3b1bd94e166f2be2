package report

import (
	"fmt"
	"strconv"
	"strings"

	"linerate/internal/result"
)

// replay prints which capture is sent, where, and at what pace.
func (o Options) replay(b *strings.Builder, c *result.Config, r *result.Replay) {
	pace := asked(c)
	if r.Speed != 0 {
		pace = fmt.Sprintf("%.3f s at its own pace", r.SpanS)
		if r.Speed != 1 {
			pace = fmt.Sprintf("%.3f s at %s times its own pace", r.SpanS, strconv.FormatFloat(r.Speed, 'f', -1, 64))
		}
	}
	times := "until it is stopped"
	if r.Loops != 0 {
		times = several(int(r.Loops), "%d times")
	}
	padded := ""
	if r.Padded != 0 {
		padded = count(uint64(r.Padded), "cut frame") + " filled with zeros"
	}
	o.line(b, " · ", nonEmpty(r.File+by(c.Path, c.Interface), count(uint64(r.Frames), "frame"), pace, times, padded)...)
}
