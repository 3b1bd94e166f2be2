package linux

import (
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

// An MMsg is a batch of messages for sendmmsg(2): slots of one size, each with
// the length that is to be sent of it. One goroutine owns it.
type MMsg struct {
	slab  []byte // mapped; slot i begins at i*stride
	size  int
	step  int
	iovs  []unix.Iovec
	mmsgs []unix.Mmsghdr
}

// NewMMsg makes a batch of n slots of size bytes each, zeroed.
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
	m := &MMsg{slab: slab, size: size, step: step, iovs: make([]unix.Iovec, n), mmsgs: make([]unix.Mmsghdr, n)}
	for i := range n {
		m.iovs[i].Base = &slab[i*step]
		m.iovs[i].SetLen(size)
		m.mmsgs[i].Hdr.Iov = &m.iovs[i]
		m.mmsgs[i].Hdr.SetIovlen(1)
	}
	return m, nil
}

// Len is the number of slots.
func (m *MMsg) Len() int { return len(m.mmsgs) }

// Slot returns slot i; it stays valid until Close.
func (m *MMsg) Slot(i int) []byte {
	return m.slab[i*m.step:][:m.size:m.size]
}

// SetLen makes the message of slot i its first n bytes.
func (m *MMsg) SetLen(i, n int) {
	if uint(n) > uint(m.size) {
		panic(fmt.Sprintf("sendmmsg: message of %d bytes in a slot of %d", n, m.size))
	}
	m.iovs[i].SetLen(n)
}

// Send transmits the messages of n slots from the given one and returns how many
// the kernel took, in order, without ever waiting. The kernel says why it
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
	m.slab, m.iovs, m.mmsgs = nil, nil, nil
	return os.NewSyscallError("munmap", unix.Munmap(slab))
}
