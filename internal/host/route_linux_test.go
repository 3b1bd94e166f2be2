package host

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// answer is a Route without its link's facts.
type answer struct {
	Dev, Source, Gateway string
	MTU                  int
	Local, Broadcast     bool
}

func ask(t *testing.T, dst, from, dev string) answer {
	t.Helper()
	var src netip.Addr
	if from != "" {
		src = netip.MustParseAddr(from)
	}
	index := 0
	if dev != "" {
		index = eth0(t).Index
	}
	r, err := RouteTo(netip.MustParseAddr(dst), src, index)
	must(t, err)
	a := answer{Dev: r.Link.Name, Source: r.Source.String(), MTU: r.MTU, Local: r.Local, Broadcast: r.Broadcast}
	if r.Gateway.IsValid() {
		a.Gateway = r.Gateway.String()
	}
	return a
}

func addRoute(t *testing.T, r netlink.Route, dst string) {
	t.Helper()
	_, prefix, err := net.ParseCIDR(dst)
	must(t, err)
	r.Dst = prefix
	must(t, netlink.RouteAdd(&r))
}

// BC-114: the source is the one that the kernel chooses.
func TestRouteTo(t *testing.T) {
	enterLab(t)
	addAddr(t, "10.77.0.11/24", 0)                    // secondary
	addAddr(t, "10.88.0.1/24", 0)                     // another subnet
	addAddr(t, "fd88::1/64", 0)                       // and of IPv6
	addAddr(t, "fd88::bad/64", unix.IFA_F_DEPRECATED) // RFC 6724 rule 3
	index := eth0(t).Index
	addRoute(t, netlink.Route{LinkIndex: index, Gw: net.ParseIP("10.77.0.2"), MTU: 1300}, "10.99.0.0/24")
	addRoute(t, netlink.Route{LinkIndex: index, Gw: net.ParseIP("fd77::2")}, "fd99::/64")
	addRoute(t, netlink.Route{LinkIndex: index, Src: net.ParseIP("10.77.0.11")}, "10.100.0.0/24")
	addRoute(t, netlink.Route{LinkIndex: index,
		Via: &netlink.Via{AddrFamily: unix.AF_INET6, Addr: net.ParseIP("fd77::2")}}, "10.101.0.0/24")

	for _, tt := range []struct {
		name, dst, from, dev string
		want                 answer
	}{
		{"on the link", "10.77.0.2", "", "", answer{Dev: "eth0", Source: "10.77.0.1", MTU: 1500}},
		{"on the link, IPv6", "fd77::2", "", "", answer{Dev: "eth0", Source: "fd77::1", MTU: 1500}},
		{"second subnet", "10.88.0.9", "", "", answer{Dev: "eth0", Source: "10.88.0.1", MTU: 1500}},
		{"a deprecated address is not chosen", "fd88::9", "", "", answer{Dev: "eth0", Source: "fd88::1", MTU: 1500}},
		{"a gateway and a path MTU", "10.99.0.9", "", "", answer{Dev: "eth0", Source: "10.77.0.1", Gateway: "10.77.0.2", MTU: 1300}},
		// The source with the longest common prefix (RFC 6724 rule 8).
		{"a gateway, IPv6", "fd99::9", "", "", answer{Dev: "eth0", Source: "fd88::1", Gateway: "fd77::2", MTU: 1500}},
		{"the route's preferred source", "10.100.0.9", "", "", answer{Dev: "eth0", Source: "10.77.0.11", MTU: 1500}},
		{"an IPv6 gateway of IPv4", "10.101.0.9", "", "", answer{Dev: "eth0", Source: "10.77.0.1", Gateway: "fd77::2", MTU: 1500}},
		{"a given source", "10.77.0.2", "10.77.0.11", "", answer{Dev: "eth0", Source: "10.77.0.11", MTU: 1500}},
		{"a given link", "10.222.0.1", "", "eth0", answer{Dev: "eth0", Source: "10.77.0.1", MTU: 1500}},
		{"broadcast", "10.77.0.255", "", "", answer{Dev: "eth0", Source: "10.77.0.1", MTU: 1500, Broadcast: true}},
		{"this host", "10.77.0.1", "", "", answer{Dev: "lo", Source: "10.77.0.1", MTU: 65536, Local: true}},
		{"this host, IPv6", "fd77::1", "", "", answer{Dev: "lo", Source: "fd77::1", MTU: 65536, Local: true}},
		{"loopback", "127.0.0.9", "", "", answer{Dev: "lo", Source: "127.0.0.1", MTU: 65536, Local: true}},
	} {
		if diff := cmp.Diff(tt.want, ask(t, tt.dst, tt.from, tt.dev)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// BC-110: rules by source are obeyed.
func TestRouteObeysPolicyRulesBySource(t *testing.T) {
	enterLab(t)
	addAddr(t, "10.77.0.11/24", 0)
	addRoute(t, netlink.Route{LinkIndex: eth0(t).Index, Gw: net.ParseIP("10.77.0.2")}, "10.99.0.0/24")
	addRoute(t, netlink.Route{LinkIndex: eth0(t).Index, Gw: net.ParseIP("10.77.0.3"), Table: 100}, "10.99.0.0/24")
	rule := netlink.NewRule()
	rule.Src = &net.IPNet{IP: net.ParseIP("10.77.0.11").To4(), Mask: net.CIDRMask(32, 32)}
	rule.Table = 100
	must(t, netlink.RuleAdd(rule))

	if got := ask(t, "10.99.0.9", "", "").Gateway; got != "10.77.0.2" {
		t.Errorf("without a source the gateway is %s, want 10.77.0.2", got)
	}
	if got := ask(t, "10.99.0.9", "10.77.0.11", "").Gateway; got != "10.77.0.3" {
		t.Errorf("from 10.77.0.11 the gateway is %s, want 10.77.0.3", got)
	}
}

func TestRouteThatRefuses(t *testing.T) {
	enterLab(t)
	addRoute(t, netlink.Route{Type: unix.RTN_PROHIBIT}, "10.90.0.0/24")
	addRoute(t, netlink.Route{Type: unix.RTN_UNREACHABLE}, "10.91.0.0/24")
	addRoute(t, netlink.Route{Type: unix.RTN_BLACKHOLE}, "10.92.0.0/24")
	addRoute(t, netlink.Route{Type: unix.RTN_PROHIBIT}, "fd90::/64")
	addRoute(t, netlink.Route{Type: unix.RTN_UNREACHABLE}, "fd91::/64")
	addRoute(t, netlink.Route{Type: unix.RTN_BLACKHOLE}, "fd92::/64")
	for _, tt := range []struct{ dst, want string }{
		{"10.90.0.1", "prohibit"}, {"10.91.0.1", "type unreachable"}, {"10.92.0.1", "blackhole"},
		{"10.93.0.1", "network is unreachable"},
		{"fd90::1", "prohibit"}, {"fd91::1", "type unreachable"}, {"fd92::1", "blackhole"},
		{"fd93::1", "network is unreachable"},
	} {
		_, err := RouteTo(netip.MustParseAddr(tt.dst), netip.Addr{}, 0)
		if !errors.Is(err, ErrNoRoute) || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), tt.dst) {
			t.Errorf("route to %s: %v, want no route and %q", tt.dst, err, tt.want)
		}
	}
}

func TestLinkByAddr(t *testing.T) {
	enterLab(t)
	for addr, want := range map[string]string{
		"10.77.0.1": "eth0", "fd77::1": "eth0", "127.0.0.1": "lo", "127.1.2.3": "lo", "::1": "lo",
	} {
		l, err := LinkByAddr(netip.MustParseAddr(addr))
		must(t, err)
		if l.Name != want {
			t.Errorf("%s is on %s, want %s", addr, l.Name, want)
		}
	}
	if _, err := LinkByAddr(netip.MustParseAddr("10.77.0.2")); !errors.Is(err, ErrNoAddress) {
		t.Errorf("the other host's address: %v, want ErrNoAddress", err)
	}
	held, err := eth0(t).Holds(netip.MustParseAddr("10.77.0.1"))
	must(t, err)
	notHeld, err := eth0(t).Holds(netip.MustParseAddr("10.77.0.2"))
	must(t, err)
	if !held || notHeld {
		t.Errorf("eth0 holds .1: %v, and .2: %v; want true and false", held, notHeld)
	}
}
