package rx

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"

	"github.com/mdlayher/packet"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"linerate/internal/linux"
	"linerate/rx/track"
)

const (
	// maxHeaders is the most that stands in a frame before its UDP payload.
	maxHeaders = ethernetLen + tagLen + ipv4MaxLen + udpLen
	// maxFrame is the most that a frame has, one of merged datagrams included.
	maxFrame = ethernetLen + tagLen + ipv6Len + 1<<16 - 1
)

// raw is what the paths over a packet socket have in common: the socket on one
// interface, what its frames are worth, and the state of the link.
type raw struct {
	path    string // its name, for messages
	iface   *net.Interface
	fd      int
	own     [1]int // fd, to wait for
	manners manners
	clock   stampClock
	verify  bool
	untold  bool // the kernel does not say which checksums are yet to be made
	frames  Frames
	merged  Merged
	drops   uint64
	program []bpf.RawInstruction // which frames come in
	group   *group
	down    bool // the link was, when the kernel last told
}

// newRaw opens a packet socket that receives nothing before listen.
func newRaw(path string, c *Config) (*raw, error) {
	iface, err := ethernet(c.Interface)
	if err != nil {
		return nil, fmt.Errorf("rx %s: %w", path, err)
	}
	r := &raw{path: path, iface: iface, fd: -1, verify: c.Verify, group: c.group}
	if err := r.open(c); err != nil {
		return nil, errors.Join(r.wrap(err), r.Close())
	}
	return r, nil
}

// ethernet finds the interface and refuses one whose frames don't begin with an
// Ethernet header.
func ethernet(name string) (*net.Interface, error) {
	if name == "" {
		return nil, errors.New("it needs an interface: give --iface, or use --rx udp")
	}
	iface, err := net.InterfaceByName(name)
	if err != nil {
		return nil, fmt.Errorf("interface %s: %w (ip link shows those that there are)", name, err)
	}
	if len(iface.HardwareAddr) != 6 {
		return nil, fmt.Errorf("%s carries no Ethernet frames; use --rx udp", name)
	}
	return iface, nil
}

// open opens the sockets. The packet socket stands without a protocol at first:
// then no frame comes before its filter and options are in place.
func (r *raw) open(c *Config) error {
	var err error
	if r.manners, err = openManners(c); err != nil {
		return err
	}
	if r.program, err = filter(c, r.head(c), r.iface.MTU+ethernetLen+tagLen); err != nil {
		return fmt.Errorf("assemble the socket filter: %w", err)
	}
	first := r.program
	if r.group != nil {
		first = dropAll
	}
	conn, err := packet.Listen(r.iface, packet.Raw, 0, &packet.Config{Filter: first})
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w (needs CAP_NET_RAW: sudo setcap cap_net_raw+ep %s, or --cap-add NET_RAW for a container; --rx udp works without)",
			err, executable())
	}
	if err != nil {
		return err
	}
	if r.fd, err = linux.Detach(conn); err != nil {
		return err
	}
	r.own[0] = r.fd
	if err := unix.SetsockoptInt(r.fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1); err != nil {
		return fmt.Errorf("setsockopt PACKET_IGNORE_OUTGOING: %w", err)
	}
	return nil
}

// head is how much to capture of a frame that is no longer than the interface
// lets packets be. Copying more than the tracker looks at costs time that jumbo
// frames make noticeable. But datagrams that GSO or GRO merged can only be taken
// apart if they are captured whole. They are longer than any packet as a rule, or
// short; where the sender is on the same machine, they have any length.
func (r *raw) head(c *Config) int {
	const short = 2048
	if driver, err := unix.IoctlGetEthtoolDrvinfo(r.manners[0], r.iface.Name); c.Verify || err != nil || driver.Bus_info[0] == 0 {
		return maxFrame // on no bus: a veth or the like
	}
	return max(maxHeaders+c.Capture, short)
}

// executable is what setcap has to be told.
func executable() string {
	path, err := os.Executable()
	if err != nil {
		return "linerate"
	}
	return path
}

// listen lets frames in. All protocols are asked for as one socket may listen on
// both IP versions, and as only then the tagged ones come that no VLAN interface
// takes.
func (r *raw) listen() error {
	err := unix.Bind(r.fd, &unix.SockaddrLinklayer{Protocol: networkOrder(unix.ETH_P_ALL), Ifindex: r.iface.Index})
	if err != nil {
		return fmt.Errorf("bind to %s: %w", r.iface.Name, err)
	}
	if r.group != nil {
		return r.group.join(r.fd)
	}
	return nil
}

// networkOrder makes a value of a field that the kernel takes as big-endian.
func networkOrder(v uint16) uint16 {
	var b [2]byte
	binary.BigEndian.PutUint16(b[:], v)
	return binary.NativeEndian.Uint16(b[:])
}

// hand gives the tracker what a frame holds and returns how many datagrams that
// is.
func (r *raw) hand(t *track.Tracker, a linux.Arrival) int {
	d, ok := r.datagram(a)
	if !ok {
		return 0
	}
	payload := d.payload()
	if len(payload) < d.size && a.Segment > 0 && a.Segment < d.size {
		r.frames.Superframes++
		return 0
	}
	return r.merged.hand(t, payload, d.size, a.Segment, d.from, r.clock.monotonic(a.Wall))
}

// datagram is the one that a frame holds, if any: all of them in one where GSO or
// GRO merged several.
func (r *raw) datagram(a linux.Arrival) (d datagram, ok bool) {
	if d, ok = parse(a.Data, a.Len); !ok {
		r.frames.Malformed++
		return d, false
	}
	const unknown = unix.TP_STATUS_CSUMNOTREADY | unix.TP_STATUS_CSUM_VALID
	switch {
	case d.fragment:
		r.frames.Fragments++
	case r.verify && a.Status&unknown == 0 && len(d.segment) == udpLen+d.size && !checksumRight(&d) && !(r.untold && checksumUnmade(&d)):
		r.frames.BadChecksum++
		return d, false
	}
	if a.Status&unix.TP_STATUS_VLAN_VALID != 0 {
		d.tagged, d.tci = true, a.TCI
	}
	if d.tagged {
		r.frames.Tagged++
		r.frames.TCI = d.tci
	}
	return d, true
}

// Frames implements Framed.
func (r *raw) Frames() Frames { return r.frames }

// Merged implements Splitter.
func (r *raw) Merged() Merged { return r.merged }

// alive is an error once the interface was removed. The kernel tells that a link
// is down once, and of its removal afterwards nothing.
func (r *raw) alive() error {
	if !r.down {
		return nil
	}
	name, err := unix.Getsockname(r.fd)
	if err != nil {
		return r.wrap(fmt.Errorf("getsockname: %w", err))
	}
	if name.(*unix.SockaddrLinklayer).Ifindex < 0 { // packet_notifier in net/packet/af_packet.c
		return r.wrap(fmt.Errorf("interface %s was removed: %w", r.iface.Name, unix.ENODEV))
	}
	return nil
}

// failed is the error of Receive for what went wrong at the socket.
func (r *raw) failed(err error) error {
	if !errors.Is(err, unix.ENETDOWN) {
		return r.wrap(err)
	}
	r.down = true
	if err := r.alive(); err != nil {
		return err
	}
	return r.wrap(fmt.Errorf("interface %s is down: %w", r.iface.Name, unix.ENETDOWN))
}

func (r *raw) wrap(err error) error { return fmt.Errorf("rx %s: %w", r.path, err) }

// Close closes the sockets; it may be called again.
func (r *raw) Close() error {
	err := r.manners.close()
	if r.fd >= 0 {
		err = errors.Join(err, unix.Close(r.fd))
		r.fd = -1
	}
	return err
}
