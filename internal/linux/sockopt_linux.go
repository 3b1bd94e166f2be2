package linux

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Getsockopt reads a socket option into b, which is not empty, and returns how
// many bytes of it the kernel filled: an old kernel knows less of a structure than
// a new one. The error is a bare unix.Errno.
func Getsockopt(fd, level, name int, b []byte) (int, error) {
	size := uint32(len(b))
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), uintptr(level), uintptr(name),
		uintptr(unsafe.Pointer(&b[0])), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 {
		return 0, errno
	}
	return int(size), nil
}
