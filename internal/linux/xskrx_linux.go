package linux

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An XSKReceiver receives the frames that an XDP program redirects to an AF_XDP
// socket. One goroutine owns it.
//
// Every chunk is in the fill ring, but for those with frames that were not read
// yet. The kernel leaves XDP_PACKET_HEADROOM bytes free in front of a frame; one
// that is too long for the rest goes on in other chunks.
type XSKReceiver struct {
	*xsk
	rx      descRing
	chunk   int
	capture int
	joined  []byte // a frame of several chunks
	filled  uint32 // producer index of fill
	read    uint32 // consumer index of rx
	end     uint32 // of the acquired batch
	ready   uint32 // the kernel's producer index of rx
}

// xskBatch is how many chunks are read before they are given back: enough to
// share the cost of the cache lines that pass between the processors.
const xskBatch = 64

// NewXSKReceiver opens a socket with memory of so many bytes, or the power of two
// below, for frames of up to size bytes. Of each at least the first capture bytes
// are told.
func NewXSKReceiver(q XSKQueue, memory, size, capture int) (*XSKReceiver, error) {
	r := &XSKReceiver{chunk: xskChunk, capture: capture}
	if size <= xskMinChunk-unix.XDP_PACKET_HEADROOM {
		r.chunk = xskMinChunk
	}
	chunks := max(powerOfTwo(memory/r.chunk+1)/2, xskBatch)
	r.joined = make([]byte, 0, max(size, capture)+r.chunk)
	var err error
	if r.xsk, err = newXSK(chunks, r.chunk); err != nil {
		return nil, err
	}
	if err := r.start(q, chunks, size); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (r *XSKReceiver) start(q XSKQueue, chunks, size int) error {
	if err := r.size(unix.XDP_RX_RING, chunks); err != nil {
		return err
	}
	o, err := r.offsets()
	if err != nil {
		return err
	}
	if err := r.mapShared(&o, chunks); err != nil {
		return err
	}
	if r.rx, err = newDescRing(r.fd, unix.XDP_PGOFF_RX_RING, &o.Rx, chunks); err != nil {
		return err
	}
	for i := range chunks {
		r.give(uint64(i * r.chunk))
	}
	r.fill.producer.Store(r.filled)
	return r.bind(q, size > r.chunk-unix.XDP_PACKET_HEADROOM)
}

// give puts a chunk into the fill ring, which has room for all.
func (r *XSKReceiver) give(addr uint64) {
	*r.fill.at(r.filled) = addr &^ uint64(r.chunk-1)
	r.filled++
}

// Acquire takes the frames that have come, up to a batch. They are read with
// Next, and given back with Release. It is false if there are none.
func (r *XSKReceiver) Acquire() bool {
	r.ready = r.rx.producer.Load()
	r.end = r.read + min(r.ready-r.read, xskBatch)
	return r.end != r.read
}

// Next returns the next frame of the batch, and false after the last. The frame
// stays valid until the call after.
func (r *XSKReceiver) Next() (Arrival, bool) {
	if int32(r.end-r.read) <= 0 { // a last frame may have gone beyond the batch
		return Arrival{}, false
	}
	d := r.take()
	data, mono := r.data(d), r.stamp(d)
	if d.Options&unix.XDP_PKT_CONTD == 0 {
		return Arrival{Data: data, Len: len(data), Mono: mono}, true
	}
	joined, length := r.joined[:0], len(data)
	if len(data) < r.capture {
		joined = append(joined, data...)
	}
	for d.Options&unix.XDP_PKT_CONTD != 0 && r.read != r.ready {
		d = r.take()
		more := r.data(d)
		length += len(more)
		if len(joined) > 0 && len(joined) < r.capture {
			joined = append(joined, more[:min(len(more), cap(joined)-len(joined))]...)
		}
	}
	if len(joined) > 0 {
		data = joined
	}
	return Arrival{Data: data, Len: length, Mono: mono}, true
}

// stamp takes the eight bytes that the XDP program may have left in front of a
// frame, and clears them so as to see if the next one leaves none.
func (r *XSKReceiver) stamp(d unix.XDPDesc) int64 {
	const size = 8
	if d.Addr&uint64(r.chunk-1) < size {
		return 0
	}
	b := r.umem[d.Addr-size:][:size]
	mono := int64(binary.NativeEndian.Uint64(b))
	clear(b)
	return mono
}

// take reads a descriptor, and lays its chunk out for return.
func (r *XSKReceiver) take() unix.XDPDesc {
	d := *r.rx.at(r.read)
	r.read++
	r.give(d.Addr)
	return d
}

func (r *XSKReceiver) data(d unix.XDPDesc) []byte {
	return r.umem[d.Addr:][:d.Len:d.Len]
}

// Release gives the chunks of the frames that were read back to the kernel.
func (r *XSKReceiver) Release() {
	r.rx.consumer.Store(r.read)
	r.fill.producer.Store(r.filled)
	if r.fill.needsWakeup() { // a driver with zero copy that ran out of chunks
		unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(r.fd), 0, 0, unix.MSG_DONTWAIT, 0, 0)
	}
}

// Dropped is how many frames found no free chunk, or the RX ring full. The
// kernel counts the first under rx_dropped; rx_fill_ring_empty_descs tells the
// same once more, by looks at the fill ring.
func (r *XSKReceiver) Dropped() (uint64, error) {
	var st unix.XDPStatistics
	if err := r.get(unix.XDP_STATISTICS, unsafe.Pointer(&st), unsafe.Sizeof(st)); err != nil {
		return 0, fmt.Errorf("getsockopt XDP_STATISTICS: %w", err)
	}
	return st.Rx_dropped + st.Rx_ring_full, nil
}

// Close takes down the socket and its memory; it may be called again.
func (r *XSKReceiver) Close() error { return errors.Join(r.rx.unmap(), r.xsk.close()) }
