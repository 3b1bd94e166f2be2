package probe

import "encoding/binary"

// MagicReflection begins what a reflector sends back. No reflector answers it, so
// two of them can't keep each other busy.
const MagicReflection = 0xb6f1

// ReflectionSize is the bytes of a reflection that tells when the reflector had
// the probe; that of a smaller probe is its header alone.
const ReflectionSize = NativeSize + 2*reflectorTime

const reflectorTime = NativeBits / 8

// A Reflection is a native probe that came back.
//
// On the wire, in network byte order: the probe's native header with
// MagicReflection in place of its own, and if the probe had room for them
//
//	18  time of arrival at the reflector  6  ns of its CLOCK_MONOTONIC modulo 2^48
//	24  time of departure from there      6  likewise
type Reflection struct {
	Header           // of the probe: Sent is of its sender's clock
	Turnaround int64 // ns at the reflector; 0 if it does not tell
}

// Reflect turns a UDP payload, in place, into what a reflector sends back for it:
// no more bytes than came. It is nil for anything but a native probe. The times are
// ns of the reflector's CLOCK_MONOTONIC.
func Reflect(b []byte, arrived, leaves int64) []byte {
	if _, kind := parseNative(b); kind != Data {
		return nil
	}
	binary.BigEndian.PutUint16(b[MagicOffset:], MagicReflection)
	if len(b) < ReflectionSize {
		return b[:NativeSize]
	}
	putTime(b[NativeSize:], arrived)
	putTime(b[NativeSize+reflectorTime:], leaves)
	return b[:ReflectionSize]
}

// ParseReflection reads what Reflect made; false if b is anything else.
func ParseReflection(b []byte) (Reflection, bool) {
	if len(b) != NativeSize && len(b) != ReflectionSize || binary.BigEndian.Uint16(b) != MagicReflection {
		return Reflection{}, false
	}
	r := Reflection{Header: nativeFields(b)}
	if len(b) == ReflectionSize {
		r.Turnaround = (timeAt(b[NativeSize+reflectorTime:]) - timeAt(b[NativeSize:])) & nativeMask
	}
	return r, true
}

// Elapsed is the time in ns from an instant to a later one, less than 2^48 ns
// apart, of which the first may be modulo 2^48.
func Elapsed(from, to int64) int64 { return (to - from) & nativeMask }

func putTime(b []byte, ns int64) {
	binary.BigEndian.PutUint16(b, uint16(ns>>32))
	binary.BigEndian.PutUint32(b[2:], uint32(ns))
}

func timeAt(b []byte) int64 {
	return int64(binary.BigEndian.Uint16(b))<<32 | int64(binary.BigEndian.Uint32(b[2:]))
}
