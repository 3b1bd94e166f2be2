package session

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"linerate/gen"
	"linerate/internal/lab"
	"linerate/internal/plan"
	"linerate/internal/probe"
	"linerate/internal/result"
	"linerate/internal/units"
)

// faults are what may happen to the interface of a test while it runs.
var faults = []struct {
	name string
	make func(*lab.Host) error
	says string
}{
	{"down", func(h *lab.Host) error { return h.SetUp(h.Interface, false) }, "went down"},
	{"mtu", func(h *lab.Host) error { return h.SetMTU(h.Interface, 1400) }, "changed its MTU from 1500 to 1400"},
	{"deleted", func(h *lab.Host) error {
		return h.Do(func() error {
			link, err := netlink.LinkByName(h.Interface)
			if err != nil {
				return err
			}
			return netlink.LinkDel(link)
		})
	}, "was removed"},
}

// A fault of the sender's interface ends the test soon, with what left until
// then and a line that says what happened (BC-085).
func TestSenderSurvivesItsInterface(t *testing.T) {
	for _, path := range gen.Names() {
		for _, f := range faults {
			t.Run(path+"/"+f.name, func(t *testing.T) {
				l, err := lab.New(lab.Config{})
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				rep, err := whileFaulty(t, l.A(), f.make, func(ctx context.Context, o Observer) (*result.Report, error) {
					return sendFor(ctx, l, path, o)
				})
				if err == nil || rep == nil {
					t.Fatalf("report %v, error %v", rep, err)
				}
				if !strings.Contains(err.Error(), "eth0 "+f.says) || !strings.Contains(rep.Error, f.says) {
					t.Errorf("error %q, want that eth0 %s", err, f.says)
				}
				if s := rep.Sender; s.Packets < 100 || s.Packets > 2000 || len(rep.Intervals) == 0 {
					t.Errorf("%d packets and %d intervals in a report of more than 100 packets", s.Packets, len(rep.Intervals))
				}
			})
		}
	}
}

// So does one of the receiver's.
func TestReceiverSurvivesItsInterface(t *testing.T) {
	for _, path := range []string{"udp", "packet", "ring", "ebpf"} {
		for _, f := range faults {
			t.Run(path+"/"+f.name, func(t *testing.T) {
				l, err := lab.New(lab.Config{})
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				ctx, stop := context.WithCancel(context.Background())
				sending := make(chan struct{})
				defer func() { stop(); <-sending }()
				go func() {
					defer close(sending)
					_, _ = sendFor(ctx, l, "udp", deaf{}) // its link fails too, with the other end's
				}()
				rep, err := whileFaulty(t, l.B(), f.make, func(ctx context.Context, o Observer) (*result.Report, error) {
					var rep *result.Report
					err := l.B().Do(func() error {
						p, err := plan.ResolveReceive(ctx, plan.RecvRequest{
							Addr: l.B().Addr4.String(), Port: 5201, RX: path, Iface: l.B().Interface,
							Silence: 20 * time.Second, Drain: time.Second,
						})
						if err != nil {
							return err
						}
						p.Interval = 100 * time.Millisecond
						rep, err = Receive(ctx, p, "test", o)
						return err
					})
					return rep, err
				})
				if err == nil || rep == nil {
					t.Fatalf("report %v, error %v", rep, err)
				}
				if !strings.Contains(rep.Error, "eth0 "+f.says) {
					t.Errorf("error %q, want that eth0 %s", rep.Error, f.says)
				}
				if r := rep.Receiver; r.Packets < 100 || !r.LossIsLowerBound || len(rep.Intervals) == 0 {
					t.Errorf("%+v with %d intervals", r, len(rep.Intervals))
				}
			})
		}
	}
}

// A tally says when a hundred packets have left, or have come.
type tally struct {
	packets uint64
	enough  chan struct{}
}

func (*tally) Started(*result.Report) {}
func (*tally) Progress(string)        {}
func (c *tally) Interval(_ *result.Report, iv *result.Interval) {
	before := c.packets
	if s := iv.Sender; s != nil && s.IntervalSent != nil {
		c.packets += s.Packets
	}
	if r := iv.Receiver; r != nil && r.IntervalArrived != nil {
		c.packets += r.Packets
	}
	if before < 100 && c.packets >= 100 {
		close(c.enough)
	}
}

// whileFaulty runs a test, spoils its host once a hundred packets were counted and
// wants it to end within two seconds after that.
func whileFaulty(t *testing.T, h *lab.Host, spoil func(*lab.Host) error, run func(context.Context, Observer) (*result.Report, error)) (rep *result.Report, err error) {
	t.Helper()
	seen := &tally{enough: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		rep, err = run(ctx, seen)
	}()
	select {
	case <-seen.enough:
	case <-done:
		t.Fatalf("the test ended before there were a hundred packets: %v", err)
	}
	if err := spoil(h); err != nil {
		t.Fatal(err)
	}
	select {
	case <-done:
	case <-time.After(2 * time.Second):
		t.Error("the test goes on two seconds after the fault")
		cancel()
		<-done
	}
	return rep, err
}

func sendFor(ctx context.Context, l *lab.Lab, path string, o Observer) (*result.Report, error) {
	var rep *result.Report
	err := l.A().Do(func() error {
		rate, err := units.ParseRate("1kpps")
		if err != nil {
			return err
		}
		pattern, err := probe.ParsePattern("ramp")
		if err != nil {
			return err
		}
		p, err := plan.ResolveSend(ctx, plan.SendRequest{
			Host: l.B().Addr4.String(), Port: 5201, Rate: rate, Duration: 10 * time.Second, Path: path, Pattern: pattern,
		})
		if err != nil {
			return err
		}
		p.Interval = 100 * time.Millisecond
		rep, err = Send(ctx, p, "test", o)
		return err
	})
	return rep, err
}

// A stopped receiver loses packets at its socket, and the ledger says so exactly.
func TestLedgerNamesTheReceiversBuffer(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		l, err := lab.New(lab.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		e := listen(t, l, v6, func(r *plan.RecvRequest) {
			r.Window = 4096
			r.Silence = time.Minute
		})
		sent := speak(t, l, v6, plan.SendRequest{Payload: 1000, Path: "udp", Count: 20_000, Rate: mustRate(t, "max")})
		if sent.Sender.Packets != 20_000 {
			t.Fatalf("sent %d", sent.Sender.Packets)
		}
		// A machine that is away lets the link itself overflow, of which the receiver alone
		// knows nothing.
		link := sent.Hosts[0].NIC.Counters["tx_dropped"]
		for path, rep := range e.hear() {
			if path != "udp" && path != "gro" {
				continue
			}
			r, led := rep.Receiver, rep.Ledger
			if r.Lost == 0 {
				t.Fatalf("a buffer of 4 KiB lost nothing at full rate: %+v", r)
			}
			if led.Unexplained != link.After-link.Before || len(led.Lost) != 1 || led.Lost[0].Stage != "receiver_socket" {
				t.Errorf("%s: lost %d, of which the link %+v, ledger %+v", path, r.Lost, link, led)
			}
		}
	}
}
