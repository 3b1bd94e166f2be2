package probe

import "encoding/binary"

// putTimeval writes wall time as both iperfs do: seconds and microseconds,
// 32 bits each.
func putTimeval(b []byte, wall int64) {
	us := uint64(wall) / 1e3
	sec := us / 1e6
	binary.BigEndian.PutUint32(b, uint32(sec))
	binary.BigEndian.PutUint32(b[4:], uint32(us-sec*1e6))
}

// timeval reads such a time in ns; ok is false when it can't be one.
func timeval(b []byte) (ns int64, ok bool) {
	sec := int64(binary.BigEndian.Uint32(b))
	us := int64(binary.BigEndian.Uint32(b[4:]))
	return sec*1e9 + us*1e3, us < 1e6
}
