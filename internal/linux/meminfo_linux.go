package linux

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// SocketDrops returns how many messages the kernel has dropped at the socket
// since it was made, modulo 2^32: for want of receive buffer, by its filter, and
// for a wrong checksum. It is SK_MEMINFO_DROPS of SO_MEMINFO, since Linux 4.12.
func SocketDrops(fd int) (uint32, error) {
	var info [unix.SK_MEMINFO_VARS]uint32
	size := uint32(unsafe.Sizeof(info))
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_MEMINFO,
		uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 {
		return 0, fmt.Errorf("getsockopt SO_MEMINFO: %w", errno)
	}
	return info[unix.SK_MEMINFO_DROPS], nil
}
