package pmtu

import (
	"encoding/binary"
	"errors"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"linerate/internal/checksum"
)

// Of a fragment of IPv6 (RFC 8200, section 4.5): its header in bytes, and the bit of
// it that says that more follow.
const (
	fragmentHeader = 8
	moreFragments  = 1
)

// A cutter sends ICMPv6 messages in fragments that it makes itself: the kernel cuts
// up only what is too large for what it knows of a path, which a black hole never
// tells.
type cutter struct {
	fd     int
	pseudo []byte // header that the checksum covers and nobody sends (RFC 8200, section 8.1), without the length
}

// openCutter opens one from where a connected socket is to where it leads, by an
// interface if its name is not empty.
func openCutter(connected int, to *unix.SockaddrInet6, iface string) (*cutter, error) {
	source, err := unix.Getsockname(connected)
	if err != nil {
		return nil, os.NewSyscallError("getsockname", err)
	}
	from := source.(*unix.SockaddrInet6)
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_FRAGMENT)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	c := &cutter{fd, slices.Concat(from.Addr[:], to.Addr[:], []byte{0, 0, 0, unix.IPPROTO_ICMPV6})}
	if iface != "" {
		err = os.NewSyscallError("setsockopt BINDTODEVICE", unix.SetsockoptString(fd, unix.SOL_SOCKET, unix.SO_BINDTODEVICE, iface))
	}
	if err == nil {
		err = os.NewSyscallError("bind", unix.Bind(fd, from))
	}
	if err == nil {
		err = os.NewSyscallError("connect", unix.Connect(fd, to))
	}
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// send sends a message whose checksum is 0 yet, in IP packets of at most so many
// bytes. No other message under way may have the number.
func (c *cutter) send(m []byte, most int, number uint32) error {
	each := (most - header6 - fragmentHeader) &^ 7
	if each <= 0 {
		return unix.EMSGSIZE
	}
	length := binary.BigEndian.AppendUint32(nil, uint32(len(m)))
	binary.BigEndian.PutUint16(m[2:], ^checksum.Fold(checksum.Add(0, slices.Concat(c.pseudo, length, m))))
	for at := 0; at < len(m); at += each {
		end, more := min(at+each, len(m)), moreFragments
		if end == len(m) {
			more = 0
		}
		packet := binary.BigEndian.AppendUint16([]byte{unix.IPPROTO_ICMPV6, 0}, uint16(at|more))
		packet = binary.BigEndian.AppendUint32(packet, number)
		if err := unix.Send(c.fd, append(packet, m[at:end]...), 0); err != nil {
			return err
		}
	}
	return nil
}

func (c *cutter) close() error { return unix.Close(c.fd) }
