package plan

import (
	"fmt"

	"linerate/gen/frame"
	"linerate/internal/units"
)

// limits are the payloads, in bytes, that one packet of a test may have.
type limits struct {
	stack       units.Stack
	least, most int
	header      string // what needs the least, in words
	mtu         int    // IP bytes that pass unfragmented
	whose       string // what has that MTU, in words
}

// newLimits works out what fits: at least the header of a format, at most the MTU.
func newLimits(stack units.Stack, header string, headerBytes, mtu int, whose string) (limits, error) {
	l := limits{
		stack: stack, least: headerBytes, header: header, mtu: mtu, whose: whose,
		most: min(mtu-stack.BytesAt(units.L3, 0), frame.MaxPayload),
	}
	if l.most < l.least {
		return l, &HostError{fmt.Errorf("%s has MTU %d: no datagram with the %s header of %d bytes fits", whose, mtu, header, headerBytes)}
	}
	return l, nil
}

// sizes is the cycle of payload sizes that was asked for, or the largest size.
func (l limits) sizes(frame, payload int, mix Mix) ([]int, error) {
	switch {
	case frame != 0 && payload != 0:
		return nil, &UsageError{"payload", "contradicts --frame: give one of them"}
	case len(mix.Frames) != 0 && (frame != 0 || payload != 0):
		return nil, &UsageError{"imix", "has sizes of its own: leave out --frame and --payload"}
	case payload != 0:
		return []int{payload}, l.checkPayload(payload)
	case frame != 0:
		return []int{l.stack.PayloadBytes(frame)}, l.checkFrame("frame", frame)
	case len(mix.Frames) != 0:
		cycle := make([]int, len(mix.Frames))
		for i, f := range mix.Frames {
			if err := l.checkFrame("imix", f); err != nil {
				return nil, err
			}
			cycle[i] = l.stack.PayloadBytes(f)
		}
		return cycle, nil
	}
	return []int{l.most}, nil
}

func (l limits) checkFrame(flag string, frame int) error {
	least, most := l.stack.FrameBytes(l.least), l.stack.FrameBytes(l.most)
	switch {
	case frame < least:
		return &UsageError{flag, fmt.Sprintf("%d is too small for the %s header of %d bytes: the smallest frame here is %d",
			frame, l.header, l.least, least)}
	case frame > most:
		return &UsageError{flag, fmt.Sprintf("%s: the largest frame here is %d", l.tooLarge(frame, l.stack.PayloadBytes(frame)), most)}
	}
	return nil
}

func (l limits) checkPayload(payload int) error {
	switch {
	case payload < l.least:
		return &UsageError{"payload", fmt.Sprintf("%d is too small for the %s header of %d bytes", payload, l.header, l.least)}
	case payload > l.most:
		return &UsageError{"payload", fmt.Sprintf("%s: the largest payload here is %d", l.tooLarge(payload, payload), l.most)}
	}
	return nil
}

// tooLarge says of a size what it would need.
func (l limits) tooLarge(size, payload int) string {
	if payload > frame.MaxPayload {
		return fmt.Sprintf("%d is more than a UDP datagram carries", size)
	}
	return fmt.Sprintf("%d needs MTU %d; %s has %d", size, l.stack.BytesAt(units.L3, payload), l.whose, l.mtu)
}

// fragments is how many packets a datagram leaves in that does not fit one: each
// but the last carries a multiple of 8 bytes behind its header (RFC 791, and RFC
// 8200 section 4.5 with a fragment header of 8 bytes).
func (l limits) fragments(payload int) int {
	const unit, udpHeader, fragmentHeader = 8, 8, 8
	last := l.mtu - l.stack.BytesAt(units.L3, 0) + udpHeader
	if l.stack.IPv6 {
		last -= fragmentHeader
	}
	each := last - last%unit
	return 1 + (payload+udpHeader-last+each-1)/each
}
