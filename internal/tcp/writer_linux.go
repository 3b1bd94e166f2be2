package tcp

import (
	"fmt"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"linerate/internal/probe"
)

// keepUnsent has the kernel take no more than a block ahead of what it can send
// (TCP_NOTSENT_LOWAT of tcp(7)). With a buffer full of that, acknowledgements alone
// drive the sender, on the processor that works on them, while the writer's is idle. On
// a long path the buffer itself is what is short: there it is filled.
func keepUnsent(conn *net.TCPConn) error {
	if !isShort(conn) {
		return nil
	}
	return onSocket(conn, func(fd uintptr) error {
		return os.NewSyscallError("set TCP_NOTSENT_LOWAT",
			unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, DefaultLen))
	})
}

// A fileWriter has the kernel send the pages of a file in memory, which it need
// not copy (sendfile(2), memfd_create(2)).
type fileWriter struct {
	raw    syscall.RawConn
	file   int // a descriptor
	offset int64
	left   int   // bytes of this write
	err    error // of the last call
	send   func(fd uintptr) bool
}

func newFileWriter(conn *net.TCPConn, b []byte) (writer, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	file, err := unix.MemfdCreate("linerate-tcp", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("zero copy: %w", os.NewSyscallError("memfd_create", err))
	}
	w := &fileWriter{raw: raw, file: file}
	w.send = w.sendfile // bound once: each binding allocates
	if n, err := unix.Write(file, b); err != nil || n < len(b) {
		w.close()
		return nil, fmt.Errorf("zero copy: wrote %d of %d bytes to memory: %w", n, len(b), err)
	}
	return w, nil
}

func (w *fileWriter) write(n int) (int, error) {
	w.left, w.err = n, nil
	if err := w.raw.Write(w.send); err != nil {
		return n - w.left, err
	}
	return n - w.left, w.err
}

// sendfile sends what is left of a write and says whether it need not wait.
func (w *fileWriter) sendfile(fd uintptr) bool {
	for w.left > 0 {
		from := w.offset
		n, err := unix.Sendfile(int(fd), w.file, &from, w.left)
		switch err {
		case nil:
			w.left -= n
			w.offset = (w.offset + int64(n)) % probe.PatternLen
		case unix.EINTR:
		case unix.EAGAIN:
			return false
		default:
			w.err = os.NewSyscallError("sendfile", err)
			return true
		}
	}
	return true
}

func (w *fileWriter) close() error { return unix.Close(w.file) }
