package tcp

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// set sets the options on a socket, best before it connects or listens.
func (o *Options) set(socket uintptr) error {
	fd := int(socket)
	for _, s := range []struct {
		asked bool
		flag  string
		set   func(*Options, int) error
	}{
		{o.Device != "", "--iface " + o.Device, setDevice},
		{o.Window != 0, fmt.Sprintf("--window %d", o.Window), setWindow},
		{o.MSS != 0, fmt.Sprintf("--mss %d", o.MSS), setMSS},
		{o.Congestion != "", "--congestion " + o.Congestion, setCongestion},
		{o.TOS != 0, fmt.Sprintf("--dscp %d", o.TOS>>2), setTOS},
		{o.TTL != 0, fmt.Sprintf("--ttl %d", o.TTL), setTTL},
		{o.Pace != 0, fmt.Sprintf("--pace %d bytes/s", o.Pace), setPace},
		{o.UserTimeout != 0, fmt.Sprintf("user timeout %v", o.UserTimeout), setUserTimeout},
	} {
		if !s.asked {
			continue
		}
		if err := s.set(o, fd); err != nil {
			return fmt.Errorf("%s: %w", s.flag, err)
		}
	}
	return nil
}

// later has nothing left to do: Linux takes every option before the handshake.
func (*Options) later(*net.TCPConn) error { return nil }

func setDevice(o *Options, fd int) error {
	err := unix.BindToDevice(fd, o.Device)
	switch {
	case errors.Is(err, unix.ENODEV):
		return errors.New("no such interface")
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("set SO_BINDTODEVICE: %w (needs CAP_NET_RAW)", err)
	}
	return os.NewSyscallError("set SO_BINDTODEVICE", err)
}

func setWindow(o *Options, fd int) error {
	for _, buffer := range []struct {
		name        string
		force, tame int
	}{
		{"SO_SNDBUF", unix.SO_SNDBUFFORCE, unix.SO_SNDBUF},
		{"SO_RCVBUF", unix.SO_RCVBUFFORCE, unix.SO_RCVBUF},
	} {
		// Only a privileged process may exceed the system's limit.
		if unix.SetsockoptInt(fd, unix.SOL_SOCKET, buffer.force, o.Window) == nil {
			continue
		}
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, buffer.tame, o.Window); err != nil {
			return fmt.Errorf("set %s: %w", buffer.name, err)
		}
	}
	return nil
}

func setMSS(o *Options, fd int) error {
	err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_MAXSEG, o.MSS)
	if errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("out of the kernel's range, %d to %d bytes", minMSS, maxMSS)
	}
	return os.NewSyscallError("set TCP_MAXSEG", err)
}

// TCP_MIN_MSS and MAX_TCP_WINDOW of the kernel's net/tcp.h.
const minMSS, maxMSS = 88, 32767

// available lists the congestion controls that the kernel can use now.
const available = "/proc/sys/net/ipv4/tcp_available_congestion_control"

// noCongestion is a congestion control that the kernel has not, and those that it
// has, as far as known.
type noCongestion struct{ has []string }

func (e noCongestion) Error() string {
	const what = "the kernel has no such congestion control"
	if e.has == nil {
		return what
	}
	return what + ", but " + strings.Join(e.has, ", ")
}

func (e noCongestion) Is(target error) bool { return target == errors.ErrUnsupported }

func setCongestion(o *Options, fd int) error {
	err := unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, o.Congestion)
	switch {
	case errors.Is(err, unix.ENOENT):
		names, err := os.ReadFile(available)
		if err != nil {
			return noCongestion{}
		}
		return noCongestion{strings.Fields(string(names))}
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("set TCP_CONGESTION: %w (needs CAP_NET_ADMIN, or its name in net.ipv4.tcp_allowed_congestion_control)", err)
	}
	return os.NewSyscallError("set TCP_CONGESTION", err)
}

func setTOS(o *Options, fd int) error {
	return setBoth(fd, unix.IP_TOS, "IP_TOS", unix.IPV6_TCLASS, "IPV6_TCLASS", int(o.TOS))
}

func setTTL(o *Options, fd int) error {
	return setBoth(fd, unix.IP_TTL, "IP_TTL", unix.IPV6_UNICAST_HOPS, "IPV6_UNICAST_HOPS", o.TTL)
}

// setBoth sets an option of IPv4, and on a socket of IPv6, which may carry
// either, that of IPv6 too.
func setBoth(fd, four int, name4 string, six int, name6 string, value int) error {
	domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil {
		return os.NewSyscallError("get SO_DOMAIN", err)
	}
	if domain == unix.AF_INET6 {
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, six, value); err != nil {
			return os.NewSyscallError("set "+name6, err)
		}
	}
	return os.NewSyscallError("set "+name4, unix.SetsockoptInt(fd, unix.IPPROTO_IP, four, value))
}

func setPace(o *Options, fd int) error {
	return os.NewSyscallError("set SO_MAX_PACING_RATE",
		unix.SetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE, o.Pace))
}

func setUserTimeout(o *Options, fd int) error {
	ms := int((o.UserTimeout + time.Millisecond - 1) / time.Millisecond)
	return os.NewSyscallError("set TCP_USER_TIMEOUT",
		unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, ms))
}
