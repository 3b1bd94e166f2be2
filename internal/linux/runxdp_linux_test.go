package linux

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestXDPRunErrors hands on what the kernel says; gen tests what runs.
func TestXDPRunErrors(t *testing.T) {
	r := NewXDPRun(-1, make([]byte, 64), 16)
	defer r.Close()
	if err := r.Run(64, 1); err != unix.EBADF {
		t.Errorf("Run of no program = %v, want EBADF", err)
	}
}
