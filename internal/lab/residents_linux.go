package lab

import (
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// killResidents ends every process that lives in the host: what a command left
// behind would keep the host, and go on unseen.
func (h *Host) killResidents() error {
	var own unix.Stat_t
	if err := unix.Fstat(int(h.ns), &own); err != nil {
		return err
	}
	entries, err := filepath.Glob("/proc/[0-9]*/ns/net")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		var st unix.Stat_t
		if unix.Stat(entry, &st) != nil || st.Dev != own.Dev || st.Ino != own.Ino {
			continue // gone meanwhile, or elsewhere
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(entry))))
		if err == nil && pid != os.Getpid() {
			_ = unix.Kill(pid, unix.SIGKILL) // it may have ended just now
		}
	}
	return nil
}
