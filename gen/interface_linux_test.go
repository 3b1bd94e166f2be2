package gen

import (
	"errors"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"linerate/gen/pace"
)

// TestInterfaceErrors spoils the interface while a path sends. What it refuses is not
// sent (BC-030), each time with the errno that says why (BC-085).
func TestInterfaceErrors(t *testing.T) {
	for _, p := range variants() {
		burst := pace.Burst{N: 64, Size: 8000}
		open := func(t *testing.T) (*lab, Sender) {
			l := newLab(t)
			l.sink(testAddr4[1])
			cfg := l.config(l.template(p.Family, testAddr4, 1, nil, 8000))
			cfg.BindDevice = true
			s := l.open(p, cfg)
			if n, err := s.Send(burst); n != 64 || err != nil {
				t.Fatalf("Send = %d, %v", n, err)
			}
			return l, s
		}
		expect := func(t *testing.T, s Sender, want error) {
			t.Helper()
			if n, err := s.Send(burst); n != 0 || !errors.Is(err, want) {
				t.Errorf("Send = %d, %v, want %v", n, err, want)
			}
		}
		raw := p.Family == Raw
		t.Run(p.Name+"/down", func(t *testing.T) {
			l, s := open(t)
			l.check(l.onA.LinkSetDown(l.a))
			if raw {
				expect(t, s, unix.ENETDOWN)
			} else {
				expect(t, s, unix.ENETUNREACH) // its route went with the interface
			}
		})
		t.Run(p.Name+"/flap", func(t *testing.T) {
			l, s := open(t)
			l.check(l.onA.LinkSetDown(l.a))
			l.check(l.onA.LinkSetUp(l.a))
			l.waitUp()
			l.check(l.onA.NeighSet(&netlink.Neigh{
				LinkIndex: l.a.Attrs().Index, State: netlink.NUD_PERMANENT,
				IP: testAddr4[1].AsSlice(), HardwareAddr: l.b.Attrs().HardwareAddr,
			}))
			if n, err := s.Send(burst); n != 64 || err != nil {
				t.Errorf("Send = %d, %v, after the link was down for a while", n, err)
			}
		})
		t.Run(p.Name+"/deleted", func(t *testing.T) {
			l, s := open(t)
			l.check(l.onA.LinkDel(l.a))
			if raw {
				expect(t, s, unix.ENXIO)
			} else {
				expect(t, s, unix.ENETUNREACH)
			}
		})
		t.Run(p.Name+"/mtu", func(t *testing.T) {
			l, s := open(t)
			l.check(l.onA.LinkSetMTU(l.a, 1500))
			if p.Name == "afxdp" { // which the kernel doesn't hold to the MTU
				if n, err := s.Send(burst); n != 64 || err != nil {
					t.Errorf("Send = %d, %v, beyond the MTU", n, err)
				}
			} else {
				expect(t, s, unix.EMSGSIZE)
				if n, err := s.Send(pace.Burst{N: 1, Size: 8000}); n != 0 || !errors.Is(err, unix.EMSGSIZE) {
					t.Errorf("Send of one packet = %d, %v, want EMSGSIZE", n, err)
				}
			}
			l.check(l.onA.LinkSetMTU(l.a, testMTU))
			if n, err := s.Send(burst); n != 64 || err != nil {
				t.Errorf("Send = %d, %v, after the MTU was small for a while", n, err)
			}
		})
	}
}

// TestUnreachable sends where nobody listens: all of it leaves, and the sender
// knows that it was not welcome.
func TestUnreachable(t *testing.T) {
	for _, name := range []string{"udp", "gso"} {
		t.Run(name, func(t *testing.T) { unreachable(t, findPath(t, name)) })
	}
}

func unreachable(t *testing.T, p *Path) {
	l := newLab(t)
	r := l.reader()
	s := l.open(p, l.config(l.template(p.Family, testAddr4, 1, nil, 100)))
	const n = 6400
	for sent := 0; sent < n; {
		b := pace.Burst{First: uint64(sent), N: 64, Size: 100}
		k, err := s.Send(b)
		if k != 64 || err != nil {
			t.Fatalf("Send = %d, %v", k, err)
		}
		sent += k
	}
	done, err := s.Drain(t.Context())
	l.check(err)
	if done.Packets != n || done.Refused != 0 || done.Unreachable == 0 {
		t.Errorf("Drain = %+v, want %d packets, none refused, some unreachable", done, n)
	}
	e := newExpect(s.(*udpSender).template, l)
	e.receive(r, pace.Burst{N: n, Size: 100}, n)
}

// TestStaleErrors gives offer an error that the socket had kept.
func TestStaleErrors(t *testing.T) {
	l := newLab(t)
	p := findPath(t, "udp")
	s := l.open(p, l.config(l.template(p.Family, testAddr4, 1, nil, 100))).(*udpSender)
	// The first packet brings an ICMP error, which the second stumbles over.
	for range 2 {
		if o := offer(s.batch, s.flows[0], 1); o.sent != 1 || o.err != nil {
			t.Fatalf("offer = %+v", o)
		} else if o.stale > 0 {
			return
		}
	}
	t.Error("no error was kept")
}
