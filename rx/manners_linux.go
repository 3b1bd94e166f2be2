package rx

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"

	"linerate/internal/linux"
)

// manners are UDP sockets on our ports that drop everything, so that the kernel does
// not answer the sender with ICMP port unreachable.
type manners []int

// openManners opens one on each port. Where a port is taken, its socket serves as
// well. They also join a multicast group. Sockets that the caller has drop
// everything, too.
func openManners(c *Config) (manners, error) {
	for _, conn := range c.Sockets {
		if err := silence(conn); err != nil {
			return nil, err
		}
	}
	var m manners
	for i := range c.ports() {
		if err := m.add(c.at(i)); err != nil {
			return nil, errors.Join(err, m.close())
		}
	}
	return m, nil
}

func (m *manners) add(c *Config) error {
	s, err := newUDPSocket(c)
	if err != nil {
		return err
	}
	*m = append(*m, s.fd)
	if err := attach(s.fd, dropAll); err != nil {
		return err
	}
	if err := s.bind(c); err != nil && !errors.Is(err, unix.EADDRINUSE) {
		return err
	}
	return nil
}

// close closes the sockets; it may be called again.
func (m *manners) close() error {
	var errs []error
	for _, fd := range *m {
		errs = append(errs, unix.Close(fd))
	}
	*m = nil
	return errors.Join(errs...)
}

// silence lets a socket of the caller's receive nothing more.
func silence(conn *net.UDPConn) error {
	fd, err := linux.Share(conn)
	if err != nil {
		return err
	}
	return errors.Join(attach(fd, dropAll), unix.Close(fd))
}
