package rx

import (
	"encoding/binary"
	"net/netip"
)

// A testFrame is a frame by hand: what its fields don't say is as it should be.
type testFrame struct {
	dstMAC, srcMAC [6]byte
	tags           []uint16 // 802.1Q, the outer one first
	src, dst       netip.AddrPort
	tos            uint8
	options        int    // bytes of IPv4 options
	fragment       uint16 // IPv4: flags and offset; IPv6: the same field of a fragment header
	payload        []byte // of the UDP datagram, or what this fragment has of it
	udpLen         int    // in the UDP header; 0 for the right one
	noChecksum     bool
	trailer        int // bytes behind the IP packet
}

var (
	client4 = netip.MustParseAddrPort("10.0.0.1:40000")
	server4 = netip.MustParseAddrPort("10.0.0.2:5201")
	client6 = netip.MustParseAddrPort("[fd00::1]:40000")
	server6 = netip.MustParseAddrPort("[fd00::2]:5201")
)

func (f testFrame) bytes() []byte {
	b := append(f.dstMAC[:], f.srcMAC[:]...)
	for _, t := range f.tags {
		b = binary.BigEndian.AppendUint16(b, 0x8100)
		b = binary.BigEndian.AppendUint16(b, t)
	}
	udp := f.udp()
	if f.src.Addr().Is4() {
		b = binary.BigEndian.AppendUint16(b, 0x0800)
		b = append(b, f.ipv4(len(udp))...)
	} else {
		b = binary.BigEndian.AppendUint16(b, 0x86dd)
		b = append(b, f.ipv6(len(udp))...)
	}
	b = append(b, udp...)
	return append(b, make([]byte, f.trailer)...)
}

func (f testFrame) ipv4(n int) []byte {
	header := 20 + f.options
	b := make([]byte, header)
	b[0], b[1] = 0x40|byte(header/4), f.tos
	binary.BigEndian.PutUint16(b[2:], uint16(header+n))
	binary.BigEndian.PutUint16(b[6:], f.fragment)
	b[8], b[9] = 64, 17
	copy(b[12:], f.src.Addr().AsSlice())
	copy(b[16:], f.dst.Addr().AsSlice())
	for i := 20; i < header; i++ {
		b[i] = 1 // no operation
	}
	binary.BigEndian.PutUint16(b[10:], ^slowSum(b))
	return b
}

func (f testFrame) ipv6(n int) []byte {
	b := make([]byte, 40, 48)
	b[0], b[1], b[6], b[7] = 0x60|f.tos>>4, f.tos<<4, 17, 64
	copy(b[8:], f.src.Addr().AsSlice())
	copy(b[24:], f.dst.Addr().AsSlice())
	if f.fragment != 0 {
		b[6] = 44
		b = append(b, 17, 0, byte(f.fragment>>8), byte(f.fragment), 0, 0, 0, 1)
		n += 8
	}
	binary.BigEndian.PutUint16(b[4:], uint16(n))
	return b
}

func (f testFrame) udp() []byte {
	n := f.udpLen
	if n == 0 {
		n = 8 + len(f.payload)
	}
	b := make([]byte, 8, n)
	binary.BigEndian.PutUint16(b[0:], f.src.Port())
	binary.BigEndian.PutUint16(b[2:], f.dst.Port())
	binary.BigEndian.PutUint16(b[4:], uint16(n))
	b = append(b, f.payload...)
	if f.noChecksum {
		return b
	}
	pseudo := append(f.src.Addr().AsSlice(), f.dst.Addr().AsSlice()...)
	pseudo = append(pseudo, 0, 17, byte(n>>8), byte(n))
	sum := ^slowSum(append(pseudo, b...))
	if sum == 0 {
		sum = 0xffff
	}
	binary.BigEndian.PutUint16(b[6:], sum)
	return b
}

// slowSum is the ones' complement sum of 16-bit words, as RFC 1071 defines it.
func slowSum(b []byte) uint16 {
	var s uint32
	for i, v := range b {
		s += uint32(v) << (8 * (1 - i&1))
		s = s>>16 + s&0xffff
	}
	return uint16(s)
}
