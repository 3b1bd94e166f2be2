package gen

import (
	"golang.org/x/sys/unix"

	"linerate/gen/pace"
)

// maxSegments is the most packets that one super-frame may hold: UDP_MAX_SEGMENTS
// of <linux/udp.h>. Older kernels have 64.
const maxSegments = 128

// maxSuper is the most payload in bytes that one may hold. An IPv4 datagram may be
// of 65507, but a frame that is as long as an interface's gso_max_size, 64 KiB as
// a rule, is cut up in software; 66 bytes are for headers.
const maxSuper = 64<<10 - 1 - 66

// segments is how many packets a path puts into one super-frame, a datagram that
// the kernel or the device takes apart (UDP GSO). It costs the way through the
// kernel once for all of them.
type segments struct {
	most int  // that the kernel takes, as far as is known; 1 for no super-frames
	used int  // most that one had
	none bool // the kernel took none
}

// newSegments is what a path begins with that may send super-frames or may not.
func newSegments(super bool) segments {
	if super {
		return segments{most: maxSegments}
	}
	return segments{most: 1}
}

// per is how many packets of a payload size go together.
func (s *segments) per(size int) int { return max(1, min(s.most, maxSuper/size)) }

// fewer says whether an error means that the kernel takes fewer packets together
// than the path tried, and remembers that: EINVAL if it knows of no so long
// super-frames, or of none, and EIO from UDP_SEGMENT if the device or a transform
// on the way needs each datagram's checksum by itself (older kernels).
func (s *segments) fewer(err error, per int) bool {
	if per == 1 || err != unix.EINVAL && err != unix.EIO {
		return false
	}
	s.most = per / 2
	s.none = s.most == 1
	return true
}

// note remembers that so many packets left together.
func (s *segments) note(n int) { s.used = max(s.used, n) }

// Segments implements Segmenter.
func (s *segments) Segments() (most int, refused bool) { return s.used, s.none }

// rest is a burst without its first n packets.
func rest(b pace.Burst, n int) pace.Burst {
	b.First += uint64(n)
	b.N -= n
	return b
}
