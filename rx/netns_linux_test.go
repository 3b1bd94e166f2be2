package rx

import (
	"net"
	"net/netip"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// A testHost is a network namespace of its own with one end of a veth pair.
type testHost struct {
	ns    netns.NsHandle
	nl    *netlink.Handle
	iface string
	index int
	mac   [6]byte
}

// newPair joins two hosts, 10.0.0.1 with fd00::1 and 10.0.0.2 with fd00::2, by a
// veth pair of MTU 9000 that both share.
func newPair(tb testing.TB) (a, b *testHost) {
	tb.Helper()
	a, b = newHost(tb), newHost(tb)
	veth := netlink.NewVeth(netlink.LinkAttrs{Name: a.iface, MTU: 9000})
	veth.PeerName, veth.PeerNamespace, veth.PeerMTU = b.iface, netlink.NsFd(b.ns), 9000
	must(tb, a.nl.LinkAdd(veth))
	a.setUp(tb, "10.0.0.1/24", "fd00::1/64")
	b.setUp(tb, "10.0.0.2/24", "fd00::2/64")
	a.neighbour(tb, "10.0.0.2", b.mac)
	a.neighbour(tb, "fd00::2", b.mac)
	a.awaitCarrier(tb)
	b.awaitCarrier(tb)
	return a, b
}

func newHost(tb testing.TB) *testHost {
	tb.Helper()
	h := &testHost{iface: "veth0"}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		var err error
		h.ns, err = netns.New()
		done <- err
	}()
	must(tb, <-done)
	var err error
	h.nl, err = netlink.NewHandleAt(h.ns)
	must(tb, err)
	tb.Cleanup(func() {
		h.nl.Close()
		must(tb, h.ns.Close())
	})
	return h
}

func (h *testHost) setUp(tb testing.TB, addrs ...string) {
	tb.Helper()
	lo, err := h.nl.LinkByName("lo")
	must(tb, err)
	must(tb, h.nl.LinkSetUp(lo))
	link := h.link(tb)
	h.index = link.Attrs().Index
	copy(h.mac[:], link.Attrs().HardwareAddr)
	must(tb, h.nl.LinkSetUp(link))
	for _, a := range addrs {
		h.address(tb, a)
	}
}

// address gives the host an address and waits until it listens there.
func (h *testHost) address(tb testing.TB, a string) {
	tb.Helper()
	addr, err := netlink.ParseAddr(a)
	must(tb, err)
	addr.Flags |= unix.IFA_F_NODAD
	must(tb, h.nl.AddrAdd(h.link(tb), addr))
	h.await(tb, a, func() bool {
		routes, err := h.nl.RouteGet(addr.IP)
		return err == nil && routes[0].Type == unix.RTN_LOCAL
	})
}

// await waits for what the kernel does in the background.
func (h *testHost) await(tb testing.TB, what string, done func() bool) {
	tb.Helper()
	for end := time.Now().Add(5 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			tb.Fatalf("%s does not come up", what)
		}
	}
}

// awaitCarrier waits until the kernel has seen that the peer is up, too: what is
// sent before vanishes.
func (h *testHost) awaitCarrier(tb testing.TB) {
	tb.Helper()
	h.await(tb, h.iface, func() bool { return h.link(tb).Attrs().OperState == netlink.OperUp })
}

func (h *testHost) link(tb testing.TB) netlink.Link {
	tb.Helper()
	link, err := h.nl.LinkByName(h.iface)
	must(tb, err)
	return link
}

func (h *testHost) neighbour(tb testing.TB, addr string, mac [6]byte) {
	tb.Helper()
	must(tb, h.nl.NeighSet(&netlink.Neigh{
		LinkIndex: h.index, State: netlink.NUD_PERMANENT,
		IP: net.ParseIP(addr), HardwareAddr: mac[:],
	}))
}

// do runs f on a thread in the host's namespace. What f opens stays there.
func (h *testHost) do(tb testing.TB, f func() error) {
	tb.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := netns.Set(h.ns)
		if err == nil {
			err = f()
		}
		done <- err
	}()
	must(tb, <-done)
}

// open opens a receive path on the host.
func (h *testHost) open(tb testing.TB, path string, c Config) Receiver {
	tb.Helper()
	p, err := Find(path)
	must(tb, err)
	c.Interface, c.IfIndex = h.iface, h.index
	var r Receiver
	h.do(tb, func() (err error) {
		r, err = p.Open(&c)
		return err
	})
	tb.Cleanup(func() { must(tb, r.Close()) })
	return r
}

// dial opens a UDP socket to an address; datagrams go out with the checksum left
// to the device.
func (h *testHost) dial(tb testing.TB, to netip.AddrPort) *net.UDPConn {
	tb.Helper()
	var conn *net.UDPConn
	h.do(tb, func() (err error) {
		conn, err = net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(to))
		return err
	})
	tb.Cleanup(func() { conn.Close() })
	return conn
}

// wire opens a packet socket that puts whole frames on the host's interface.
func (h *testHost) wire(tb testing.TB) func(frame []byte) {
	tb.Helper()
	var fd int
	h.do(tb, func() (err error) {
		fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		return err
	})
	tb.Cleanup(func() { unix.Close(fd) })
	return func(frame []byte) {
		tb.Helper()
		must(tb, unix.Sendto(fd, frame, 0, &unix.SockaddrLinklayer{Ifindex: h.index}))
	}
}

// udpCounter reads a counter of the UDP lines of the host's /proc/net/snmp.
func (h *testHost) udpCounter(tb testing.TB, name string) (n uint64) {
	tb.Helper()
	h.do(tb, func() error {
		b, err := os.ReadFile("/proc/thread-self/net/snmp")
		var names, values []string
		for line := range strings.Lines(string(b)) {
			if rest, ok := strings.CutPrefix(line, "Udp: "); ok {
				names, values = values, strings.Fields(rest)
			}
		}
		for i := range names {
			if names[i] == name {
				n, err = strconv.ParseUint(values[i], 10, 64)
			}
		}
		return err
	})
	return n
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
