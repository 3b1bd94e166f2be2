package linux

import (
	"fmt"
	"math/bits"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// txData is where a frame starts in its slot: behind the header and short of
// the address that TPACKET2_HDRLEN of <linux/if_packet.h> counts but only
// receive rings have.
const txData = 32

var _ [txData]byte = [unix.SizeofTpacket2Hdr]byte{}

// A TxRing is a PACKET_TX_RING in the TPACKET_V2 layout (packet_mmap of the
// kernel's documentation): slots in memory that the kernel shares.
//
//	slot:  0 status  4 length  8 …  32 frame …  stride
//
// The status says whose the slot is. Send writes SEND_REQUEST once the frame
// and its length are there; the kernel turns that to SENDING when it takes the
// frame, and to AVAILABLE when it has freed it. Nothing else writes it.
//
// The kernel takes slots in turn and only during the system call, and stays at
// the slot that it could not send. So the next slot is the same on both sides,
// and what was refused can be taken back. One goroutine owns the ring.
type TxRing struct {
	fd    int
	mem   []byte
	slots []txSlot
	head  int // the next slot to send
}

type txSlot struct {
	status *atomic.Uint32
	length *uint32
	frame  []byte
}

// NewTxRing gives an AF_PACKET socket a ring of at least n slots for frames of
// up to size bytes, FCS not counted. After that the socket sends by the ring
// only.
func NewTxRing(fd, n, size int) (*TxRing, error) {
	if n < 1 || size < 1 {
		return nil, fmt.Errorf("PACKET_TX_RING: %d slots of %d bytes: at least 1 of each", n, size)
	}
	g := newTxGeometry(n, size, os.Getpagesize())
	if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_VERSION, unix.TPACKET_V2); err != nil {
		return nil, fmt.Errorf("PACKET_TX_RING: set TPACKET_V2: %w", err)
	}
	req := unix.TpacketReq{
		Block_size: uint32(g.block), Block_nr: uint32(g.blocks),
		Frame_size: uint32(g.stride), Frame_nr: uint32(g.blocks * g.perBlock),
	}
	if err := unix.SetsockoptTpacketReq(fd, unix.SOL_PACKET, unix.PACKET_TX_RING, &req); err != nil {
		return nil, fmt.Errorf("PACKET_TX_RING of %d blocks of %d bytes: %w", g.blocks, g.block, err)
	}
	mem, err := unix.Mmap(fd, 0, g.block*g.blocks, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return nil, fmt.Errorf("PACKET_TX_RING: %w", os.NewSyscallError("mmap", err))
	}
	r := &TxRing{fd: fd, mem: mem, slots: make([]txSlot, 0, g.blocks*g.perBlock)}
	for b := range g.blocks {
		for i := range g.perBlock {
			slot := mem[b*g.block+i*g.stride:][:g.stride:g.stride]
			header := (*unix.Tpacket2Hdr)(unsafe.Pointer(&slot[0]))
			r.slots = append(r.slots, txSlot{
				status: (*atomic.Uint32)(unsafe.Pointer(&header.Status)),
				length: &header.Len,
				frame:  slot[txData:][:size:size],
			})
		}
	}
	return r, nil
}

// A txGeometry is how slots lie in the blocks of a ring, in bytes.
type txGeometry struct {
	stride, perBlock int
	block, blocks    int
}

// newTxGeometry lays out n slots or more for frames of size bytes. The kernel
// wants slots a multiple of 16 and blocks a multiple of the page, and no slot
// may cross a block. Slots up to a page are a power of two and longer ones
// whole pages, so that a frame spans as few pages as it can: an skb has room
// for 17, which a 64 KiB frame needs all.
func newTxGeometry(n, size, page int) txGeometry {
	var g txGeometry
	if need := txData + size; need <= page {
		g.stride = max(powerOfTwo(need), unix.TPACKET_ALIGNMENT)
	} else {
		g.stride = (need + page - 1) / page * page
	}
	g.block = max(powerOfTwo(4*g.stride), page)
	g.perBlock = g.block / g.stride
	g.blocks = (n + g.perBlock - 1) / g.perBlock
	return g
}

// powerOfTwo rounds n up to one.
func powerOfTwo(n int) int { return 1 << bits.Len(uint(n-1)) }

// Len is the number of slots.
func (r *TxRing) Len() int { return len(r.slots) }

// at returns the slot k places after the next one.
func (r *TxRing) at(k int) *txSlot { return &r.slots[r.Index(k)] }

// Room returns how many slots in a row from the next one are free, up to want
// and to the length of the ring.
func (r *TxRing) Room(want int) int {
	want = min(want, len(r.slots))
	for k := range want {
		if r.at(k).status.Load() != unix.TP_STATUS_AVAILABLE {
			return k
		}
	}
	return want
}

// Slot returns the frame of the slot k places after the next one, which Room
// must have found free. What was written there stays over rounds of the ring.
func (r *TxRing) Slot(k int) []byte { return r.at(k).frame }

// SetLen makes the frame of slot k its first n bytes.
func (r *TxRing) SetLen(k, n int) {
	s := r.at(k)
	if uint(n) > uint(len(s.frame)) {
		panic(fmt.Sprintf("PACKET_TX_RING: frame of %d bytes in a slot of %d", n, len(s.frame)))
	}
	*s.length = uint32(n)
}

// Send hands the next n slots to the kernel by one system call and returns how
// many it took for good; the others are free again, and still next. The error,
// a bare unix.Errno, says why the kernel stopped; a full send buffer may stop
// it without one. It never waits, and like MMsg.Send holds on to the Go
// processor.
func (r *TxRing) Send(n int) (int, error) {
	for k := range n {
		r.at(k).status.Store(unix.TP_STATUS_SEND_REQUEST)
	}
	_, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(r.fd), 0, 0, unix.MSG_DONTWAIT, 0, 0)
	taken := r.takeBack(n)
	r.head += taken
	if r.head >= len(r.slots) {
		r.head -= len(r.slots)
	}
	if errno != 0 {
		return taken, errno
	}
	return taken, nil
}

// takeBack counts what the kernel took of the first n slots and frees the rest:
// the one that stopped it (SEND_REQUEST again, or WRONG_FORMAT if it can't be
// sent at all) and those behind it that it never looked at.
func (r *TxRing) takeBack(n int) int {
	taken := 0
	for ; taken < n; taken++ {
		if s := r.at(taken).status.Load(); s == unix.TP_STATUS_SEND_REQUEST || s == unix.TP_STATUS_WRONG_FORMAT {
			break
		}
	}
	for k := taken; k < n; k++ {
		r.at(k).status.Store(unix.TP_STATUS_AVAILABLE)
	}
	return taken
}

// Index is where in the ring the slot k places after the next one lies.
func (r *TxRing) Index(k int) int {
	i := r.head + k
	if i >= len(r.slots) {
		i -= len(r.slots)
	}
	return i
}

// Pending says whether the kernel took the slot that lies at i and has not freed
// it yet: its frame is in a queue of the interface or of its device.
func (r *TxRing) Pending(i int) bool { return r.slots[i].status.Load() != unix.TP_STATUS_AVAILABLE }

// Close unmaps the ring; it may be called again. Frames that the kernel took
// are still sent.
func (r *TxRing) Close() error {
	if r.mem == nil {
		return nil
	}
	mem := r.mem
	r.mem, r.slots = nil, nil
	return os.NewSyscallError("munmap", unix.Munmap(mem))
}
