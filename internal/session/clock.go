package session

import (
	"fmt"
	"time"

	"linerate/internal/linux"
	"linerate/internal/probe"
	"linerate/internal/result"
	"linerate/internal/units"
	"linerate/rx/track"
)

// A clock is what this host knows of its clocks.
type clock struct {
	bootID     [16]byte // zero if unknown
	state      linux.ClockState
	known      bool  // state is
	taiOffset  int64 // CLOCK_TAI less CLOCK_MONOTONIC, ns; 0 if unknown
	wallOffset int64 // CLOCK_REALTIME less CLOCK_MONOTONIC, ns
}

func readClock() clock {
	c := clock{wallOffset: linux.WallOffset()}
	c.bootID, _ = linux.BootID()
	c.state, c.known = linux.Clock()
	c.taiOffset, _ = linux.TAIOffset()
	return c
}

// read puts a reading into an end marker.
func (c *clock) read(m *probe.EndMarker) {
	m.BootID = c.bootID
	m.Mono = linux.Monotonic()
	m.Wall = m.Mono + c.wallOffset
	if c.taiOffset != 0 {
		m.TAI = m.Mono + c.taiOffset
	}
	switch {
	case !c.known:
		m.Clock = probe.ClockUnknown
	case !c.state.Synchronised:
		m.Clock = probe.ClockUnsynchronised
	default:
		m.Clock, m.ErrorBound = probe.ClockNTP, int64(c.state.MaxError)
	}
}

// beside says what the clock of a sender has to do with this one, by its end marker,
// nil if there is none. Equal boot ids mean one clock. Two clocks that their kernels
// call disciplined (adjtimex(2)) are compared by TAI where both know it, else by UTC,
// and may be apart by the sum of their error bounds.
func (c clock) beside(end *probe.EndMarker) track.Settlement {
	disciplined := func(s probe.ClockState) bool { return s == probe.ClockNTP || s == probe.ClockPTP }
	switch {
	case end == nil:
	case end.BootID == c.bootID && c.bootID != [16]byte{}:
		return track.Settlement{Clock: track.Same}
	case disciplined(end.Clock) && c.known && c.state.Synchronised:
		s := track.Settlement{
			Clock:    track.Synchronised,
			OffsetNS: c.wallOffset - (end.Wall - end.Mono),
			ErrorNS:  int64(c.state.MaxError) + end.ErrorBound,
		}
		if end.TAI != 0 && c.taiOffset != 0 {
			s.OffsetNS = c.taiOffset - (end.TAI - end.Mono)
		}
		return s
	}
	return track.Settlement{}
}

// contradiction warns of a delay that can't be: less than nothing, by more than the
// clocks are said to be wrong.
func contradiction(d *result.Delay) []string {
	if d == nil || d.ErrorBoundNS == nil || d.Min+*d.ErrorBoundNS >= 0 {
		return nil
	}
	return []string{fmt.Sprintf("a delay of %s is less than nothing by more than the clocks' error bound of %v: one of them is wrong",
		units.FormatNS(d.Min), time.Duration(*d.ErrorBoundNS))}
}
