package linux

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

const (
	// xskChunk is the longest chunk of ordinary memory: a page, as the kernel
	// has it everywhere that matters.
	xskChunk    = 4096
	xskMinChunk = 2048
	// xskKick is how many descriptors the kernel takes in one call
	// (TX_BATCH_SIZE of net/xdp/xsk.c). No more are shown to it at once, so that
	// no call ends in the middle of a frame, and little has to be taken back.
	xskKick = 32
	// xskWithdrawn is an address in no memory, of a descriptor that the kernel is
	// to pass over.
	xskWithdrawn = ^uint64(0)
)

// An XSKSender sends frames from an AF_XDP socket. A frame lies in a slot of one
// or several consecutive chunks. One goroutine owns it.
//
// In copy mode the kernel reads the TX ring during the system call only, hands
// each frame to the driver past any queueing discipline, and stops at the first
// that was not taken. So the account is exact: a frame was taken, or dropped by
// the driver (which frees it and is told by EBUSY), or not looked at. The last
// are withdrawn by making their descriptors invalid, as the kernel may have read
// the producer index already and can't be asked to forget it.
//
// With zero copy the driver takes frames when it likes; what was put into the
// ring was taken.
type XSKSender struct {
	*xsk
	tx       descRing
	head     uint32 // producer index of tx
	tail     uint32 // consumer index of completion
	chunk    int
	slot     int     // bytes
	slots    int     // in all
	free     []int32 // slots, those last in use at the end: they are in the cache
	lengths  []int32 // of the frames to send
	pieces   []int32 // by slot: chunks that the kernel holds
	maxFrame int
}

// NewXSKSender opens a socket with at least n slots for frames of up to size
// bytes, FCS not counted.
func NewXSKSender(q XSKQueue, n, size int) (*XSKSender, error) {
	s := &XSKSender{chunk: xskChunk, maxFrame: size}
	if size <= xskMinChunk {
		s.chunk = xskMinChunk
	}
	per := (size + s.chunk - 1) / s.chunk
	s.slot = per * s.chunk
	chunks := powerOfTwo(n * per)
	s.slots = chunks / per
	var err error
	if s.xsk, err = newXSK(chunks, s.chunk); err != nil {
		return nil, err
	}
	if err := s.start(q, chunks, per > 1); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.free = make([]int32, s.slots)
	for i := range s.free {
		s.free[i] = int32(i)
	}
	s.lengths = make([]int32, s.slots)
	s.pieces = make([]int32, s.slots)
	return s, nil
}

func (s *XSKSender) start(q XSKQueue, chunks int, several bool) error {
	if err := s.size(unix.XDP_TX_RING, chunks); err != nil {
		return err
	}
	o, err := s.offsets()
	if err != nil {
		return err
	}
	if err := s.mapShared(&o, chunks); err != nil {
		return err
	}
	if s.tx, err = newDescRing(s.fd, unix.XDP_PGOFF_TX_RING, &o.Tx, chunks); err != nil {
		return err
	}
	return s.bind(q, several)
}

// Len is the number of slots.
func (s *XSKSender) Len() int { return s.slots }

// Each calls f with the memory of every slot. No frame may be under way.
func (s *XSKSender) Each(f func(slot []byte)) {
	for i := range s.slots {
		f(s.memory(int32(i)))
	}
}

func (s *XSKSender) memory(slot int32) []byte {
	return s.umem[int(slot)*s.slot:][:s.maxFrame:s.maxFrame]
}

// Room returns how many slots are free, up to want.
func (s *XSKSender) Room(want int) int {
	s.reap()
	return min(want, len(s.free))
}

// reap takes back the slots whose frames have left, or were dropped. A kernel may
// also return withdrawn descriptors: they would fill the ring up if left there.
func (s *XSKSender) reap() {
	end := s.completion.producer.Load()
	for ; s.tail != end; s.tail++ {
		addr := *s.completion.at(s.tail)
		if addr == xskWithdrawn {
			continue
		}
		slot := addr / uint64(s.slot)
		if s.pieces[slot]--; s.pieces[slot] == 0 {
			s.free = append(s.free, int32(slot))
		}
	}
	s.completion.consumer.Store(end)
}

// next is the slot of the k-th frame to send.
func (s *XSKSender) next(k int) int32 { return s.free[len(s.free)-1-k] }

// Slot returns the memory of the k-th frame to send, for which Room must have
// found a place. What was written there stays.
func (s *XSKSender) Slot(k int) []byte { return s.memory(s.next(k)) }

// SetLen makes the k-th frame the first n bytes of its slot.
func (s *XSKSender) SetLen(k, n int) {
	if uint(n-1) >= uint(s.maxFrame) {
		panic(fmt.Sprintf("AF_XDP: frame of %d bytes in a slot of %d", n, s.maxFrame))
	}
	s.lengths[k] = int32(n)
}

// Send hands the next n frames to the kernel and returns how many it took for
// good; the others have to be written again. The error, a bare unix.Errno, says
// why the kernel stopped: EBUSY if the driver dropped the next frame for want of
// room, EAGAIN for a full send buffer or a stopped queue.
func (s *XSKSender) Send(n int) (int, error) {
	if s.zeroCopy {
		return s.enqueue(n)
	}
	errno := s.settle()
	taken, gone := 0, 0
	for taken < n && errno == 0 {
		var k int
		k, errno = s.offer(taken, n-taken)
		taken += k
		gone = taken
		if errno == unix.EBUSY {
			gone++ // its memory comes back by the completion ring like that of others
		}
	}
	s.free = s.free[:len(s.free)-gone]
	if errno != 0 {
		return taken, errno
	}
	return taken, nil
}

// offer shows the kernel frames from the k-th on, n or as many as one call
// takes, and returns how many were taken.
func (s *XSKSender) offer(k, n int) (taken int, errno unix.Errno) {
	begin, shown := s.head, 0
	for shown < n && (shown == 0 || int(s.head-begin)+s.span(k+shown) <= xskKick) {
		s.put(k + shown)
		shown++
	}
	s.tx.producer.Store(s.head)
	errno = s.kick()

	passed, at := s.tx.consumer.Load()-begin, uint32(0) // from begin
	for taken < shown && passed >= at+uint32(s.span(k+taken)) {
		at += uint32(s.span(k + taken))
		taken++
	}
	switch {
	case errno == 0 && taken == shown:
		return taken, 0
	case errno == 0: // the queue is gone: the driver has fewer now
		errno = unix.EAGAIN
	case errno == unix.EBUSY && taken > 0:
		taken-- // the dropped one
	case errno == unix.EBUSY: // the kernel publishes its index only if any was sent
		at = uint32(s.span(k))
	}
	for i := begin + at; i != s.head; i++ {
		*s.tx.at(i) = unix.XDPDesc{Addr: xskWithdrawn}
	}
	s.settle()
	return taken, errno
}

// span is how many chunks the k-th frame takes.
func (s *XSKSender) span(k int) int { return (int(s.lengths[k]) + s.chunk - 1) / s.chunk }

// put writes the descriptors of the k-th frame.
func (s *XSKSender) put(k int) {
	slot, left := s.next(k), int(s.lengths[k])
	s.pieces[slot] = int32(s.span(k))
	for addr := uint64(slot) * uint64(s.slot); left > 0; addr += uint64(s.chunk) {
		d := unix.XDPDesc{Addr: addr, Len: uint32(min(left, s.chunk))}
		if left -= s.chunk; left > 0 {
			d.Options = unix.XDP_PKT_CONTD
		}
		*s.tx.at(s.head) = d
		s.head++
	}
}

// settle lets the kernel pass over what was withdrawn, of which it takes one a
// call, and publish how far it came. An error leaves that to the next time.
func (s *XSKSender) settle() unix.Errno {
	for range xskKick + 2 {
		if s.tx.consumer.Load() == s.head {
			return 0
		}
		if errno := s.kick(); errno != 0 {
			return errno
		}
	}
	return unix.EAGAIN
}

// enqueue puts n frames into the ring for the driver.
func (s *XSKSender) enqueue(n int) (int, error) {
	for k := range n {
		s.put(k)
	}
	s.free = s.free[:len(s.free)-n]
	s.tx.producer.Store(s.head)
	return n, s.wake()
}

// wake tells the driver to look at the ring, where it has to be told. That it is
// at work already is no error.
func (s *XSKSender) wake() error {
	if !s.tx.needsWakeup() {
		return nil
	}
	switch errno := s.kick(); errno {
	case 0, unix.EAGAIN, unix.EBUSY, unix.ENOBUFS:
		return nil
	default:
		return errno
	}
}

// Pending counts the frames that were taken and whose memory the kernel has not
// given back yet: they wait in a queue of the device.
func (s *XSKSender) Pending() int {
	s.reap()
	pending := s.slots - len(s.free)
	if pending > 0 && s.zeroCopy {
		s.wake() // its error shows at the next Send
	}
	return pending
}

// Close takes down the socket and its memory; it may be called again. Frames
// that were taken in copy mode are still sent.
func (s *XSKSender) Close() error { return errors.Join(s.tx.unmap(), s.xsk.close()) }
