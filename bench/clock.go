package bench

import (
	"fmt"
	"math"
	"time"

	"linerate/internal/units"
)

// A clock tells how far a list of trials is and how long it may take yet.
type clock struct {
	progress func(string)
	sizes    int
	each     time.Duration
}

func newClock(progress func(string), sizes int, each time.Duration) *clock {
	return &clock{progress, sizes, each}
}

// show is told of each trial of one size.
func (c *clock) show(size int) func(Offer) {
	begun, n := time.Now(), 0
	return func(o Offer) {
		n++
		left := max(c.each-time.Since(begun), o.Duration) + time.Duration(c.sizes-size-1)*c.each
		rate := "as fast as possible"
		if o.Rate.Unit != units.Max {
			rate = "at " + units.FormatPackets(float64(o.Rate.Micro)/units.MicrosPerUnit)
		}
		if o.Count > 0 {
			rate = fmt.Sprintf("of %d frames %s", o.Count, rate)
		}
		c.progress(fmt.Sprintf("size %d of %d, %d-byte frames: trial %d %s, about %.0f s to go", size+1, c.sizes, o.Frame, n, rate, math.Ceil(left.Seconds())))
	}
}
