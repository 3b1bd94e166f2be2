package plan

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/lab"
	"linerate/internal/probe"
	"linerate/internal/result"
	"linerate/rx"
)

// at is a request to listen with what the command line always gives.
func at(addr string) RecvRequest {
	return RecvRequest{Addr: addr, Port: 5201, RX: auto, Silence: 5 * time.Second, Drain: 2 * time.Second}
}

func TestReceive(t *testing.T) {
	enter(t, lab.Config{})
	eth1 := addEth1(t).Attrs().Index
	eth := eth0(t).Attrs().Index
	const lo = 1
	for _, tt := range []struct {
		addr, iface string
		v4          bool
		local, dev  string
		index       int
	}{
		{"", "", false, "[::]:5201", "", 0},
		{"", "", true, "0.0.0.0:5201", "", 0},
		{"*", "", false, "[::]:5201", "", 0},
		{":7", "", false, "[::]:7", "", 0},
		{"*:7", "eth0", false, "[::]:7", "eth0", eth},
		{"0.0.0.0", "", false, "0.0.0.0:5201", "", 0},
		{"10.77.0.1:9", "", false, "10.77.0.1:9", "", eth},
		{"10.77.0.1", "eth0", false, "10.77.0.1:5201", "eth0", eth},
		{"[fd77::1]:9", "", false, "[fd77::1]:9", "", eth},
		{"fe80::1%eth0", "", false, "[fe80::1%eth0]:5201", "eth0", eth},
		{"fe80::1", "eth0", false, "[fe80::1%eth0]:5201", "eth0", eth},
		{"127.0.0.1", "", false, "127.0.0.1:5201", "", lo},
		{"239.1.1.1", "eth1", false, "239.1.1.1:5201", "eth1", eth1},
	} {
		r := at(tt.addr)
		r.Iface, r.V4 = tt.iface, tt.v4
		p, err := ResolveReceive(t.Context(), r)
		if err != nil {
			t.Errorf("%q: %v", tt.addr, err)
			continue
		}
		c := p.Config
		if p.Path.Name != "udp" || c.Local.String() != tt.local || c.Interface != tt.dev || c.IfIndex != tt.index {
			t.Errorf("%q, iface %q: %s on %q (%d), want %s on %q (%d)", tt.addr, tt.iface, c.Local, c.Interface, c.IfIndex, tt.local, tt.dev, tt.index)
		}
		receiver, err := p.Path.Open(&p.Config)
		if err != nil {
			t.Errorf("%q: %v", tt.addr, err)
			continue
		}
		must(t, receiver.Close())
	}
}

func TestReceivePlan(t *testing.T) {
	enter(t, lab.Config{})
	ramp, err := probe.ParsePattern("ramp")
	must(t, err)
	r := at(":7")
	r.RX, r.Window, r.Verify, r.Pattern, r.Format = "ring", 1<<20, true, ramp, probe.IPerf2
	r.Duration, r.Count = 3*time.Second, 1000
	p, err := ResolveReceive(t.Context(), r)
	must(t, err)
	want := result.Config{
		Protocol: "udp", RX: "ring", Peer: "none", Direction: "forward", Format: "iperf2",
		Interface: "eth0", Destination: "[::]:7", Threads: 1, DurationS: 3, Count: 1000,
	}
	if diff := cmp.Diff(want, p.Report); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	limits := rx.Limits{Duration: 3 * time.Second, Packets: 1000, Silence: 5 * time.Second, Drain: 2 * time.Second}
	if diff := cmp.Diff(limits, p.Limits); diff != "" {
		t.Errorf("limits (-want +got):\n%s", diff)
	}
	if c := p.Config; !c.Verify || c.Capture != math.MaxUint16 || c.Window != 1<<20 || p.Track.Pattern == nil || p.Track.Format != probe.IPerf2 {
		t.Errorf("config %+v, track %+v", c, p.Track)
	}
}

func TestReceiveRawInterface(t *testing.T) {
	enter(t, lab.Config{})
	raw := func(addr, iface string) (*Receive, error) {
		r := at(addr)
		r.RX, r.Iface = "packet", iface
		return ResolveReceive(t.Context(), r)
	}
	for _, tt := range []struct{ addr, iface string }{{"", ""}, {"10.77.0.1", ""}, {"fe80::1%eth0", ""}, {"", "eth0"}} {
		p, err := raw(tt.addr, tt.iface)
		if err != nil || p.Config.Interface != "eth0" || p.Config.IfIndex != eth0(t).Attrs().Index {
			t.Errorf("%q, iface %q: %+v, %v; want eth0", tt.addr, tt.iface, p, err)
		}
	}
	_, err := raw("127.0.0.1", "")
	wantError[*HostError](t, "lo by its address", err, "lo carries no Ethernet frames", "--rx udp")
	_, err = raw("", "lo")
	wantError[*HostError](t, "lo by its name", err, "lo carries no Ethernet frames")
	addEth1(t)
	_, err = raw("", "")
	wantError[*UsageError](t, "several", err, "--iface", "eth0", "eth1")
	if _, err := raw("", "eth0"); err != nil {
		t.Errorf("eth0 out of several: %v", err)
	}
}

func TestReceiveRefused(t *testing.T) {
	enter(t, lab.Config{})
	addEth1(t)
	for _, tt := range []struct {
		name   string
		change func(*RecvRequest)
		host   bool
		part   string
	}{
		{"a foreign address", func(r *RecvRequest) { r.Addr = "10.77.0.2" }, true, "10.77.0.2 is not an address of this host"},
		{"no such interface", func(r *RecvRequest) { r.Iface = "eth9" }, true, "no interface eth9; there are: "},
		{"no such zone", func(r *RecvRequest) { r.Addr = "fe80::1%eth9" }, true, "no interface eth9"},
		{"no zone", func(r *RecvRequest) { r.Addr = "fe80::1" }, false, "fe80::1%"},
		{"a group without zone", func(r *RecvRequest) { r.Addr = "ff02::5" }, false, "ff02::5%"},
		{"another's address", func(r *RecvRequest) { r.Addr, r.Iface = "10.77.0.1", "eth1" }, false, "is an address of eth0, not of eth1"},
		{"both families", func(r *RecvRequest) { r.V4, r.V6 = true, true }, false, "--ipv6"},
		{"the other family", func(r *RecvRequest) { r.Addr, r.V6 = "10.77.0.1", true }, false, "10.77.0.1 is not an IPv6 address"},
		{"no port", func(r *RecvRequest) { r.Addr = "10.77.0.1:0" }, false, "1 to 65535"},
		{"no such path", func(r *RecvRequest) { r.RX = "telepathy" }, false, "--rx"},
		{"payloads of the kernel", func(r *RecvRequest) { r.RX, r.Verify = "ebpf", true }, false, "--verify: rx ebpf looks at no payloads"},
		{"formats of the kernel", func(r *RecvRequest) { r.RX, r.Format = "ebpf", probe.IPerf2 }, false, "--format: rx ebpf knows the format probe alone"},
	} {
		r := at("")
		tt.change(&r)
		_, err := ResolveReceive(t.Context(), r)
		if tt.host {
			wantError[*HostError](t, tt.name, err, tt.part)
		} else {
			wantError[*UsageError](t, tt.name, err, tt.part)
		}
	}
}

func TestReceivePortInUse(t *testing.T) {
	enter(t, lab.Config{})
	first, err := ResolveReceive(t.Context(), at(""))
	must(t, err)
	receiver, err := first.Path.Open(&first.Config)
	must(t, err)
	defer receiver.Close()
	second, err := ResolveReceive(t.Context(), at(""))
	must(t, err)
	_, err = second.Path.Open(&second.Config)
	if err = OpenError(err); err == nil || errors.As(err, new(*HostError)) || errors.As(err, new(*PeerError)) {
		t.Errorf("%v, want the error of a port in use as it is", err)
	}
}
