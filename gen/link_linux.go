package gen

import (
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/mdlayher/packet"
	"golang.org/x/sys/unix"

	"linerate/internal/linux"
)

// A link is an AF_PACKET socket that sends frames on one Ethernet interface and
// receives none.
type link struct {
	path  string
	iface string
	fd    int
	head  int // length of the virtio-net header before each frame: 0 for none
	mtu   *unix.Ifreq
}

// openLink opens and bounds such a socket for a path.
func openLink(path string, cfg *Config) (*link, error) {
	if cfg.IfIndex == 0 {
		return nil, fmt.Errorf("path %s: needs an egress interface: name one with --iface", path)
	}
	// Protocol 0 receives nothing. With any other, the sender would get a copy
	// of every frame it sends.
	conn, err := packet.Listen(&net.Interface{Index: cfg.IfIndex, Name: cfg.Interface}, packet.Raw, 0, nil)
	switch {
	case errors.Is(err, unix.EPERM):
		return nil, fmt.Errorf("path %s: %w: needs CAP_NET_RAW: sudo setcap cap_net_raw+ep %s", path, unix.EPERM, executable())
	case err != nil:
		return nil, fmt.Errorf("path %s: open on %s: %w", path, cfg.Interface, err)
	}
	fd, err := linux.Detach(conn)
	if err != nil {
		return nil, fmt.Errorf("path %s: %w", path, err)
	}
	l := &link{path: path, iface: cfg.Interface, fd: fd}
	if err := l.setUp(cfg); err != nil {
		return nil, errors.Join(fmt.Errorf("path %s: %w", path, err), l.close())
	}
	return l, nil
}

func executable() string {
	if path, err := os.Executable(); err == nil {
		return path
	}
	return os.Args[0]
}

func (l *link) setUp(cfg *Config) error {
	if err := l.checkEthernet(); err != nil {
		return err
	}
	if cfg.Batch > 1 && !cfg.NoGSO {
		if err := l.describeFrames(); err != nil {
			return err
		}
	} else if cfg.Bypass {
		if err := unix.SetsockoptInt(l.fd, unix.SOL_PACKET, unix.PACKET_QDISC_BYPASS, 1); err != nil {
			return fmt.Errorf("set PACKET_QDISC_BYPASS: %w", err)
		}
	}
	return setSendBuffer(l.fd, cfg.Window)
}

// describeFrames puts a virtio-net header before each frame, which lets the kernel
// take super-frames. It has to be called before the socket gets a ring.
func (l *link) describeFrames() (err error) {
	if err := unix.SetsockoptInt(l.fd, unix.SOL_PACKET, unix.PACKET_VNET_HDR, 1); err != nil {
		return fmt.Errorf("set PACKET_VNET_HDR: %w (--no-gso does without)", err)
	}
	l.head = linux.VirtioLen
	l.mtu, err = unix.NewIfreq(l.iface)
	return err
}

// fits says whether an IP packet of so many bytes fits the MTU. The kernel does
// not check that of a super-frame's packets, nor of any packet of a ring with
// virtio-net headers.
func (l *link) fits(packet int) bool {
	// An interface that is gone makes the packet fail, too, and with its reason.
	err := unix.IoctlIfreq(l.fd, unix.SIOCGIFMTU, l.mtu)
	return err != nil || packet <= int(l.mtu.Uint32())
}

// checkEthernet refuses interfaces that take no Ethernet frames: tunnels, and
// the loopback, which takes them and drops them above.
func (l *link) checkEthernet() error {
	addr, err := unix.Getsockname(l.fd)
	if err != nil {
		return fmt.Errorf("getsockname: %w", err)
	}
	if ll, ok := addr.(*unix.SockaddrLinklayer); !ok || ll.Hatype != unix.ARPHRD_ETHER {
		return fmt.Errorf("%s carries no Ethernet frames; use --path udp", l.iface)
	}
	return nil
}

// Window tells the send buffer.
func (l *link) Window() (int, error) { return sendBuffer(l.fd) }

func (l *link) sendError(size int, err error) error {
	return sendError(l.path, l.iface, "frame", size, err)
}

// mark sends one frame, an end marker.
func (l *link) mark(f []byte) error {
	if err := write(l.fd, append(make([]byte, l.head), f...)); err != nil {
		return l.sendError(len(f), err)
	}
	return nil
}

// close closes the socket; it may be called again.
func (l *link) close() error {
	if l.fd < 0 {
		return nil
	}
	fd := l.fd
	l.fd = -1
	return unix.Close(fd)
}
