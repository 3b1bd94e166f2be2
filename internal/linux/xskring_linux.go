package linux

import (
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An xskRing is what the four rings of an AF_XDP socket have in common: two
// running indices, of which the producer's side writes one and the consumer's
// the other, each after it has written or read the entries. They wrap at 2^32;
// an entry's place is its index modulo the length.
type xskRing struct {
	mem      []byte
	producer *atomic.Uint32
	consumer *atomic.Uint32
	flags    *atomic.Uint32 // XDP_RING_NEED_WAKEUP; the kernel writes it
	mask     uint32
}

// A descRing is a TX or RX ring, and an addrRing a fill or completion ring.
type (
	descRing struct {
		xskRing
		entries []unix.XDPDesc
	}
	addrRing struct {
		xskRing
		entries []uint64 // offsets in the umem
	}
)

// mapRing maps a ring of n entries of the given size, and returns the first one.
func mapRing(fd int, offset int64, o *unix.XDPRingOffset, n int, size uintptr) (r xskRing, first unsafe.Pointer, err error) {
	length := uintptr(o.Desc) + uintptr(n)*size
	const word = 4
	for _, at := range []uint64{o.Producer, o.Consumer, o.Flags} {
		if at%word != 0 || at+word > uint64(length) {
			return r, nil, fmt.Errorf("AF_XDP: ring index at %d", at)
		}
	}
	if n < 1 || n&(n-1) != 0 || o.Desc%8 != 0 {
		return r, nil, fmt.Errorf("AF_XDP: ring of %d entries at %d", n, o.Desc)
	}
	r.mem, err = unix.Mmap(fd, offset, int(length), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return r, nil, fmt.Errorf("AF_XDP ring: %w", os.NewSyscallError("mmap", err))
	}
	r.producer = (*atomic.Uint32)(unsafe.Pointer(&r.mem[o.Producer]))
	r.consumer = (*atomic.Uint32)(unsafe.Pointer(&r.mem[o.Consumer]))
	r.flags = (*atomic.Uint32)(unsafe.Pointer(&r.mem[o.Flags]))
	r.mask = uint32(n - 1)
	return r, unsafe.Pointer(&r.mem[o.Desc]), nil
}

func newDescRing(fd int, offset int64, o *unix.XDPRingOffset, n int) (descRing, error) {
	r, first, err := mapRing(fd, offset, o, n, unsafe.Sizeof(unix.XDPDesc{}))
	if err != nil {
		return descRing{}, err
	}
	return descRing{r, unsafe.Slice((*unix.XDPDesc)(first), n)}, nil
}

func newAddrRing(fd int, offset int64, o *unix.XDPRingOffset, n int) (addrRing, error) {
	r, first, err := mapRing(fd, offset, o, n, unsafe.Sizeof(uint64(0)))
	if err != nil {
		return addrRing{}, err
	}
	return addrRing{r, unsafe.Slice((*uint64)(first), n)}, nil
}

// at is the entry with a running index.
func (r *descRing) at(i uint32) *unix.XDPDesc { return &r.entries[i&r.mask] }

func (r *addrRing) at(i uint32) *uint64 { return &r.entries[i&r.mask] }

// needsWakeup reports whether the kernel looks at the ring only when called.
func (r *xskRing) needsWakeup() bool { return r.flags.Load()&unix.XDP_RING_NEED_WAKEUP != 0 }

func (r *xskRing) unmap() error {
	if r.mem == nil {
		return nil
	}
	mem := r.mem
	*r = xskRing{}
	return os.NewSyscallError("munmap", unix.Munmap(mem))
}
