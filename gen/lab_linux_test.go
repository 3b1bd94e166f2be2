package gen

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"linerate/gen/frame"
	"linerate/internal/probe"
)

const (
	testMTU     = 9000
	testSrcPort = 40000
	testDstPort = 5201
	testRun     = 0x4c52
)

var (
	testAddr4 = [2]netip.Addr{netip.MustParseAddr("10.9.0.1"), netip.MustParseAddr("10.9.0.2")}
	testAddr6 = [2]netip.Addr{netip.MustParseAddr("fd09::1"), netip.MustParseAddr("fd09::2")}
)

// A lab is two network namespaces joined by a veth pair, "a" and "b". The thread
// of the test is in a's; everything else of the process stays outside.
type lab struct {
	t        testing.TB
	nsA, nsB netns.NsHandle
	onA, onB *netlink.Handle
	a, b     netlink.Link
}

// newLab makes one. The goroutine stays locked to its thread, which therefore
// ends with it, and the namespaces with that.
func newLab(t testing.TB) *lab {
	runtime.LockOSThread()
	l := &lab{t: t}
	l.nsB = l.unshare()
	l.nsA = l.unshare()
	l.onA = must(netlink.NewHandleAt(l.nsA))
	l.onB = must(netlink.NewHandleAt(l.nsB))
	t.Cleanup(func() {
		l.onA.Close()
		l.onB.Close()
		l.nsA.Close()
		l.nsB.Close()
	})
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU = "a", testMTU
	veth := netlink.NewVeth(attrs)
	veth.PeerName, veth.PeerMTU, veth.PeerNamespace = "b", testMTU, netlink.NsFd(l.nsB)
	l.check(l.onA.LinkAdd(veth))
	l.a = must(l.onA.LinkByName("a"))
	l.b = must(l.onB.LinkByName("b"))
	l.configure(l.onA, l.a, l.b, 0)
	l.configure(l.onB, l.b, l.a, 1)
	l.offload(false)
	l.waitUp()
	return l
}

// offload says whether super-frames cross to b whole, as between virtual
// interfaces they do by default, or are cut up before, checksums finished.
func (l *lab) offload(whole bool) {
	e, err := ethtool.NewEthtool()
	l.check(err)
	defer e.Close()
	l.check(e.Change("a", map[string]bool{"tx-udp-segmentation": whole, "tx-checksum-ip-generic": whole}))
}

func (l *lab) unshare() netns.NsHandle {
	l.check(unix.Unshare(unix.CLONE_NEWNET))
	return must(netns.Get())
}

func (l *lab) check(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// configure brings up an end with the addresses of a side.
func (l *lab) configure(h *netlink.Handle, link, peer netlink.Link, side int) {
	l.check(h.LinkSetUp(link))
	l.addNeighbours(h, link, peer, testAddr4[side], testAddr4[1-side])
	l.addNeighbours(h, link, peer, testAddr6[side], testAddr6[1-side])
}

// addNeighbours gives an end an address, and a fixed neighbour, so that little
// but the test is on the wire.
func (l *lab) addNeighbours(h *netlink.Handle, link, peer netlink.Link, addr, neighbour netip.Addr) {
	bits := 24
	if addr.Is6() {
		bits = 64
	}
	a := &netlink.Addr{IPNet: &net.IPNet{IP: addr.AsSlice(), Mask: net.CIDRMask(bits, addr.BitLen())}}
	if addr.Is6() {
		a.Flags = unix.IFA_F_NODAD
	}
	l.check(h.AddrAdd(link, a))
	l.check(h.NeighSet(&netlink.Neigh{
		LinkIndex: link.Attrs().Index, State: netlink.NUD_PERMANENT,
		IP: neighbour.AsSlice(), HardwareAddr: peer.Attrs().HardwareAddr,
	}))
}

// waitUp waits for the carrier: before, frames vanish in the noop queue.
func (l *lab) waitUp() {
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		if must(l.onA.LinkByName("a")).Attrs().OperState == netlink.OperUp {
			return
		}
		if time.Now().After(deadline) {
			l.t.Fatal("the veth pair does not come up")
		}
	}
}

// inB runs f in b's namespace.
func (l *lab) inB(f func()) {
	l.check(netns.Set(l.nsB))
	f()
	l.check(netns.Set(l.nsA))
}

// sink binds a UDP socket in b that nobody reads, so that b sends no ICMP.
func (l *lab) sink(addr netip.Addr) {
	l.inB(func() {
		fd := must(unix.Socket(family(addr), unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0))
		l.t.Cleanup(func() { unix.Close(fd) })
		l.check(unix.Bind(fd, must(sockaddr(addr, testDstPort, 0))))
	})
}

func family(addr netip.Addr) int {
	if addr.Is4() {
		return unix.AF_INET
	}
	return unix.AF_INET6
}

// template builds frames from a to b, or payloads for a kernel path.
func (l *lab) template(f Family, addr [2]netip.Addr, flows int, vlan *uint16, sizes ...int) *frame.Template {
	l.t.Helper()
	h := frame.Headers{
		VLAN: vlan, Src: addr[0], Dst: addr[1], SrcPort: testSrcPort, DstPort: testDstPort, TOS: 46 << 2, TTL: 33,
	}
	if f == Raw {
		h.SrcMAC, h.DstMAC = l.a.Attrs().HardwareAddr, l.b.Attrs().HardwareAddr
	}
	return l.build(h, flows, sizes...)
}

func (l *lab) build(h frame.Headers, flows int, sizes ...int) *frame.Template {
	l.t.Helper()
	pattern, err := probe.ParsePattern("ramp")
	l.check(err)
	t, err := frame.New(h, probe.Stamper{Run: testRun}, sizes, flows, pattern)
	l.check(err)
	return t
}

func (l *lab) config(t *frame.Template) *Config {
	return &Config{Interface: "a", IfIndex: l.a.Attrs().Index, Template: t, Batch: 64, Window: 4 << 20}
}

// open opens a path and closes it with the test.
func (l *lab) open(p *Path, cfg *Config) Sender {
	l.t.Helper()
	s, err := p.Open(cfg)
	l.check(err)
	l.t.Cleanup(func() {
		if err := s.Close(); err != nil {
			l.t.Error(err)
		}
	})
	return s
}

// rxPackets is what b's end counted.
func (l *lab) rxPackets() uint64 {
	return must(l.onB.LinkByName("b")).Attrs().Statistics.RxPackets
}

// A reader sees every frame that arrives at b.
type reader struct {
	fd   int
	buf  []byte
	oob  []byte
	tags bool // tell VLAN tags
}

// An arrival is a frame that a reader saw, its VLAN tag apart.
type arrival struct {
	frame []byte // valid until the next
	vlan  *uint16
}

func (l *lab) reader() *reader {
	r := &reader{buf: make([]byte, 1<<17), oob: make([]byte, 128)}
	l.inB(func() {
		fd := must(unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0))
		l.t.Cleanup(func() { unix.Close(fd) })
		l.check(unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 64<<20))
		l.check(unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_AUXDATA, 1))
		l.check(unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1))
		all := binary.NativeEndian.Uint16([]byte{0, unix.ETH_P_ALL})
		l.check(unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: l.b.Attrs().Index}))
		r.fd = fd
	})
	return r
}

// next returns the next frame that has arrived, or false.
func (r *reader) next() (arrival, bool) {
	if !r.tags {
		n, err := unix.Read(r.fd, r.buf)
		return arrival{frame: r.buf[:max(n, 0)]}, err == nil
	}
	n, oobn, _, _, err := unix.Recvmsg(r.fd, r.buf, r.oob, 0)
	if err != nil {
		return arrival{}, false
	}
	a := arrival{frame: r.buf[:n]}
	for _, m := range must(unix.ParseSocketControlMessage(r.oob[:oobn])) {
		// struct tpacket_auxdata: status, len, snaplen, mac, net, vlan_tci
		if m.Header.Level == unix.SOL_PACKET && m.Header.Type == unix.PACKET_AUXDATA &&
			binary.NativeEndian.Uint32(m.Data)&unix.TP_STATUS_VLAN_VALID != 0 {
			tci := binary.NativeEndian.Uint16(m.Data[16:])
			a.vlan = &tci
		}
	}
	return a, true
}

// headers is what the headers of a frame say.
type headers struct {
	src, dst netip.AddrPort
	tos, ttl byte
	df       bool // don't fragment; false for IPv6
}

// parse reads a UDP datagram's frame without IP options or extension headers.
func parse(f []byte) (h headers, payload []byte, ok bool) {
	const v4, v6 = 14 + 20, 14 + 40
	var src, dst netip.Addr
	var udp []byte
	switch {
	case len(f) >= v4+8 && binary.BigEndian.Uint16(f[12:]) == unix.ETH_P_IP && f[14+9] == unix.IPPROTO_UDP:
		ip := f[14:]
		h.tos, h.ttl, h.df = ip[1], ip[8], ip[6]&0x40 != 0
		src, dst = netip.AddrFrom4([4]byte(ip[12:])), netip.AddrFrom4([4]byte(ip[16:]))
		udp = f[v4:]
	case len(f) >= v6+8 && binary.BigEndian.Uint16(f[12:]) == unix.ETH_P_IPV6 && f[14+6] == unix.IPPROTO_UDP:
		ip := f[14:]
		h.tos, h.ttl = byte(binary.BigEndian.Uint16(ip)>>4), ip[7]
		src, dst = netip.AddrFrom16([16]byte(ip[8:])), netip.AddrFrom16([16]byte(ip[24:]))
		udp = f[v6:]
	default:
		return h, nil, false
	}
	h.src = netip.AddrPortFrom(src, binary.BigEndian.Uint16(udp))
	h.dst = netip.AddrPortFrom(dst, binary.BigEndian.Uint16(udp[2:]))
	length := int(binary.BigEndian.Uint16(udp[4:]))
	if length < 8 || length > len(udp) {
		return h, nil, false
	}
	return h, udp[8:length], true
}

// checksums checks those of a frame that parse takes.
func checksums(f []byte) error {
	ip, addresses, udp := f[14:], f[14+8:14+40], f[14+40:]
	if binary.BigEndian.Uint16(f[12:]) == unix.ETH_P_IP {
		addresses, udp = f[14+12:14+20], f[14+20:]
		if got := sum(ip[:20]); got != 0xffff {
			return fmt.Errorf("the sum of the IP header is %#x", got)
		}
	}
	length := udp[4:6]
	udp = udp[:binary.BigEndian.Uint16(length)]
	if got := sum(addresses, []byte{0, unix.IPPROTO_UDP}, length, udp); got != 0xffff || udp[6]|udp[7] == 0 {
		return fmt.Errorf("the sum of the UDP datagram is %#x, its checksum %#x", got, udp[6:8])
	}
	return nil
}

// sum is the ones' complement sum of RFC 1071; only the last part may be of an
// odd length.
func sum(parts ...[]byte) (s uint32) {
	for _, part := range parts {
		for i, b := range part {
			s += uint32(b) << (8 * (1 - i&1))
			s = s>>16 + s&0xffff
		}
	}
	return s
}

// variants are the paths of the table, those that may send super-frames also
// without.
func variants() (all []*Path) {
	for i := range Paths {
		p := &Paths[i]
		if p.Name == "xdp" {
			continue // it has tests of its own, with a peer that takes XDP frames
		}
		all = append(all, p)
		if p.Family == Raw && !p.Unqueued {
			alone := *p
			alone.Name += " alone"
			alone.Open = func(cfg *Config) (Sender, error) {
				cfg.NoGSO = true
				return p.Open(cfg)
			}
			all = append(all, &alone)
		}
	}
	return all
}

// openFDs counts the descriptors of the process.
func openFDs(t testing.TB) int {
	t.Helper()
	names, err := filepath.Glob("/proc/self/fd/*")
	if err != nil || len(names) == 0 {
		t.Fatal("/proc/self/fd can't be read:", err)
	}
	return len(names)
}
