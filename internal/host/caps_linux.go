package host

import (
	"fmt"
	"os"
	"runtime"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// EffectiveCaps are the capabilities of the calling thread.
func EffectiveCaps() (Caps, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return 0, fmt.Errorf("read capabilities: %w", err)
	}
	thread, err := fs.Thread(os.Getpid(), unix.Gettid())
	if err != nil {
		return 0, fmt.Errorf("read capabilities: %w", err)
	}
	status, err := thread.NewStatus()
	if err != nil {
		return 0, fmt.Errorf("read capabilities: %w", err)
	}
	return Caps(status.CapEff), nil
}
