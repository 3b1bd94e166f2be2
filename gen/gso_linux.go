package gen

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// probeGSO asks for segments of some size, which the kernel checks only when it
// sends.
func probeGSO(*Config) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("path gso: socket: %w", err)
	}
	defer unix.Close(fd)
	const size = 1000
	err = unix.SetsockoptInt(fd, unix.SOL_UDP, unix.UDP_SEGMENT, size)
	if errors.Is(err, unix.ENOPROTOOPT) {
		return fmt.Errorf("path gso: this kernel has no UDP_SEGMENT (Linux 4.18): use --path udp")
	}
	if err != nil {
		return fmt.Errorf("path gso: set UDP_SEGMENT: %w", err)
	}
	return nil
}

// openGSO opens path udp with several datagrams a message: the kernel makes the
// headers of one and cuts it up last, or leaves that to the device. All of them
// have a probe header of their own. A message that is refused leaves nothing.
//
// The copy of the payload is not spared (MSG_ZEROCOPY): that gained nothing at 64,
// 1518 and 9018 bytes, and would need a completion for each message.
func openGSO(cfg *Config) (Sender, error) {
	return newUDPSender("gso", cfg, newSegments(cfg.Batch > 1 && !cfg.NoGSO))
}
