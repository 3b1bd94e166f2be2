package session

import (
	"context"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"linerate/internal/lab"
	"linerate/internal/plan"
	"linerate/internal/result"
)

// second joins the hosts by another pair of interfaces, eth1.
func second(t *testing.T, l *lab.Lab) {
	t.Helper()
	var there netns.NsHandle
	check(t, l.B().Do(func() (err error) {
		there, err = netns.Get()
		return err
	}))
	defer there.Close()
	check(t, l.A().Do(func() error {
		return netlink.LinkAdd(&netlink.Veth{
			LinkAttrs: netlink.LinkAttrs{Name: "eth1"}, PeerName: "eth1", PeerNamespace: netlink.NsFd(there),
		})
	}))
	shell(t, l.A(), "ip addr add 10.77.9.1/24 dev eth1; ip link set dev eth1 up")
	shell(t, l.B(), "ip addr add 10.77.9.2/24 dev eth1; ip link set dev eth1 up")
}

// BC-118: of two tests between the same hosts, by the same port but over two
// interfaces, each has its own counts, and what one loses is told of that one alone.
func TestTwoTestsOnTwoInterfaces(t *testing.T) {
	const n = 2000
	l, err := lab.New(badWire(lab.Impairment{DropEvery: 10}))
	if err != nil {
		t.Fatal(err)
	}
	second(t, l)
	clean, open := make(chan ear, 1), started{make(chan struct{})}
	go func() {
		rep, err := receiveAt(context.Background(), l, plan.RecvRequest{
			Addr: "10.77.9.2", Port: 5201, RX: "udp", Window: big, Iface: "eth1", Silence: 20 * time.Second, Drain: 150 * time.Millisecond,
		}, open)
		clean <- earOf(rep, err)
	}()
	select {
	case <-open.once:
	case end := <-clean:
		t.Fatal(end.err)
	}
	e := listen(t, l, false, nil, "udp")
	r := plan.SendRequest{
		Host: "10.77.9.2", Port: 5201, Path: "udp", Payload: 300, Count: n, Rate: mustRate(t, "5kpps"), Pattern: pattern(t, "ramp"),
	}
	beside := make(chan error, 1)
	go func() {
		beside <- l.A().Do(func() error {
			p, err := plan.ResolveSend(context.Background(), r)
			if err == nil {
				_, err = Send(context.Background(), p, "test", deaf{})
			}
			return err
		})
	}()
	speak(t, l, false, plan.SendRequest{Path: "udp", Payload: 500, Count: n, Rate: mustRate(t, "5kpps")})
	check(t, <-beside)
	other := <-clean
	check(t, other.err)
	for lost, rep := range map[uint64]*result.Report{n / 10: e.hear()["udp"], 0: other.rep} {
		if r := rep.Receiver; r.Unique != n-lost || r.Lost != lost || r.Foreign != 0 || rep.Ledger.Unexplained != lost || len(rep.Ledger.Lost) != 0 {
			t.Errorf("%+v and %+v, want %d lost on the way", r, rep.Ledger, lost)
		}
	}
	check(t, l.Close())
}
