package host

import "golang.org/x/sys/unix"

// Kernel names the running kernel, such as "Linux 6.12.3"; empty if unknown.
func Kernel() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])
}
