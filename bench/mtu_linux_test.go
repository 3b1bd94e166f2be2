package bench

import (
	"context"
	"fmt"
	"net/netip"
	"os/exec"
	"testing"

	"linerate/internal/lab"
	"linerate/internal/plan"
	"linerate/internal/pmtu"
	"linerate/internal/probe"
	"linerate/internal/result"
	"linerate/internal/session"
)

// in runs a command of a test in a host.
func in(t testing.TB, h *lab.Host, args ...string) {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	if err := h.Run(cmd); err != nil {
		t.Fatalf("%v: %v", args, err)
	}
}

// measure finds the MTU of the path from a to b, by reflections if a receiver there
// makes them.
func measure(t *testing.T, l *lab.Lab, v6 bool, local int, reflect bool) *result.MTU {
	t.Helper()
	to := l.B().Addr4
	if v6 {
		to = l.B().Addr6
	}
	var rep *result.Report
	check(t, l.A().Do(func() error {
		echo, err := pmtu.Open(to, "")
		if err != nil {
			return err
		}
		defer echo.Close()
		var reflections Prober
		if reflect {
			probes, err := pmtu.OpenReflections(netip.AddrPortFrom(to, 5201), "")
			if err != nil {
				return err
			}
			defer probes.Close()
			reflections = probes
		}
		c := MTU{Prober: echo, Reflections: reflections, Peer: to.String(), IPv6: v6, Local: local, Progress: func(string) {}}
		rep, err = c.Measure(context.Background())
		return err
	}))
	return rep.Results[0].MTU
}

// A router that answers, with another MTU on the way there than the way back has,
// one that does not (BC-032), and one that loses 5 %: sizes are found exactly, and who
// refused.
func TestMTUThroughARouter(t *testing.T) {
	for _, c := range []struct {
		forward, reverse int
		silent, lossy    bool
	}{
		{forward: 9000, reverse: 1400},
		{forward: 4470, reverse: 9000},
		{forward: 1400, reverse: 4470, silent: true},
		{forward: 1500, reverse: 1500, lossy: true},
	} {
		for _, v6 := range []bool{false, true} {
			t.Run(fmt.Sprintf("%+v/v6=%v", c, v6), func(t *testing.T) {
				l, err := lab.New(lab.Config{MTU: 9000, Router: true})
				check(t, err)
				defer l.Close()
				// A route's MTU on the router limits one way alone.
				family, a, b := "-4", "10.77.1.0/24", "10.77.2.0/24"
				if v6 {
					family, a, b = "-6", "fd77:1::/64", "fd77:2::/64"
				}
				limit := func(to, iface string, mtu int) {
					in(t, l.Middle(), "ip", family, "route", "del", to, "dev", iface)
					in(t, l.Middle(), "ip", family, "route", "add", to, "dev", iface, "mtu", fmt.Sprint(mtu))
				}
				limit(b, "mb", c.forward)
				limit(a, "ma", c.reverse)
				in(t, l.Middle(), "nft", "add table inet t ; add chain inet t out { type filter hook output priority 0 ; } ; "+
					"add chain inet t through { type filter hook forward priority 0 ; }")
				if c.silent {
					in(t, l.Middle(), "nft", "add rule inet t out icmp type destination-unreachable drop ; "+
						"add rule inet t out icmpv6 type packet-too-big drop")
				}
				if c.lossy {
					in(t, l.Middle(), "nft", "add rule inet t through numgen random mod 100 < 5 drop")
				}
				got := measure(t, l, v6, 9000, false)
				by := "router"
				switch {
				case c.forward == 9000:
					by = "here"
				case c.silent:
					by = "silence"
				}
				if got.Forward == nil || *got.Forward != c.forward || got.RefusedBy != by || got.Reverse == nil || *got.Reverse != c.reverse {
					t.Errorf("%d bytes there, refused by %s, %d back: %+v", deref(got.Forward), got.RefusedBy, deref(got.Reverse), got)
				}
			})
		}
	}
}

// Where a router drops in silence what is too large for the way back, small reflections
// show still more on the way there, and echo has the way back.
func TestReflectionsTellTheWayThereApart(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		t.Run(fmt.Sprintf("v6=%v", v6), func(t *testing.T) {
			t.Parallel() // they wait
			l, err := lab.New(lab.Config{MTU: 9000, Router: true})
			check(t, err)
			defer l.Close()
			in(t, l.Middle(), "nft", "add table inet t ; add chain inet t through { type filter hook forward priority 0 ; } ; "+
				"add rule inet t through iifname ma meta length > 4470 drop ; add rule inet t through iifname mb meta length > 1400 drop")
			stop := reflecting(t, l, v6)
			got := measure(t, l, v6, 9000, true)
			stop()
			if *got.Forward != 4470 || got.RefusedBy != "silence" || *got.Reverse != 1400 || got.ReverseRefusedBy != "silence" {
				t.Errorf("reflections: %d bytes there, refused by %s, %d back, refused by %s", *got.Forward, got.RefusedBy, *got.Reverse, got.ReverseRefusedBy)
			}
		})
	}
}

// reflecting runs a receiver at b that sends back what comes, until stop.
func reflecting(t *testing.T, l *lab.Lab, v6 bool) (stop func()) {
	t.Helper()
	to := l.B().Addr4
	if v6 {
		to = l.B().Addr6
	}
	ctx, cancel := context.WithCancel(context.Background())
	listening, done := make(chan struct{}), make(chan error, 1)
	go func() {
		done <- l.B().Do(func() error {
			p, err := plan.ResolveReceive(ctx, plan.RecvRequest{Addr: to.String(), Port: 5201, RX: "udp", Format: probe.Native, Reflect: 1})
			if err != nil {
				return err
			}
			_, err = session.Receive(ctx, p, "test", opened(listening))
			return err
		})
	}()
	select {
	case <-listening:
	case err := <-done:
		t.Fatal(err)
	}
	return func() {
		cancel()
		check(t, <-done)
	}
}

func deref(v *int) int {
	if v == nil {
		return -1
	}
	return *v
}
