package echo

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"linerate/internal/linux"
)

// stamp asks the kernel to stamp what the socket receives; before Linux 5.1 the
// time of reading serves.
func (r *reader) stamp() error {
	raw, err := r.conn.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS_NEW, 1)
	})
	if err == nil && failed != nil && !errors.Is(failed, unix.ENOPROTOOPT) {
		err = fmt.Errorf("setsockopt SO_TIMESTAMPNS: %w", failed)
	}
	return err
}

// read waits for the next datagram.
func (r *reader) read() (arrival, error) {
	n, controls, _, from, err := r.conn.ReadMsgUDPAddrPort(r.buffer, r.control[:])
	if err != nil {
		return arrival{}, err
	}
	a := arrival{payload: r.buffer[:n], from: from, at: linux.Monotonic()}
	h, data, _, err := unix.ParseOneSocketControlMessage(r.control[:controls])
	if err == nil && h.Level == unix.SOL_SOCKET && h.Type == unix.SO_TIMESTAMPNS_NEW && len(data) >= 16 {
		wall := int64(binary.NativeEndian.Uint64(data))*1e9 + int64(binary.NativeEndian.Uint64(data[8:]))
		a.at = wall - linux.WallOffset()
	}
	return a, nil
}
