package session

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/host"
	"linerate/internal/lab"
	"linerate/internal/ledger"
	"linerate/internal/plan"
	"linerate/internal/result"
)

// A cause is a loss made on purpose, and what the ledger has to say of it.
type cause struct {
	name  string
	lab   lab.Config
	spoil func(t *testing.T, l *lab.Lab) // before the test
	amid  func(t *testing.T, l *lab.Lab) // while it runs
	recv  plan.RecvRequest
	send  plan.SendRequest
	only  string // 4 or 6; both if empty
	sleep bool   // the receiver does not read before all is sent
	mute  bool   // nothing arrives
	cut   bool   // the receiver's link fails, which ends its part

	// want is what is lost at each stage; a negative number stands for all that
	// was lost, which is something.
	want map[string]int
}

const all = -1

// both runs one direction and joins what each end knows, as a coordinated test does.
func (c *cause) both(t *testing.T, v6 bool) ledger.Test {
	t.Helper()
	l, err := lab.New(c.lab)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { check(t, l.Close()) })
	if c.spoil != nil {
		c.spoil(t, l)
	}
	if c.recv.RX == "" {
		return c.unheard(t, l, v6)
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ear := make(chan ear, 1)
	open := reader{opened: make(chan struct{}), wake: make(chan struct{})}
	if !c.sleep {
		close(open.wake)
	}
	go func() {
		r := c.recv
		r.Addr, r.Port, r.Iface = addr(l.B(), v6), 5201, l.B().Interface
		r.Drain = 150 * time.Millisecond
		rep, err := receiveAt(ctx, l, r, open)
		ear <- earOf(rep, err)
	}()
	select {
	case <-open.opened:
	case end := <-ear:
		t.Fatal(end.err)
	}
	sending, amid := started{make(chan struct{})}, make(chan struct{})
	go func() {
		defer close(amid)
		if <-sending.once; c.amid != nil {
			c.amid(t, l)
		}
	}()
	sent := speakTo(t, l, v6, c.send, sending)
	if c.sleep {
		close(open.wake)
	}
	<-amid
	// The word that it is over may be among what was lost.
	patience := 3 * time.Second
	if c.mute {
		patience = 50 * time.Millisecond
	}
	defer time.AfterFunc(patience, stop).Stop()
	end := <-ear
	if end.rep == nil || (end.err != nil) != c.cut {
		t.Fatalf("report %v, error %v", end.rep, end.err)
	}
	came := end.rep.Receiver
	if came.LossIsLowerBound {
		came.Lost, came.LossIsLowerBound = sent.Sender.Packets-came.Unique, false
	}
	return ledger.Test{
		Config: sent.Config, IPv6: v6, Sender: sent.Sender, Receiver: came,
		SenderHost: &sent.Hosts[0], ReceiverHost: &end.rep.Hosts[0],
	}
}

// unheard sends to a host where nobody receives.
func (c *cause) unheard(t *testing.T, l *lab.Lab, v6 bool) ledger.Test {
	t.Helper()
	var meter *host.Meter
	check(t, l.B().Do(func() error {
		link, err := host.LinkByName(l.B().Interface)
		if err == nil {
			meter = host.OpenMeter(link.Index, host.Flow{To: netip.MustParseAddrPort("[::]:5201"), Magic: magic})
		}
		return err
	}))
	defer meter.Close()
	sent := speak(t, l, v6, c.send)
	return ledger.Test{
		Config: sent.Config, IPv6: v6, Sender: sent.Sender, SenderHost: &sent.Hosts[0],
		Receiver:     &result.Receiver{ArrivedPackets: &result.ArrivedPackets{Lost: sent.Sender.Packets}},
		ReceiverHost: meter.Total(),
	}
}

func earOf(rep *result.Report, err error) ear { return ear{rep: rep, err: err} }

func receiveAt(ctx context.Context, l *lab.Lab, r plan.RecvRequest, o Observer) (rep *result.Report, err error) {
	err = l.B().Do(func() error {
		p, err := plan.ResolveReceive(ctx, r)
		if err != nil {
			return err
		}
		rep, err = Receive(ctx, p, "test", o)
		return err
	})
	return rep, err
}

// A reader does not read before it is woken.
type reader struct{ opened, wake chan struct{} }

func (r reader) Started(*result.Report) {
	close(r.opened)
	<-r.wake
}
func (reader) Interval(*result.Report, *result.Interval) {}
func (reader) Progress(string)                           {}

const big = 64 << 20 // a receive buffer that holds all of a test

// roomy receives all that comes to the socket.
var roomy = plan.RecvRequest{RX: "udp", Window: big}

// everyTenth is a firewall's rule against data; end markers are shorter.
const everyTenth = `table inet t { chain in { type filter hook input priority 0; udp dport 5201 udp length > 400 numgen inc mod 10 == 0 drop; }; }`

// plain are 2000 datagrams that any host keeps up with, by the udp path.
func plain(t *testing.T) plan.SendRequest { return plainBy(t, "udp") }

func plainBy(t *testing.T, path string) plan.SendRequest {
	return plan.SendRequest{Path: path, Payload: 500, Count: 2000, Rate: mustRate(t, "20kpps")}
}

// fast are frames in bursts.
func fast(t *testing.T, n uint64, path string, frame int) plan.SendRequest {
	return plan.SendRequest{Path: path, Frame: frame, Count: n, Rate: mustRate(t, "1Mpps"), Burst: 64}
}

// BC-095: each loss is told of the place that it was made at, to the packet.
func TestLedgerNamesEachCause(t *testing.T) {
	for _, c := range slices.Concat(senderCauses(t), wireCauses(t), receiverCauses(t)) {
		for _, v6 := range []bool{false, true} {
			if c.only == "4" && v6 || c.only == "6" && !v6 {
				continue
			}
			t.Run(fmt.Sprintf("%s/v6=%v", c.name, v6), func(t *testing.T) {
				t.Parallel() // they wait most of the time
				test := c.both(t, v6)
				l := ledger.Settle(test)
				got, want := map[string]int{}, map[string]int{}
				rest := int(test.Receiver.Lost)
				for _, s := range l.Lost {
					if s.Packets > 0 {
						got[s.Stage] = int(s.Packets)
					}
					if s.Evidence == "" || s.Advice == "" && s.Stage != "network" {
						t.Errorf("%s without evidence or advice: %+v", s.Stage, s)
					}
				}
				for stage, n := range c.want {
					if n != all {
						want[stage] = n
						rest -= n
					}
				}
				for stage, n := range c.want {
					if n == all {
						want[stage] = rest
						if rest <= 0 {
							t.Errorf("nothing was lost")
						}
					}
				}
				if diff := cmp.Diff(want, got); diff != "" || l.Unexplained != 0 {
					t.Errorf("lost %d, unexplained %d (-want +got):\n%s\n%+v\nsender %v %v\nreceiver %v %v", test.Receiver.Lost, l.Unexplained, diff, l.Lost,
						test.SenderHost.DropReasons, risen(test.SenderHost), test.ReceiverHost.DropReasons, risen(test.ReceiverHost))
				}
			})
		}
	}
}

// risen are the counters of a host that moved, for a failure's message.
func risen(h *result.Host) map[string]uint64 {
	moved := map[string]uint64{}
	for name, c := range h.Counters {
		if c.After > c.Before {
			moved[name] = c.After - c.Before
		}
	}
	if h.NIC != nil {
		for name, c := range h.NIC.Counters {
			if c.After > c.Before {
				moved["nic "+name] = c.After - c.Before
			}
		}
	}
	return moved
}
