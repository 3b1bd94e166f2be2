package linux

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Room for the control messages of one arrival: the receive stamp, which is
// struct __kernel_timespec on every machine, and a packet socket's side data or
// what UDP_GRO tells, an int, and as an int at most the traffic class.
var controlSpace = unix.CmsgSpace(16) + unix.CmsgSpace(int(unsafe.Sizeof(unix.TpacketAuxdata{}))) + unix.CmsgSpace(4)

// A RecvBatch is room for what one recvmmsg(2) returns. One goroutine owns it.
type RecvBatch struct {
	size     int
	slab     []byte // message i is captured at i*size
	controls []byte // and its control messages at i*controlSpace
	names    []unix.RawSockaddrInet6
	iovs     []unix.Iovec
	mmsgs    []unix.Mmsghdr
}

// NewRecvBatch makes room for n messages, at most MaxMMsg, of which up to size
// bytes each are captured, what the kernel puts before a frame included. The
// kernel writes to it only during Recv.
func NewRecvBatch(n, size int) *RecvBatch {
	b := &RecvBatch{
		size:     size,
		slab:     make([]byte, n*size),
		controls: make([]byte, n*controlSpace),
		names:    make([]unix.RawSockaddrInet6, n),
		iovs:     make([]unix.Iovec, n),
		mmsgs:    make([]unix.Mmsghdr, n),
	}
	for i := range n {
		b.iovs[i].Base = &b.slab[i*size]
		b.iovs[i].SetLen(size)
		h := &b.mmsgs[i].Hdr
		h.Name = (*byte)(unsafe.Pointer(&b.names[i]))
		h.Iov = &b.iovs[i]
		h.SetIovlen(1)
		h.Control = &b.controls[i*controlSpace]
	}
	return b
}

// Recv takes what waits at the socket, without ever waiting for more, and
// returns how many messages that is. The error is a bare unix.Errno.
func (b *RecvBatch) Recv(fd int) (int, error) {
	for i := range b.mmsgs { // the kernel left its own lengths there
		b.mmsgs[i].Hdr.Namelen = unix.SizeofSockaddrInet6
		b.mmsgs[i].Hdr.SetControllen(controlSpace)
	}
	for {
		// With MSG_TRUNC the kernel tells the length of the whole message.
		n, _, errno := unix.Syscall6(unix.SYS_RECVMMSG, uintptr(fd),
			uintptr(unsafe.Pointer(&b.mmsgs[0])), uintptr(len(b.mmsgs)), unix.MSG_DONTWAIT|unix.MSG_TRUNC, 0, 0)
		switch errno {
		case 0:
			return int(n), nil
		case unix.EAGAIN:
			return 0, nil
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
}

// Frame returns message i of the last Recv on a packet socket that has
// PACKET_AUXDATA and PACKET_VNET_HDR.
func (b *RecvBatch) Frame(i int) Arrival {
	a := b.Arrival(i)
	a.Segment = segment(a.Data)
	a.Data = a.Data[VirtioLen:]
	return a
}

// Arrival returns message i of the last Recv.
func (b *RecvBatch) Arrival(i int) Arrival {
	m := &b.mmsgs[i]
	a := Arrival{
		Data: b.slab[i*b.size:][:min(int(m.Len), b.size)],
		Len:  int(m.Len),
	}
	controls := b.controls[i*controlSpace:][:m.Hdr.Controllen]
	for len(controls) > 0 {
		h, data, rest, err := unix.ParseOneSocketControlMessage(controls)
		if err != nil {
			break // the kernel cut the last one short
		}
		controls = rest
		switch {
		case h.Level == unix.SOL_SOCKET && h.Type == unix.SO_TIMESTAMPNS_NEW && len(data) >= 16:
			sec := int64(binary.NativeEndian.Uint64(data))
			a.Wall = sec*1e9 + int64(binary.NativeEndian.Uint64(data[8:]))
		case h.Level == unix.SOL_PACKET && h.Type == unix.PACKET_AUXDATA && len(data) >= int(unsafe.Sizeof(unix.TpacketAuxdata{})):
			aux := (*unix.TpacketAuxdata)(unsafe.Pointer(&data[0]))
			a.Len, a.Status, a.TCI = int(aux.Len), aux.Status, aux.Vlan_tci
		case h.Level == unix.SOL_UDP && h.Type == unix.UDP_GRO && len(data) >= 4:
			a.Segment = int(binary.NativeEndian.Uint32(data))
		case h.Level == unix.IPPROTO_IP && h.Type == unix.IP_TOS && len(data) >= 1:
			a.TOS = data[0]
		case h.Level == unix.IPPROTO_IPV6 && h.Type == unix.IPV6_TCLASS && len(data) >= 4:
			a.TOS = uint8(binary.NativeEndian.Uint32(data))
		}
	}
	return a
}

// Source returns where message i of the last Recv on a UDP socket came from. An
// IPv4 address stands mapped (RFC 4291, section 2.5.5.2).
func (b *RecvBatch) Source(i int) (addr [16]byte, port uint16) {
	name := &b.names[i]
	if name.Family == unix.AF_INET6 {
		return name.Addr, networkOrder(&name.Port)
	}
	name4 := (*unix.RawSockaddrInet4)(unsafe.Pointer(name))
	addr[10], addr[11] = 0xff, 0xff
	copy(addr[12:], name4.Addr[:])
	return addr, networkOrder(&name4.Port)
}

// networkOrder reads a big-endian field of a kernel structure.
func networkOrder(p *uint16) uint16 {
	return binary.BigEndian.Uint16((*[2]byte)(unsafe.Pointer(p))[:])
}
