//go:build !linux

package tcp

import (
	"errors"
	"fmt"
	"net"
	"runtime"
	"syscall"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
)

// set refuses what only Linux has, and sets the window, which is wanted before
// the handshake.
func (o *Options) set(socket uintptr) error {
	for flag, asked := range map[string]bool{
		"--iface": o.Device != "", "--mss": o.MSS != 0, "--congestion": o.Congestion != "",
		"--pace": o.Pace != 0, "user timeout": o.UserTimeout != 0,
	} {
		if asked {
			return fmt.Errorf("%s with TCP on %s: %w", flag, runtime.GOOS, errors.ErrUnsupported)
		}
	}
	if o.Window == 0 {
		return nil
	}
	for _, buffer := range []int{syscall.SO_SNDBUF, syscall.SO_RCVBUF} {
		if err := syscall.SetsockoptInt(handle(socket), syscall.SOL_SOCKET, buffer, o.Window); err != nil {
			return fmt.Errorf("--window %d: %w", o.Window, err)
		}
	}
	return nil
}

// later sets what can wait until the connection stands.
func (o *Options) later(conn *net.TCPConn) error {
	four := conn.LocalAddr().(*net.TCPAddr).IP.To4() != nil
	if o.TOS != 0 {
		set := ipv6.NewConn(conn).SetTrafficClass
		if four {
			set = ipv4.NewConn(conn).SetTOS
		}
		if err := set(int(o.TOS)); err != nil {
			return fmt.Errorf("--dscp %d: %w", o.TOS>>2, err)
		}
	}
	if o.TTL != 0 {
		set := ipv6.NewConn(conn).SetHopLimit
		if four {
			set = ipv4.NewConn(conn).SetTTL
		}
		if err := set(o.TTL); err != nil {
			return fmt.Errorf("--ttl %d: %w", o.TTL, err)
		}
	}
	return nil
}
