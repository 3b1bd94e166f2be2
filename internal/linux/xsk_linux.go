package linux

import (
	"errors"
	"fmt"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The kernel's layouts in <linux/if_xdp.h>.
var (
	_ [16]byte  = [unsafe.Sizeof(unix.XDPDesc{})]byte{}
	_ [8]byte   = [unsafe.Offsetof(unix.XDPDesc{}.Len)]byte{}
	_ [128]byte = [unsafe.Sizeof(unix.XDPMmapOffsets{})]byte{}
	_ [32]byte  = [unsafe.Sizeof(unix.XDPUmemReg{})]byte{}
	_ [48]byte  = [unsafe.Sizeof(unix.XDPStatistics{})]byte{}
)

// An XSKQueue names one queue of an interface.
type XSKQueue struct {
	IfIndex, Queue int
	// ZeroCopy lets the driver work on our memory where it can, for which it
	// may set up the queue anew; the link of a physical device can drop for
	// that. Otherwise, and where the driver can't, the kernel copies.
	ZeroCopy bool
}

// An xsk is an AF_XDP socket (Documentation/networking/af_xdp.rst) and the
// memory, umem, in which its frames lie: chunks of equal size, each named by its
// offset. Chunks wander between us and the kernel over rings:
//
//	to send:     TX ring        ->  kernel  ->  completion ring
//	to receive:  fill ring      ->  kernel  ->  RX ring
//
// Every socket has the fill and the completion ring, used or not.
type xsk struct {
	fd         int
	umem       []byte
	fill       addrRing
	completion addrRing
	zeroCopy   bool
}

// bindPatience is how long a queue may still be held by a socket that was
// closed: the kernel takes it down after a grace period of RCU.
const bindPatience = time.Second

// newXSK opens a socket with the given number of chunks, a power of two.
func newXSK(chunks, size int) (*xsk, error) {
	fd, err := unix.Socket(unix.AF_XDP, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if errors.Is(err, unix.EAFNOSUPPORT) {
		return nil, fmt.Errorf("AF_XDP socket: %w (this kernel was built without CONFIG_XDP_SOCKETS)", err)
	}
	if err != nil {
		return nil, fmt.Errorf("AF_XDP socket: %w", err)
	}
	s := &xsk{fd: fd}
	if err := s.setUp(chunks, size); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *xsk) setUp(chunks, size int) (err error) {
	s.umem, err = unix.Mmap(-1, 0, chunks*size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE)
	if err != nil {
		return fmt.Errorf("AF_XDP memory: %w", os.NewSyscallError("mmap", err))
	}
	reg := unix.XDPUmemReg{
		Addr: uint64(uintptr(unsafe.Pointer(&s.umem[0]))),
		Len:  uint64(len(s.umem)),
		Size: uint32(size),
	}
	_, _, errno := unix.Syscall6(unix.SYS_SETSOCKOPT, uintptr(s.fd), unix.SOL_XDP, unix.XDP_UMEM_REG,
		uintptr(unsafe.Pointer(&reg)), unsafe.Sizeof(reg), 0)
	if errno == unix.ENOBUFS {
		return fmt.Errorf("AF_XDP: register %d KiB of memory: %w (ulimit -l allows less)", len(s.umem)>>10, errno)
	}
	if errno != 0 {
		return fmt.Errorf("AF_XDP: register %d chunks of %d bytes: %w", chunks, size, errno)
	}
	if err := s.size(unix.XDP_UMEM_FILL_RING, chunks); err != nil {
		return err
	}
	return s.size(unix.XDP_UMEM_COMPLETION_RING, chunks)
}

// size gives the socket one of its rings, of n entries, a power of two.
func (s *xsk) size(ring, n int) error {
	if err := unix.SetsockoptInt(s.fd, unix.SOL_XDP, ring, n); err != nil {
		return fmt.Errorf("AF_XDP: ring %d of %d entries: %w", ring, n, err)
	}
	return nil
}

// offsets tells where in each mapping of a ring its parts are.
func (s *xsk) offsets() (unix.XDPMmapOffsets, error) {
	var o unix.XDPMmapOffsets
	if err := s.get(unix.XDP_MMAP_OFFSETS, unsafe.Pointer(&o), unsafe.Sizeof(o)); err != nil {
		return o, fmt.Errorf("getsockopt XDP_MMAP_OFFSETS: %w", err)
	}
	return o, nil
}

func (s *xsk) get(option int, value unsafe.Pointer, size uintptr) error {
	n := uint32(size)
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(s.fd), unix.SOL_XDP, uintptr(option),
		uintptr(value), uintptr(unsafe.Pointer(&n)), 0)
	if errno != 0 {
		return errno
	}
	if n != uint32(size) {
		return fmt.Errorf("%d bytes where %d were expected: this needs Linux 5.9 or later", n, size)
	}
	return nil
}

// mapShared maps the fill and the completion ring, which every socket needs.
func (s *xsk) mapShared(o *unix.XDPMmapOffsets, chunks int) (err error) {
	if s.fill, err = newAddrRing(s.fd, unix.XDP_UMEM_PGOFF_FILL_RING, &o.Fr, chunks); err != nil {
		return err
	}
	s.completion, err = newAddrRing(s.fd, unix.XDP_UMEM_PGOFF_COMPLETION_RING, &o.Cr, chunks)
	return err
}

// bind binds the socket to a queue, which it must share with no other. With
// several, a frame may lie in more than one chunk.
func (s *xsk) bind(q XSKQueue, several bool) error {
	flags := uint16(unix.XDP_USE_NEED_WAKEUP)
	if several {
		flags |= unix.XDP_USE_SG
	}
	err := error(unix.EOPNOTSUPP)
	if q.ZeroCopy {
		err = s.tryBind(q, flags|unix.XDP_ZEROCOPY)
		s.zeroCopy = err == nil
	}
	if errors.Is(err, unix.EOPNOTSUPP) {
		err = s.tryBind(q, flags|unix.XDP_COPY)
	}
	switch {
	case errors.Is(err, unix.EBUSY):
		return fmt.Errorf("AF_XDP: bind to queue %d: %w (another AF_XDP socket has it)", q.Queue, err)
	case errors.Is(err, unix.EINVAL) && several:
		return fmt.Errorf("AF_XDP: bind to queue %d: %w (no such queue, or a kernel before Linux 6.6, which has no frames beyond a page)", q.Queue, err)
	case err != nil:
		return fmt.Errorf("AF_XDP: bind to queue %d: %w", q.Queue, err)
	}
	return nil
}

func (s *xsk) tryBind(q XSKQueue, flags uint16) error {
	const pause = 5 * time.Millisecond
	for tries := bindPatience / pause; ; tries-- {
		err := unix.Bind(s.fd, &unix.SockaddrXDP{Flags: flags, Ifindex: uint32(q.IfIndex), QueueID: uint32(q.Queue)})
		if err != unix.EBUSY || tries == 0 {
			return err
		}
		time.Sleep(pause)
	}
}

// FD is the socket's descriptor, which stays the socket's.
func (s *xsk) FD() int { return s.fd }

// ZeroCopy reports whether the driver works on our memory.
func (s *xsk) ZeroCopy() bool { return s.zeroCopy }

// kick lets the kernel look at the TX ring. It never waits and holds on to the
// Go processor.
func (s *xsk) kick() unix.Errno {
	_, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(s.fd), 0, 0, unix.MSG_DONTWAIT, 0, 0)
	return errno
}

// close gives everything back; it may be called again.
func (s *xsk) close() error {
	errs := []error{s.fill.unmap(), s.completion.unmap()}
	if s.fd >= 0 {
		errs = append(errs, os.NewSyscallError("close", unix.Close(s.fd)))
		s.fd = -1
	}
	if s.umem != nil { // the kernel holds its pages as long as it needs them
		errs = append(errs, os.NewSyscallError("munmap", unix.Munmap(s.umem)))
		s.umem = nil
	}
	return errors.Join(errs...)
}
