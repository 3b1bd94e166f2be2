package bench

import (
	"fmt"
	"time"

	"linerate/internal/result"
)

const (
	// Each trial has at least so many frames, where that takes no more than
	// longestForFrames: less, and what a shaper or a buffer lets pass at once
	// would decide it.
	leastFrames      = 1000
	longestForFrames = 10 * time.Second
	// headStart is the most that what passes at once may be of a trial, where that
	// takes no more than longestForFrames: by so much a rate may be above what the
	// path carries for long, and lose nothing.
	headStart = 0.002
	// much is from where on it is told that a trial was too short for that.
	much = 0.005
)

// lengthOf is how long a trial lasts that was to last so long.
func (o *offers) lengthOf(load uint64, asked time.Duration) time.Duration {
	need := max(float64(leastFrames*loadsPerPacket)/float64(load), o.ahead/headStart)
	return max(asked, min(time.Duration(need*1e9), longestForFrames))
}

// aheadOf is by how many seconds of what it carries for long a path ran ahead in a
// trial that was more than that: a token bucket that was full let so much pass at
// once. It shows in the best window of arrivals; a path that is held up for a while
// can't come to more afterwards. It is 0 where the receiver tells no windows.
func aheadOf(r *result.Receiver) float64 {
	const length = 0.1
	if r.Arrivals == nil || r.Seconds <= 2*length {
		return 0
	}
	most := r.WorstWindow["100ms"].Most
	if most == nil {
		return 0
	}
	// The mean of all has its part of it, too.
	return length * (most.PPS/r.Rate.PPS - 1) / (1 - length/r.Seconds)
}

// tooShort says where what passes at once is too much of the longest trials that
// were run; empty where it is not.
func (o *offers) tooShort(load uint64, asked time.Duration) string {
	share := o.ahead / o.lengthOf(load, asked).Seconds()
	if share <= much {
		return ""
	}
	return fmt.Sprintf("%d-byte frames: the path lets %.3g ms of its rate pass at once, which may make what was found up to %.1f %% too much: use --trial %.0fs",
		o.frame, 1e3*o.ahead, 100*share, o.ahead/headStart)
}
