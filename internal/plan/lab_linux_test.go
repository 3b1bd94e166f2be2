package plan

import (
	"errors"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"linerate/internal/lab"
	"linerate/internal/probe"
	"linerate/internal/units"
)

// enter makes a lab and moves the test's goroutine into its host a. The
// goroutine's thread is never given back: it ends with the test.
func enter(t *testing.T, c lab.Config) *lab.Lab {
	t.Helper()
	l, err := lab.New(c)
	must(t, err)
	t.Cleanup(func() { must(t, l.Close()) })
	var ns netns.NsHandle
	must(t, l.A().Do(func() (err error) {
		ns, err = netns.Get()
		return err
	}))
	defer ns.Close()
	runtime.LockOSThread()
	must(t, netns.Set(ns))
	// A silent neighbour is given up soon.
	must(t, os.WriteFile("/proc/sys/net/ipv4/neigh/eth0/retrans_time_ms", []byte("50"), 0))
	return l
}

func eth0(t *testing.T) netlink.Link {
	t.Helper()
	l, err := netlink.LinkByName("eth0")
	must(t, err)
	return l
}

func addAddr(t *testing.T, link netlink.Link, cidr string) {
	t.Helper()
	addr, err := netlink.ParseAddr(cidr)
	must(t, err)
	addr.Flags = unix.IFA_F_NODAD
	must(t, netlink.AddrAdd(link, addr))
}

func addRoute(t *testing.T, r netlink.Route, dst string) {
	t.Helper()
	_, prefix, err := net.ParseCIDR(dst)
	must(t, err)
	r.Dst = prefix
	must(t, netlink.RouteAdd(&r))
}

// addEth1 gives this host a second interface, with 10.88.0.1/24.
func addEth1(t *testing.T) netlink.Link {
	t.Helper()
	must(t, netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "eth1"}, PeerName: "peer1"}))
	for _, name := range []string{"peer1", "eth1"} {
		link, err := netlink.LinkByName(name)
		must(t, err)
		must(t, netlink.LinkSetUp(link))
		if name == "eth1" {
			addAddr(t, link, "10.88.0.1/24")
			return link
		}
	}
	return nil
}

// to is a request with nothing but a destination and what the command line
// always gives.
func to(t *testing.T, host string) SendRequest {
	t.Helper()
	ramp, err := probe.ParsePattern("ramp")
	must(t, err)
	return SendRequest{Host: host, Port: 5201, Path: auto, Pattern: ramp, Rate: units.Rate{Micro: 100e12}}
}

// resolved plans a sender that must be possible.
func resolved(t *testing.T, r SendRequest) *Send {
	t.Helper()
	s, err := ResolveSend(t.Context(), r)
	if err != nil {
		t.Fatalf("send %s: %v", r.Host, err)
	}
	return s
}

// wantError checks that an error is of type E and says so much.
func wantError[E error](t *testing.T, name string, err error, parts ...string) {
	t.Helper()
	var e E
	if !errors.As(err, &e) {
		t.Errorf("%s: %v (%T), want a %T", name, err, err, e)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %q does not say %q", name, err, part)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("%s: %q has more than one line", name, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
