package linux

import (
	"encoding/binary"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// MaxMMsg is the most messages that the kernel takes in one call: UIO_MAXIOV
// of <linux/uio.h>.
const MaxMMsg = 1024

// The kernel steps through the array by its own size of struct mmsghdr: 64
// bytes on 64-bit machines, 32 on the others.
var _ [8 * unsafe.Sizeof(uintptr(0))]byte = [unsafe.Sizeof(unix.Mmsghdr{})]byte{}

// An MMsg is a batch of messages for sendmmsg(2). It has slots of one size, each
// with the part of it that is to be sent. A message is one slot, or several that
// Gather put behind one another. One goroutine owns it.
type MMsg struct {
	slab    []byte // mapped; slot i begins at i*stride
	size    int
	step    int
	iovs    []unix.Iovec   // by slot
	mmsgs   []unix.Mmsghdr // by message
	segment []byte         // UDP_SEGMENT, for all of them
}

// NewMMsg makes a batch of n slots of size bytes each, zeroed; each is a message.
func NewMMsg(n, size int) (*MMsg, error) {
	if n < 1 || n > MaxMMsg || size < 1 {
		return nil, fmt.Errorf("sendmmsg: %d slots of %d bytes: 1 to %d slots of at least 1 byte", n, size, MaxMMsg)
	}
	const cacheLine = 64
	step := (size + cacheLine - 1) &^ (cacheLine - 1)
	slab, err := unix.Mmap(-1, 0, n*step, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE)
	if err != nil {
		return nil, fmt.Errorf("sendmmsg: %w", os.NewSyscallError("mmap", err))
	}
	m := &MMsg{
		slab: slab, size: size, step: step,
		iovs: make([]unix.Iovec, n), mmsgs: make([]unix.Mmsghdr, n),
		segment: make([]byte, unix.CmsgSpace(segmentLen)),
	}
	h := (*unix.Cmsghdr)(unsafe.Pointer(&m.segment[0]))
	h.Level, h.Type = unix.SOL_UDP, unix.UDP_SEGMENT
	h.SetLen(unix.CmsgLen(segmentLen))
	for i := range n {
		m.SetPart(i, 0, size)
	}
	m.Gather(0, n, 1, 0)
	return m, nil
}

// segmentLen is the length of the datum of UDP_SEGMENT, a u16.
const segmentLen = 2

// Len is the number of slots.
func (m *MMsg) Len() int { return len(m.mmsgs) }

// Slot returns slot i; it stays valid until Close.
func (m *MMsg) Slot(i int) []byte {
	return m.slab[i*m.step:][:m.size:m.size]
}

// SetPart lets slot i send its bytes from the given one up to another.
func (m *MMsg) SetPart(i, from, to int) {
	if uint(from) >= uint(to) || uint(to) > uint(m.size) {
		panic(fmt.Sprintf("sendmmsg: bytes %d to %d of a slot of %d", from, to, m.size))
	}
	m.iovs[i].Base = &m.slab[i*m.step+from]
	m.iovs[i].SetLen(to - from)
}

// Gather makes messages of the slots from the given one up to another, each of
// per slots and the last of what is left, and returns how many those are. With a
// segment the kernel cuts a message of several slots into datagrams of so many
// bytes (UDP_SEGMENT of udp(7)); 0 leaves messages whole.
func (m *MMsg) Gather(from, to, per, segment int) int {
	binary.NativeEndian.PutUint16(m.segment[unix.CmsgLen(0):], uint16(segment))
	n := 0
	for ; from < to; from += per {
		h := &m.mmsgs[n].Hdr
		slots := min(per, to-from)
		h.Iov = &m.iovs[from]
		h.SetIovlen(slots)
		h.Control = nil
		h.SetControllen(0)
		if segment > 0 && slots > 1 {
			h.Control = &m.segment[0]
			h.SetControllen(len(m.segment))
		}
		n++
	}
	return n
}

// Send transmits n messages from the given one and returns how many the kernel
// took, in order, without ever waiting. The kernel says why it
// stopped only when it took none; a short count has no error: send the rest to
// learn it. The error is a bare unix.Errno.
//
// It holds on to the Go processor during the call, which never blocks: handing
// it over and back would cost more than the call and hurt pacing.
func (m *MMsg) Send(fd, from, n int) (int, error) {
	msgs := m.mmsgs[from : from+n]
	if n == 0 {
		return 0, nil
	}
	for {
		taken, _, errno := unix.RawSyscall6(unix.SYS_SENDMMSG, uintptr(fd),
			uintptr(unsafe.Pointer(&msgs[0])), uintptr(n), unix.MSG_DONTWAIT, 0, 0)
		switch errno {
		case 0:
			return int(taken), nil
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
}

// Close gives the memory of the slots back; it may be called again.
func (m *MMsg) Close() error {
	if m.slab == nil {
		return nil
	}
	slab := m.slab
	m.slab, m.iovs, m.mmsgs, m.segment = nil, nil, nil, nil
	return os.NewSyscallError("munmap", unix.Munmap(slab))
}
