package rx

import (
	"encoding/binary"

	"golang.org/x/net/bpf"
)

// filter returns the program of a packet socket that passes the frames that
// parse reads and that UDP sockets bound to local would get: UDP to its ports
// and, unless that is unspecified, its address; unfragmented or the first
// fragment; untagged or with one tag in the frame, which is the inner of two, as
// the kernel has taken out the outer one by then. The Config's Filter narrows that.
// Of a frame the first head bytes are kept; one that is longer than longest is kept
// whole.
func filter(c *Config, head, longest int) ([]bpf.RawInstruction, error) {
	addr := c.Local.Addr().Unmap()
	first := uint32(c.Local.Port())
	f := filterBuilder{filter: &c.Filter, first: first, last: first + uint32(c.ports()-1)}
	f.ipv4, f.ipv6 = c.versions()
	if addr.IsValid() && !addr.IsUnspecified() {
		f.addr = addr.AsSlice()
	}

	// PACKET_HOST, PACKET_BROADCAST and PACKET_MULTICAST of <linux/if_packet.h>;
	// beyond are other hosts' frames and our own.
	f.add(bpf.LoadExtension{Num: bpf.ExtType})
	f.require(bpf.JumpLessOrEqual, 2)

	// How many bytes are kept waits in M[0].
	f.add(bpf.LoadExtension{Num: bpf.ExtLen})
	f.add(bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: uint32(longest), SkipTrue: 1})
	f.add(bpf.LoadConstant{Dst: bpf.RegA, Val: uint32(head)})
	f.add(bpf.StoreScratch{Src: bpf.RegA, N: 0})
	f.vlan()

	f.add(bpf.LoadAbsolute{Off: 12, Size: 2})
	tagged := f.empty()
	tagged.add(bpf.LoadAbsolute{Off: 16, Size: 2})
	tagged.ip(ethernetLen + tagLen)
	plain := f.empty()
	plain.ip(ethernetLen)

	f.add(bpf.JumpIf{Cond: bpf.JumpEqual, Val: etherTag, SkipTrue: 1})
	f.add(bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: etherSTag, SkipTrue: uint8(len(tagged.code))})
	f.add(tagged.code...)
	f.add(plain.code...)
	f.add(bpf.RetConstant{Val: 0})
	f.aimDrops()
	return bpf.Assemble(f.code)
}

// A filterBuilder writes a program piece by piece. Each piece ends by passing
// the frame.
type filterBuilder struct {
	code        []bpf.Instruction
	filter      *Filter
	addr        []byte // destination address; nil for any
	first, last uint32 // destination ports
	ipv4, ipv6  bool
}

// drop stands for the distance to the program's end, where the frame is dropped,
// until that is known. No other jump is as long.
const drop = 0xff

func (f *filterBuilder) empty() filterBuilder {
	e := *f
	e.code = nil
	return e
}

func (f *filterBuilder) add(code ...bpf.Instruction) { f.code = append(f.code, code...) }

// require drops the frame unless the condition holds for the accumulator.
func (f *filterBuilder) require(cond bpf.JumpTest, val uint32) {
	f.add(bpf.JumpIf{Cond: cond, Val: val, SkipFalse: drop})
}

// aimDrops lets the drops of the whole program jump to its last instruction.
func (f *filterBuilder) aimDrops() {
	last := len(f.code) - 1
	for i, c := range f.code {
		if j, ok := c.(bpf.JumpIf); ok && j.SkipFalse == drop {
			j.SkipFalse = uint8(last - i - 1)
			f.code[i] = j
		}
	}
}

// ip goes by the Ethernet type in the accumulator and passes the frame if it
// suits; off is where the IP header begins.
func (f *filterBuilder) ip(off uint32) {
	v4, v6 := f.empty(), f.empty()
	v4.udp4(off)
	v6.udp6(off)
	switch {
	case f.ipv4 && f.ipv6:
		f.add(bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: etherIPv4, SkipTrue: uint8(len(v4.code))})
		f.add(v4.code...)
		f.require(bpf.JumpEqual, etherIPv6)
		f.add(v6.code...)
	case f.ipv4:
		f.require(bpf.JumpEqual, etherIPv4)
		f.add(v4.code...)
	default:
		f.require(bpf.JumpEqual, etherIPv6)
		f.add(v6.code...)
	}
}

func (f *filterBuilder) udp4(off uint32) {
	f.add(bpf.LoadAbsolute{Off: off + 9, Size: 1})
	f.require(bpf.JumpEqual, protoUDP)
	f.add(bpf.LoadAbsolute{Off: off + 6, Size: 2})
	f.require(bpf.JumpBitsNotSet, 0x1fff)
	f.destination(off + 16)
	f.add(bpf.LoadAbsolute{Off: off + 1, Size: 1})
	f.dscp(ecnBits)
	f.source(off+12, 3)
	f.add(bpf.LoadMemShift{Off: off}) // X = header length
	f.pass(off)
}

func (f *filterBuilder) udp6(off uint32) {
	f.destination(off + 24)
	f.add(bpf.LoadAbsolute{Off: off, Size: 2})
	f.dscp(4 + ecnBits) // bits of the flow label before
	f.source(off+8, 0)
	fragment := f.empty()
	fragment.require(bpf.JumpEqual, protoFragment)
	fragment.add(bpf.LoadAbsolute{Off: off + ipv6Len, Size: 1})
	fragment.require(bpf.JumpEqual, protoUDP)
	fragment.add(bpf.LoadAbsolute{Off: off + ipv6Len + 2, Size: 2})
	fragment.require(bpf.JumpBitsNotSet, 0xfff8)
	fragment.add(bpf.LoadConstant{Dst: bpf.RegX, Val: ipv6Len + fragmentLen})
	fragment.pass(off)

	f.add(bpf.LoadAbsolute{Off: off + 6, Size: 1})
	f.add(bpf.JumpIf{Cond: bpf.JumpEqual, Val: protoUDP, SkipTrue: uint8(len(fragment.code))})
	f.add(fragment.code...)
	f.add(bpf.LoadConstant{Dst: bpf.RegX, Val: ipv6Len})
	f.pass(off)
}

// destination requires the address that we listen on, if it is one.
func (f *filterBuilder) destination(off uint32) {
	for i := 0; i < len(f.addr); i += 4 {
		f.add(bpf.LoadAbsolute{Off: off + uint32(i), Size: 4})
		f.require(bpf.JumpEqual, binary.BigEndian.Uint32(f.addr[i:]))
	}
}

// vlan requires the outer tag: the one that the kernel took out, or else the one in
// the frame.
func (f *filterBuilder) vlan() {
	if f.filter.VLAN == nil {
		return
	}
	const idBits = 0xfff
	f.add(
		bpf.LoadExtension{Num: bpf.ExtVLANTagPresent},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 2},
		bpf.LoadExtension{Num: bpf.ExtVLANTag},
		bpf.Jump{Skip: 4},
		bpf.LoadAbsolute{Off: 12, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: etherTag, SkipTrue: 1},
	)
	f.require(bpf.JumpEqual, etherSTag)
	f.add(
		bpf.LoadAbsolute{Off: 14, Size: 2},
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: idBits},
	)
	f.require(bpf.JumpEqual, uint32(*f.filter.VLAN))
}

// dscp requires it of the accumulator, so many bits up.
func (f *filterBuilder) dscp(shift int) {
	if f.filter.DSCP == nil {
		return
	}
	f.add(bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0x3f << shift})
	f.require(bpf.JumpEqual, uint32(*f.filter.DSCP)<<shift)
}

// source requires an address of the prefix. What stands at off is the address from
// its given word on, of the four that an IPv6 one has; words before are those of a
// mapped IPv4 address.
func (f *filterBuilder) source(off uint32, word int) {
	prefix := f.filter.mapped()
	if !prefix.IsValid() {
		return
	}
	addr, bits := prefix.Masked().Addr().As16(), prefix.Bits()
	for i := 0; 32*i < bits; i++ {
		want := binary.BigEndian.Uint32(addr[4*i:])
		mask := ^uint32(0) << (32 - min(bits-32*i, 32))
		if i < word {
			f.add(bpf.LoadConstant{Dst: bpf.RegA, Val: [...]uint32{0, 0, 0xffff}[i]})
		} else {
			f.add(bpf.LoadAbsolute{Off: off + uint32(4*(i-word)), Size: 4})
		}
		f.add(bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: mask})
		f.require(bpf.JumpEqual, want)
	}
}

// pass keeps the frame if the ports are ours: the UDP header is X behind the IP
// header.
func (f *filterBuilder) pass(off uint32) {
	f.add(bpf.LoadIndirect{Off: off + 2, Size: 2})
	f.require(bpf.JumpGreaterOrEqual, f.first)
	f.require(bpf.JumpLessOrEqual, f.last)
	if n := f.filter.SrcPorts; n > 0 {
		f.add(bpf.LoadIndirect{Off: off, Size: 2})
		f.require(bpf.JumpGreaterOrEqual, uint32(f.filter.SrcPort))
		f.require(bpf.JumpLessOrEqual, uint32(f.filter.SrcPort)+uint32(n-1))
	}
	f.add(bpf.LoadScratch{Dst: bpf.RegA, N: 0})
	f.add(bpf.RetA{})
}
