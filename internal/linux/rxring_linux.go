package linux

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A frame of a TPACKET_V3 ring begins with struct tpacket3_hdr, and a block with
// struct tpacket_block_desc, of which struct tpacket_hdr_v1 is the part in use.
var (
	_ [48]byte = [unsafe.Sizeof(unix.Tpacket3Hdr{})]byte{}
	_ [48]byte = [unsafe.Sizeof(unix.TpacketBlockDesc{})]byte{}
	_ [8]byte  = [unsafe.Offsetof(unix.TpacketBlockDesc{}.Hdr)]byte{}
	_ [40]byte = [unsafe.Sizeof(unix.TpacketHdrV1{})]byte{}
)

// An RxRing is the receive ring of a packet socket, TPACKET_V3 of packet(7) and
// Documentation/networking/packet_mmap.rst: blocks that the kernel fills with
// frames of any length, one block after the other.
//
//	block  [desc | tpacket3_hdr, virtio_net_hdr, frame | tpacket3_hdr, ... ]
//
// The status word of a block says who may touch it. The kernel sets it to
// TP_STATUS_USER when the block is full or its time is out; we set it back to
// TP_STATUS_KERNEL. Everything else in there is written by the kernel alone. One
// goroutine owns the ring.
type RxRing struct {
	mem    []byte
	blocks []rxBlock
	next   int    // the block that is handed over next, or is being read
	left   uint32 // frames not yet read of that block
	offset uint32 // of the next of them in the block
}

type rxBlock struct {
	bytes  []byte
	header *unix.TpacketHdrV1
	status *atomic.Uint32 // in header
}

// NewRxRing gives the packet socket a ring of the given number of blocks. A
// block has a power of two pages and must hold the longest frame that is to be
// captured. A block that is not full is handed over when it is as old as retire,
// which counts in whole milliseconds. Bind the socket to a protocol afterwards,
// so that no frame comes before.
func NewRxRing(fd, blockSize, blocks int, retire time.Duration) (*RxRing, error) {
	if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_VERSION, unix.TPACKET_V3); err != nil {
		return nil, fmt.Errorf("setsockopt PACKET_VERSION TPACKET_V3: %w", err)
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_VNET_HDR, 1); err != nil {
		return nil, fmt.Errorf("setsockopt PACKET_VNET_HDR: %w", err)
	}
	// The kernel only checks that frame size and number fit the blocks: TPACKET_V3
	// packs frames as they come.
	req := unix.TpacketReq3{
		Block_size:     uint32(blockSize),
		Block_nr:       uint32(blocks),
		Frame_size:     uint32(blockSize),
		Frame_nr:       uint32(blocks),
		Retire_blk_tov: uint32(retire.Milliseconds()),
	}
	if err := unix.SetsockoptTpacketReq3(fd, unix.SOL_PACKET, unix.PACKET_RX_RING, &req); err != nil {
		return nil, fmt.Errorf("setsockopt PACKET_RX_RING of %d blocks of %d bytes: %w", blocks, blockSize, err)
	}
	mem, err := unix.Mmap(fd, 0, blockSize*blocks, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return nil, fmt.Errorf("receive ring: %w", os.NewSyscallError("mmap", err))
	}
	r := &RxRing{mem: mem, blocks: make([]rxBlock, blocks)}
	for i := range r.blocks {
		bytes := mem[i*blockSize:][:blockSize:blockSize]
		desc := (*unix.TpacketBlockDesc)(unsafe.Pointer(&bytes[0]))
		header := (*unix.TpacketHdrV1)(unsafe.Pointer(&desc.Hdr))
		r.blocks[i] = rxBlock{bytes, header, (*atomic.Uint32)(unsafe.Pointer(&header.Block_status))}
	}
	return r, nil
}

// Acquire takes the next block if the kernel has handed it over. Its frames are
// then read with Next and the block is given back with Release.
func (r *RxRing) Acquire() bool {
	b := &r.blocks[r.next]
	if b.status.Load()&unix.TP_STATUS_USER == 0 {
		return false
	}
	r.left, r.offset = b.header.Num_pkts, b.header.Offset_to_first_pkt
	return true
}

// Next returns the next frame of the acquired block, and false after the last.
// The frame stays valid until Release.
func (r *RxRing) Next() (Arrival, bool) {
	if r.left == 0 {
		return Arrival{}, false
	}
	frame := r.blocks[r.next].bytes[r.offset:]
	h := (*unix.Tpacket3Hdr)(unsafe.Pointer(&frame[0]))
	r.left--
	r.offset += h.Next_offset
	return Arrival{
		Data:    frame[h.Mac:][:h.Snaplen],
		Len:     int(h.Len),
		Wall:    int64(h.Sec)*1e9 + int64(h.Nsec),
		Status:  h.Status,
		TCI:     uint16(h.Hv1.Vlan_tci),
		Segment: segment(frame[int(h.Mac)-VirtioLen:]),
	}, true
}

// Release gives the acquired block back to the kernel.
func (r *RxRing) Release() {
	r.blocks[r.next].status.Store(unix.TP_STATUS_KERNEL)
	r.left = 0
	if r.next++; r.next == len(r.blocks) {
		r.next = 0
	}
}

// Close takes the ring out of this process; it may be called again. The kernel's
// side goes with the socket.
func (r *RxRing) Close() error {
	if r.mem == nil {
		return nil
	}
	mem := r.mem
	r.mem, r.blocks = nil, nil
	return os.NewSyscallError("munmap", unix.Munmap(mem))
}
