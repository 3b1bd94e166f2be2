//go:build !linux && !windows

package tcp

// handle is how package syscall calls a socket here.
type handle = int
