package rx

import (
	"time"

	"linerate/internal/linux"
)

// A stampClock turns the kernel's receive stamps, CLOCK_REALTIME, into
// CLOCK_MONOTONIC. One goroutine owns it.
type stampClock struct {
	offset int64 // realtime - monotonic
}

// update has to be called before the stamps of a batch are turned. Time servers
// slew both clocks alike, so that the offset changes only when someone sets the
// time: a rough look tells, and is several times cheaper than a good measurement.
func (c *stampClock) update() {
	const rough = 20_000 // ns: more than two readings ever lie apart, but for an interruption
	moved := time.Now().UnixNano() - linux.Monotonic() - c.offset
	if moved < -rough || moved > rough {
		c.offset = linux.WallOffset()
	}
}

// monotonic is when an arrival with the given stamp came. One without counts
// from now.
func (c *stampClock) monotonic(wall int64) int64 {
	if wall == 0 {
		return linux.Monotonic()
	}
	return wall - c.offset
}
