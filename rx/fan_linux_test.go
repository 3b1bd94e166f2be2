package rx

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"linerate/internal/linux"
)

// TestAFanFindsItsPortsFree holds that several threads share no port with another
// program that would have it so, be it the first of a row or not.
func TestAFanFindsItsPortsFree(t *testing.T) {
	p, err := Find("udp")
	must(t, err)
	newHost(t).do(t, func() error {
		for port := 5201; port <= 5203; port++ {
			fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
			must(t, err)
			must(t, unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1))
			must(t, unix.Bind(fd, &unix.SockaddrInet6{Port: port}))
			c := newStream(t).config("[::]:5201")
			c.Ports = 3
			if _, err := p.OpenFan(&c, 2, linux.Placement{}); !errors.Is(err, unix.EADDRINUSE) {
				t.Errorf("port %d is taken: %v, want EADDRINUSE", port, err)
			}
			must(t, unix.Close(fd))
		}
		return nil
	})
}
