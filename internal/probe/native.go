package probe

import "encoding/binary"

// The native header, in network byte order:
//
//	 0  magic and version  2
//	 2  run                2
//	 4  flow               2
//	 6  sequence number    6  modulo 2^48, per flow from 0
//	12  transmit time      6  ns of the sender's CLOCK_MONOTONIC modulo 2^48
//
// An IPv4/UDP datagram in a 64-byte Ethernet frame has room for exactly this.
const (
	MagicOffset = 0
	RunOffset   = 2
	FlowOffset  = 4
	SeqOffset   = 6
	TimeOffset  = 12
	NativeSize  = 18
)

// The low four bits of a magic number are the version of the format.
const (
	MagicData = 0xb6d1
	MagicEnd  = 0xb6e1
)

// NativeBits is the width of the native sequence number and transmit time.
const NativeBits = 48

const nativeMask = 1<<NativeBits - 1

// putNative writes the header as three words that lie across its fields.
func putNative(b []byte, magic, run, flow uint16, seq uint64, mono int64) {
	_ = b[NativeSize-1]
	first := uint64(magic)<<48 | uint64(run)<<32 | uint64(flow)<<16 | seq>>32&0xffff
	second := seq<<32 | uint64(mono)>>16&0xffffffff
	binary.BigEndian.PutUint64(b, first)
	binary.BigEndian.PutUint64(b[8:], second)
	binary.BigEndian.PutUint16(b[16:], uint16(mono))
}

func parseNative(b []byte) (Header, Kind) {
	if len(b) < NativeSize {
		return Header{}, Foreign
	}
	switch binary.BigEndian.Uint16(b) {
	case MagicData:
		return nativeFields(b), Data
	case MagicEnd:
		return nativeFields(b), End
	}
	return Header{}, Foreign
}

// nativeFields reads the header behind whatever magic number.
func nativeFields(b []byte) Header {
	_ = b[NativeSize-1]
	first := binary.BigEndian.Uint64(b)
	second := binary.BigEndian.Uint64(b[8:])
	return Header{
		Run:  uint16(first >> 32),
		Flow: uint16(first >> 16),
		Seq:  first&0xffff<<32 | second>>32,
		Sent: int64(second&0xffffffff<<16 | uint64(binary.BigEndian.Uint16(b[16:]))),
	}
}
