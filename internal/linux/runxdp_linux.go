package linux

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// progRun is the part of union bpf_attr for BPF_PROG_TEST_RUN (<linux/bpf.h>).
type progRun struct {
	fd, retval       uint32
	sizeIn, sizeOut  uint32
	dataIn, dataOut  uint64
	repeat, duration uint32
	ctxIn, ctxOut    uint32
	ctxInP, ctxOutP  uint64
	flags, cpu       uint32
	batch, _         uint32
}

// An XDPRun is the argument of a run of an XDP program over live frames
// (BPF_F_TEST_XDP_LIVE_FRAMES, Linux 5.18): the kernel makes each frame a copy of
// a template and does with it what the program says. One goroutine owns it.
type XDPRun struct {
	attr progRun
	pin  runtime.Pinner
}

// NewXDPRun prepares runs of a program over copies of the beginning of frame,
// which is read at each run. batch frames are made before they are flushed.
func NewXDPRun(program int, frame []byte, batch int) *XDPRun {
	r := &XDPRun{attr: progRun{fd: uint32(program), flags: unix.BPF_F_TEST_XDP_LIVE_FRAMES, batch: uint32(batch)}}
	r.pin.Pin(&frame[0])
	r.attr.dataIn = uint64(uintptr(unsafe.Pointer(&frame[0])))
	return r
}

// Run makes n frames of the given length in bytes. A signal ends it between two
// batches with EINTR. The error is a bare unix.Errno: EINVAL also for a length
// that the kernel does not take.
//
// It holds on to the Go processor, as MMsg.Send does: 4096 frames take a
// millisecond, and the runtime's own preemption is such a signal.
func (r *XDPRun) Run(length, n int) error {
	r.prepare(length, n)
	_, _, errno := unix.RawSyscall(unix.SYS_BPF, unix.BPF_PROG_TEST_RUN, uintptr(unsafe.Pointer(&r.attr)), unsafe.Sizeof(r.attr))
	return r.result(errno)
}

// RunLong is Run for a program that waits: it lets go of the Go processor, so that
// the runtime does not preempt it.
func (r *XDPRun) RunLong(length, n int) error {
	r.prepare(length, n)
	_, _, errno := unix.Syscall(unix.SYS_BPF, unix.BPF_PROG_TEST_RUN, uintptr(unsafe.Pointer(&r.attr)), unsafe.Sizeof(r.attr))
	return r.result(errno)
}

func (r *XDPRun) prepare(length, n int) {
	// The kernel writes the length it saw to sizeOut, where it would limit the next.
	r.attr.sizeIn, r.attr.sizeOut, r.attr.repeat = uint32(length), 0, uint32(n)
}

func (r *XDPRun) result(errno unix.Errno) error {
	if errno != 0 {
		return errno
	}
	return nil
}

// Batch sets how many frames the runs from now on make before they are flushed.
func (r *XDPRun) Batch(n int) { r.attr.batch = uint32(n) }

// Close lets go of the frame.
func (r *XDPRun) Close() { r.pin.Unpin() }
