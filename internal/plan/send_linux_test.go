package plan

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"linerate/gen"
	"linerate/internal/host"
	"linerate/internal/lab"
	"linerate/internal/probe"
	"linerate/internal/result"
	"linerate/internal/units"
)

func TestSendReport(t *testing.T) {
	l := enter(t, lab.Config{MTU: 9000})
	a, b := l.A().MAC.String(), l.B().MAC.String()
	r := to(t, "10.77.0.2:9")
	r.Path, r.Frame, r.Flows, r.Duration = "packet", 9018, 3, 3*time.Second
	s := resolved(t, r)
	want := result.Config{
		Protocol: "udp", Path: "packet", Peer: "none", Direction: "forward", Format: "probe", Interface: "eth0",
		Source: "10.77.0.1", Destination: "10.77.0.2:9", SourceMAC: a, NextHopMAC: b,
		RateBps: 100e6, RatePps: 100e6 / 71776, Rate: "100M", Layer: "l4",
		FrameBytes: 9018, PayloadBytes: 8972, Flows: 3, Burst: 1, Threads: 1, DurationS: 3,
	}
	if diff := cmp.Diff(want, s.Report); diff != "" {
		t.Errorf("packet (-want +got):\n%s", diff)
	}

	id := uint16(100)
	r = to(t, "fd77::2")
	r.Path, r.VLAN, r.Count, r.Rate = "packet", &id, 1000, units.Rate{Unit: units.Max}
	r.DstMAC = net.HardwareAddr{2, 0, 0, 0, 0, 9}
	vlan := 100
	want = result.Config{
		Protocol: "udp", Path: "packet", Peer: "none", Direction: "forward", Format: "probe", Interface: "eth0",
		Source: "fd77::1", Destination: "[fd77::2]:5201", SourceMAC: a, NextHopMAC: "02:00:00:00:00:09", VLAN: &vlan,
		Rate: "max", Layer: "l4", FrameBytes: 9022, PayloadBytes: 8952, Flows: 1, Burst: 64, Threads: 1, Count: 1000,
	}
	if diff := cmp.Diff(want, resolved(t, r).Report); diff != "" {
		t.Errorf("VLAN (-want +got):\n%s", diff)
	}

	r = to(t, "10.77.0.2")
	r.Path, r.IMIX = "udp", Mix{"simple", []int{64, 594, 1518}}
	want = result.Config{
		Protocol: "udp", Path: "udp", Peer: "none", Direction: "forward", Format: "probe", Interface: "eth0",
		Source: "10.77.0.1", Destination: "10.77.0.2:5201",
		RateBps: 100e6, RatePps: 100e6 * 3 / (8 * (18 + 548 + 1472)), Rate: "100M", Layer: "l4",
		IMIX: "simple", Flows: 1, Burst: 1, Threads: 1, DurationS: 10,
	}
	if diff := cmp.Diff(want, resolved(t, r).Report); diff != "" {
		t.Errorf("mix (-want +got):\n%s", diff)
	}
}

func TestSendTemplate(t *testing.T) {
	enter(t, lab.Config{})
	r := to(t, "10.77.0.2")
	r.Path, r.Flows, r.TOS, r.Window = "packet", 5, 46<<2, 1<<20
	s := resolved(t, r)
	h := s.Config.Template.Headers
	if h.SrcPort < 32768 || h.Src.String() != "10.77.0.1" || h.TTL != 64 || h.TOS != 184 || len(h.DstMAC) != 6 {
		t.Errorf("raw headers: %+v", h)
	}
	if c := s.Config; c.Interface != "eth0" || c.IfIndex != eth0(t).Attrs().Index || c.Batch != s.Schedule.Most || c.Window != 1<<20 || c.BindDevice {
		t.Errorf("config: %+v", c)
	}
	if st := s.Config.Template.Stamper; st.Format != probe.Native || st.Run == 0 || st.WallOffset == 0 {
		t.Errorf("stamper: %+v", st)
	}
	r.Path, r.TTL, r.Iface = "udp", 3, "eth0"
	s = resolved(t, r)
	h = s.Config.Template.Headers
	if h.SrcPort != 0 || h.Src.IsValid() || h.SrcMAC != nil || h.DstMAC != nil || h.TTL != 3 || !s.Config.BindDevice {
		t.Errorf("kernel headers: %+v, bound %v", h, s.Config.BindDevice)
	}
}

func TestEveryPathOpens(t *testing.T) {
	enter(t, lab.Config{})
	for i := range gen.Paths {
		for _, dst := range []string{"10.77.0.2", "fd77::2", "fe80::2%eth0"} {
			r := to(t, dst)
			r.Path = gen.Paths[i].Name
			s := resolved(t, r)
			sender, err := s.Path.Open(&s.Config)
			if err != nil {
				t.Errorf("%s to %s: %v", r.Path, dst, err)
				continue
			}
			must(t, sender.Close())
		}
	}
}

// BC-108: behind a router the MAC address is the router's.
func TestSendThroughARouter(t *testing.T) {
	l := enter(t, lab.Config{Router: true})
	for _, dst := range []netip.Addr{l.B().Addr4, l.B().Addr6} {
		r := to(t, dst.String())
		r.Path = "packet"
		c := resolved(t, r).Report
		if c.NextHopMAC != l.Middle().MAC.String() || c.Gateway == "" {
			t.Errorf("to %s: next hop %s by gateway %s, want the router's %s", dst, c.NextHopMAC, c.Gateway, l.Middle().MAC)
		}
	}
}

// TestAuto has auto take the fastest path that works here. Raw frames to this host
// itself are refused with the reason (BC-124).
func TestAuto(t *testing.T) {
	enter(t, lab.Config{})
	const why = "packet is the fastest that can run here; passed over: xdp (for --rate max without --burst: it sends in long bursts)"
	if c := resolved(t, to(t, "10.77.0.2")).Report; c.Path != "packet" || c.PathReason != why || c.Burst != 1 {
		t.Errorf("to another host: %s in bursts of %d, as %q", c.Path, c.Burst, c.PathReason)
	}
	fast := to(t, "10.77.0.2")
	fast.Rate = units.Rate{Unit: units.Max}
	fastest := gen.Paths[0].Name
	if c := resolved(t, fast).Report; c.Path != fastest || c.PathReason != fastest+" is the fastest" || c.Burst != 4096 {
		t.Errorf("as fast as possible: %s in bursts of %d, as %q", c.Path, c.Burst, c.PathReason)
	}
	// Raw frames to this host itself never arrive.
	for _, dst := range []string{"127.0.0.1", "10.77.0.1", "::1", "fd77::1", "fe80::1%eth0"} {
		c := resolved(t, to(t, dst)).Report
		if c.Path != "gso" || !strings.Contains(c.PathReason, "passed over: xdp, packet, ring (raw frames to this host itself never arrive") {
			t.Errorf("to %s: %s, as %q", dst, c.Path, c.PathReason)
		}
		r := to(t, dst)
		r.Path = "packet"
		_, err := ResolveSend(t.Context(), r)
		wantError[*HostError](t, dst+" by packet", err, "path packet: raw frames to this host itself never arrive: --path udp")
	}
	id := uint16(5)
	r := to(t, "127.0.0.1")
	r.VLAN = &id
	_, err := ResolveSend(t.Context(), r)
	wantError[*HostError](t, "a VLAN on lo", err, "packet, ring (raw frames", "gso (--vlan: needs a raw path")
}

// TestShapedInterface holds that a path which can't heed a shaper is not taken
// where there may be one.
func TestShapedInterface(t *testing.T) {
	enter(t, lab.Config{})
	link, err := netlink.LinkByName("eth0")
	must(t, err)
	must(t, netlink.QdiscReplace(&netlink.Tbf{
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: link.Attrs().Index, Parent: netlink.HANDLE_ROOT, Handle: netlink.MakeHandle(7, 0)},
		Rate:       1 << 20,
		Limit:      1 << 20,
		Buffer:     netlink.Xmittime(1<<20, 20_000),
	}))
	const why = "passed over: xdp (goes past the queueing discipline of eth0)"
	r := to(t, "10.77.0.2")
	r.Rate = units.Rate{Unit: units.Max}
	if c := resolved(t, r).Report; c.Path != "packet" || !strings.Contains(c.PathReason, why) {
		t.Errorf("%s, as %q", c.Path, c.PathReason)
	}
	r.Path = "afxdp"
	if c := resolved(t, r).Report; c.Path != "afxdp" {
		t.Errorf("%s, where afxdp was asked for", c.Path)
	}
}

func TestSendLoopbackSizes(t *testing.T) {
	enter(t, lab.Config{})
	for dst, want := range map[string]int{"127.0.0.1": 65507, "::1": 65488} {
		if got := resolved(t, to(t, dst)).Report.PayloadBytes; got != want {
			t.Errorf("to %s: payload %d, want %d", dst, got, want)
		}
	}
}

func TestNoGSO(t *testing.T) {
	enter(t, lab.Config{})
	r := to(t, "127.0.0.1")
	r.NoGSO = true
	s := resolved(t, r)
	if s.Path.Name != "udp" || !s.Config.NoGSO || !strings.Contains(s.Report.PathReason, "gso (--no-gso") {
		t.Errorf("%s with NoGSO %v, as %q", s.Path.Name, s.Config.NoGSO, s.Report.PathReason)
	}
	r.Path = "gso"
	_, err := ResolveSend(t.Context(), r)
	wantError[*UsageError](t, "gso without", err, "--no-gso: contradicts path gso")
}

func TestSendRawFlagsNeedARawPath(t *testing.T) {
	enter(t, lab.Config{})
	id, mac := uint16(5), net.HardwareAddr{2, 0, 0, 0, 0, 1}
	for flag, change := range map[string]func(*SendRequest){
		"vlan":    func(r *SendRequest) { r.VLAN = &id },
		"src-mac": func(r *SendRequest) { r.SrcMAC = mac },
		"dst-mac": func(r *SendRequest) { r.DstMAC = mac },
	} {
		r := to(t, "10.77.0.2")
		r.Path = "udp"
		change(&r)
		_, err := ResolveSend(t.Context(), r)
		wantError[*UsageError](t, flag, err, "--"+flag+": needs a raw path")
	}
}

// BC-116: what --bind and --iface say is obeyed, each alone and together.
func TestSendSource(t *testing.T) {
	enter(t, lab.Config{})
	addAddr(t, eth0(t), "10.77.0.11/24")
	addEth1(t)
	for _, tt := range []struct{ bind, iface, source string }{
		{"", "", "10.77.0.1"},
		{"10.77.0.11", "", "10.77.0.11"},
		{"10.77.0.11", "eth0", "10.77.0.11"},
		{"10.77.0.11%eth0", "", "10.77.0.11"},
		{"10.88.0.1", "", "10.88.0.1"}, // leaves where the route says, all the same
		{"eth0", "", "10.77.0.1"},
		{"eth0", "eth0", "10.77.0.1"},
	} {
		for _, path := range []string{"packet", "udp"} {
			r := to(t, "10.77.0.2")
			r.Bind, r.Iface, r.Path = tt.bind, tt.iface, path
			if c := resolved(t, r).Report; c.Source != tt.source || c.Interface != "eth0" {
				t.Errorf("bind %q, iface %q: from %s on %s, want %s on eth0", tt.bind, tt.iface, c.Source, c.Interface, tt.source)
			}
		}
	}
	r := to(t, "10.77.0.2")
	r.Bind, r.Path = "10.77.0.11", "udp"
	if h := resolved(t, r).Config.Template.Headers; h.Src.String() != "10.77.0.11" {
		t.Errorf("the kernel is not told to send from 10.77.0.11: %+v", h)
	}
}

// BC-114: a source that is not this host's is refused; BC-116: so is an address that
// contradicts an interface.
func TestSendSourceRefused(t *testing.T) {
	enter(t, lab.Config{})
	addEth1(t)
	refused := func(bind, iface, dst string) error {
		r := to(t, dst)
		r.Bind, r.Iface = bind, iface
		_, err := ResolveSend(t.Context(), r)
		return err
	}
	err := refused("", "eth9", "10.77.0.2")
	wantError[*HostError](t, "no such interface", err, "no interface eth9", "eth0")
	if !errors.Is(err, host.ErrNoInterface) {
		t.Errorf("%v is not ErrNoInterface", err)
	}
	wantError[*HostError](t, "no such interface to bind to", refused("eth9", "", "10.77.0.2"), "no interface eth9")
	wantError[*HostError](t, "a foreign source", refused("10.77.0.9", "", "10.77.0.2"), "10.77.0.9 is not an address of this host")
	wantError[*UsageError](t, "two interfaces", refused("eth1", "eth0", "10.77.0.2"), "--bind", "eth1 contradicts eth0")
	wantError[*UsageError](t, "another's address", refused("10.77.0.1", "eth1", "10.77.0.2"), "10.77.0.1 is an address of eth0, not of eth1")
	wantError[*UsageError](t, "another's address by zone", refused("10.77.0.1%eth1", "", "10.77.0.2"), "not of eth1")
	wantError[*UsageError](t, "no address", refused("x%eth0", "", "10.77.0.2"), "--bind")
	wantError[*UsageError](t, "any address", refused("0.0.0.0", "", "10.77.0.2"), "--bind")
	wantError[*UsageError](t, "the other family", refused("10.77.0.1", "", "fd77::2"), "IPv4")
	wantError[*UsageError](t, "link-local without zone", refused("fe80::1", "", "fd77::2"), "--bind", "fe80::1%")
}

// BC-042: a link-local address needs its interface, by name, number or --iface.
func TestSendLinkLocal(t *testing.T) {
	l := enter(t, lab.Config{})
	addEth1(t)
	numeric := fmt.Sprintf("fe80::2%%%d", eth0(t).Attrs().Index)
	for _, tt := range []struct{ dst, iface string }{
		{"fe80::2%eth0", ""}, {"[fe80::2%eth0]:5201", ""}, {numeric, ""}, {"fe80::2", "eth0"}, {"fe80::2%eth0", "eth0"},
	} {
		r := to(t, tt.dst)
		r.Iface, r.Path = tt.iface, "packet"
		c := resolved(t, r).Report
		if c.Destination != "[fe80::2%eth0]:5201" || c.Source != "fe80::1" || c.NextHopMAC != l.B().MAC.String() {
			t.Errorf("to %s, iface %q: %+v", tt.dst, tt.iface, c)
		}
	}
	r := to(t, "fe80::2%eth0")
	r.Bind, r.Path = "fe80::1%eth0", "udp"
	if got := resolved(t, r).Config.Template.Headers.Src.String(); got != "fe80::1%eth0" {
		t.Errorf("source %s, want its zone kept", got)
	}
	_, err := ResolveSend(t.Context(), to(t, "fe80::2"))
	wantError[*UsageError](t, "without zone", err, "fe80::2 is link-local", "fe80::2%eth", "eth0")
	_, err = ResolveSend(t.Context(), to(t, "ff02::1"))
	wantError[*UsageError](t, "group without zone", err, "ff02::1 is link-local")
	_, err = ResolveSend(t.Context(), to(t, "fe80::2%eth9"))
	wantError[*HostError](t, "wrong zone", err, "no interface eth9")
	r = to(t, "fe80::2%eth0")
	r.Iface = "eth1"
	_, err = ResolveSend(t.Context(), r)
	wantError[*UsageError](t, "two zones", err, "eth0 contradicts eth1")
}

// BC-104: a group's frames have its own MAC address, and a TTL of 1.
func TestSendGroupsAndBroadcast(t *testing.T) {
	enter(t, lab.Config{})
	for dst, want := range map[string]struct {
		mac string
		ttl uint8
	}{
		"239.1.1.1":    {"01:00:5e:01:01:01", 1},
		"ff15::1":      {"33:33:00:00:00:01", 1},
		"ff02::5%eth0": {"33:33:00:00:00:05", 1},
		"10.77.0.255":  {"ff:ff:ff:ff:ff:ff", 64},
	} {
		r := to(t, dst)
		r.Iface, r.Path = "eth0", "packet"
		s := resolved(t, r)
		if h := s.Config.Template.Headers; h.DstMAC.String() != want.mac || h.TTL != want.ttl {
			t.Errorf("%s: to %s with TTL %d, want %s with %d", dst, h.DstMAC, h.TTL, want.mac, want.ttl)
		}
		r.Path = "udp"
		s = resolved(t, r)
		sender, err := s.Path.Open(&s.Config)
		if err != nil {
			t.Errorf("%s by udp: %v", dst, err)
			continue
		}
		must(t, sender.Close())
	}
}

func TestSendSilentNeighbour(t *testing.T) {
	enter(t, lab.Config{})
	r := to(t, "10.77.0.9")
	r.Path = "packet"
	start := time.Now()
	_, err := ResolveSend(t.Context(), r)
	wantError[*PeerError](t, "silent", err, "no answer to ARP for 10.77.0.9 on eth0; is it up? or give --dst-mac")
	if took := time.Since(start); took > neighbourPatience {
		t.Errorf("took %v", took)
	}
	r.DstMAC = net.HardwareAddr{2, 0, 0, 0, 0, 9}
	if c := resolved(t, r).Report; c.NextHopMAC != "02:00:00:00:00:09" {
		t.Errorf("next hop %s, want the one given", c.NextHopMAC)
	}
}

// BC-110: where the kernel would send nothing, no path does.
func TestSendUnreachable(t *testing.T) {
	enter(t, lab.Config{})
	addRoute(t, netlink.Route{Type: unix.RTN_PROHIBIT}, "10.90.0.0/24")
	addRoute(t, netlink.Route{Type: unix.RTN_BLACKHOLE}, "fd92::/64")
	for dst, part := range map[string]string{
		"10.90.0.1": "prohibit", "fd92::1": "blackhole", "10.93.0.1": "network is unreachable",
	} {
		for _, path := range []string{auto, "udp", "packet"} {
			r := to(t, dst)
			r.Path = path
			_, err := ResolveSend(t.Context(), r)
			wantError[*PeerError](t, dst+" by "+path, err, "no route to "+dst, part)
		}
	}
}

// BC-030: what the interface or the path can't carry is refused at the start, with the
// number.
func TestSendMTU(t *testing.T) {
	l := enter(t, lab.Config{})
	addRoute(t, netlink.Route{LinkIndex: eth0(t).Attrs().Index, Gw: l.B().Addr4.AsSlice(), MTU: 1300}, "10.99.0.0/24")
	r := to(t, "10.99.0.9")
	if c := resolved(t, r).Report; c.FrameBytes != 1318 {
		t.Errorf("a path of 1300 bytes: frames of %d, want 1318", c.FrameBytes)
	}
	r.Frame = 1518
	_, err := ResolveSend(t.Context(), r)
	wantError[*UsageError](t, "beyond the path", err, "--frame: 1518 needs MTU 1500; the path to 10.99.0.9 has 1300: the largest frame here is 1318")
	r = to(t, "10.77.0.2")
	r.Payload = 8972
	_, err = ResolveSend(t.Context(), r)
	wantError[*UsageError](t, "beyond the link", err, "--payload: 8972 needs MTU 9000; eth0 has 1500: the largest payload here is 1472")
}

func TestSendLinkThatDoesNotRun(t *testing.T) {
	l := enter(t, lab.Config{})
	r := to(t, "10.77.0.2")
	must(t, l.B().SetUp("eth0", false))
	_, err := ResolveSend(t.Context(), r)
	wantError[*HostError](t, "no carrier", err, "eth0 has no carrier")
	must(t, netlink.LinkSetDown(eth0(t)))
	r.Iface = "eth0"
	_, err = ResolveSend(t.Context(), r)
	wantError[*HostError](t, "down", err, "eth0 is down: ip link set dev eth0 up")
}

func TestSendFromNoAddress(t *testing.T) {
	enter(t, lab.Config{})
	link := addEth1(t)
	addrs, err := netlink.AddrList(link, netlink.FAMILY_V4)
	must(t, err)
	must(t, netlink.AddrDel(link, &addrs[0]))
	// The kernel would lend it the address of another interface.
	eth := eth0(t)
	addrs, err = netlink.AddrList(eth, netlink.FAMILY_V4)
	must(t, err)
	must(t, netlink.AddrDel(eth, &addrs[0]))
	r := to(t, "10.77.0.2")
	r.Iface = "eth1"
	_, err = ResolveSend(t.Context(), r)
	wantError[*HostError](t, "no address", err, "eth1 has no IPv4 address")
}

func TestSendUsage(t *testing.T) {
	enter(t, lab.Config{})
	for name, change := range map[string]func(*SendRequest){
		"no host":           func(r *SendRequest) { r.Host = ":5201" },
		"a bad port":        func(r *SendRequest) { r.Host = "10.77.0.2:70000" },
		"no destination":    func(r *SendRequest) { r.Host = "0.0.0.0" },
		"both families":     func(r *SendRequest) { r.V4, r.V6 = true, true },
		"the other family":  func(r *SendRequest) { r.V6 = true },
		"no such path":      func(r *SendRequest) { r.Path = "carrier-pigeon" },
		"of unknown speed":  func(r *SendRequest) { r.Rate = units.Rate{Unit: units.Percent, Micro: 95e6} },
		"count and bytes":   func(r *SendRequest) { r.Count, r.Bytes = 1, 1 },
		"frame and payload": func(r *SendRequest) { r.Frame, r.Payload = 64, 18 },
		"too many flows":    func(r *SendRequest) { r.Path, r.Flows = "packet", 65536 },
	} {
		r := to(t, "10.77.0.2")
		change(&r)
		_, err := ResolveSend(t.Context(), r)
		wantError[*UsageError](t, name, err)
	}
}
