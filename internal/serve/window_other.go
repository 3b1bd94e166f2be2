//go:build !linux

package serve

import "syscall"

// receiveBuffer is not known here.
func receiveBuffer(syscall.Conn) int { return 0 }
