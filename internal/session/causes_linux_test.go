package session

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"linerate/internal/host"
	"linerate/internal/lab"
	"linerate/internal/ledger"
	"linerate/internal/plan"
	"linerate/internal/probe"
	"linerate/internal/result"
)

// A cause is a loss made on purpose, and what the ledger has to say of it.
type cause struct {
	name  string
	lab   lab.Config
	spoil func(t *testing.T, l *lab.Lab) // before the test
	amid  func(t *testing.T, l *lab.Lab) // while it runs
	away  time.Duration                  // that the receiver does not read at first
	recv  plan.RecvRequest
	send  plan.SendRequest
	only  string // 4 or 6; both if empty
	mute  bool   // nothing arrives

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
	open := reader{make(chan struct{}), c.away}
	go func() {
		r := c.recv
		r.Addr, r.Port, r.Iface = addr(l.B(), v6), 5201, l.B().Interface
		r.Drain = 150 * time.Millisecond
		r.Silence = 700 * time.Millisecond
		if c.mute {
			r.Silence = 0 // it is told when the sender is done
		}
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
	<-amid
	if c.mute {
		time.Sleep(50 * time.Millisecond)
		stop()
	}
	end := <-ear
	if end.err != nil {
		t.Fatal(end.err)
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

// A reader begins to read so long after its socket is open.
type reader struct {
	opened chan struct{}
	away   time.Duration
}

func (r reader) Started(*result.Report) {
	close(r.opened)
	time.Sleep(r.away)
}
func (reader) Interval(*result.Report, *result.Interval) {}
func (reader) Progress(string)                           {}

func nft(rules string) func(*testing.T, *lab.Lab) {
	return func(t *testing.T, l *lab.Lab) { t.Helper(); shell(t, l.B(), "nft -f - <<'END'\n"+rules+"\nEND") }
}

func shell(t *testing.T, h *lab.Host, script string) {
	t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := h.Run(cmd); err != nil {
		t.Errorf("%s: %v\n%s", script, err, out.String())
	}
}

// sysctl sets variables of a host below /proc/sys/net.
func sysctl(t *testing.T, h *lab.Host, settings ...string) {
	t.Helper()
	check(t, h.Do(func() error {
		for _, s := range settings {
			name, value, _ := strings.Cut(s, "=")
			if err := os.WriteFile("/proc/sys/net/"+name, []byte(value), 0); err != nil {
				return err
			}
		}
		return nil
	}))
}

// tbf narrows the sender's own interface.
func tbf(t *testing.T, l *lab.Lab) {
	t.Helper()
	shell(t, l.A(), "tc qdisc replace dev eth0 root tbf rate 20mbit burst 5000 limit 20000")
}

// unheard says that datagrams like the test's, but of another port, fill a socket
// of the receiver that nobody reads, during the test.
func unheard(t *testing.T, l *lab.Lab) {
	t.Helper()
	fd := -1
	check(t, l.B().Do(func() (err error) {
		if fd, err = unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err != nil {
			return err
		}
		return unix.Bind(fd, &unix.SockaddrInet4{Port: 6000})
	}))
	defer unix.Close(fd)
	flood(t, l, netip.AddrPortFrom(l.B().Addr4, 6000), 5000)
}

// flood sends datagrams that look like the test's to another port.
func flood(t *testing.T, l *lab.Lab, to netip.AddrPort, n int) {
	t.Helper()
	check(t, l.A().Do(func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		payload := make([]byte, 500)
		payload[0], payload[1] = probe.MagicData>>8, probe.MagicData&0xff
		for range n {
			if err := unix.Sendto(fd, payload, 0, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}); err != nil {
				return err
			}
		}
		return nil
	}))
}

func badWire(i lab.Impairment) lab.Config {
	i.Port, i.Magic = 5201, magic
	return lab.Config{Impair: &i}
}

const big = 64 << 20 // a receive buffer that holds all of a test

// causes are made one by one, over IPv4 and IPv6.
func causes(t *testing.T) []cause {
	plain := plan.SendRequest{Path: "udp", Payload: 500, Count: 2000, Rate: mustRate(t, "20kpps")}
	by := func(path string) plan.SendRequest { r := plain; r.Path = path; return r }
	fast := func(n uint64, path string, frame int) plan.SendRequest {
		return plan.SendRequest{Path: path, Frame: frame, Count: n, Rate: mustRate(t, "1Mpps"), Burst: 64}
	}
	udp := plan.RecvRequest{RX: "udp", Window: big}
	drops := `table inet t { chain in { type filter hook input priority 0; udp dport 5201 udp length > 400 numgen inc mod 10 == 0 drop; }; }`
	return []cause{
		{name: "a clean run", recv: udp, send: plain},
		{name: "a receive buffer of 4 KiB", recv: plan.RecvRequest{RX: "udp", Window: 4096}, away: 50 * time.Millisecond, send: plain,
			want: map[string]int{"receiver_socket": all}},
		{name: "a receiver that stands still for 200 ms", recv: plan.RecvRequest{RX: "udp", Window: 256 << 10}, away: 200 * time.Millisecond,
			send: plan.SendRequest{Path: "udp", Payload: 500, Count: 8000, Rate: mustRate(t, "20kpps")},
			want: map[string]int{"receiver_socket": all}},
		{name: "the buffer of a packet socket", recv: plan.RecvRequest{RX: "packet", Window: 64 << 10}, away: 100 * time.Millisecond, send: plain,
			want: map[string]int{"receiver_socket": all}},
		{name: "a full tbf on the sender", spoil: tbf, recv: udp, send: plain,
			want: map[string]int{"sender_qdisc": all}},
		{name: "a full tbf on the sender, with super-frames", spoil: tbf, recv: udp, send: by("gso"),
			want: map[string]int{"sender_qdisc": all}},
		{name: "a full tbf in the middle", lab: lab.Config{Shape: lab.Shape{Rate: 20e6, Limit: 20_000}}, recv: udp, send: plain,
			want: map[string]int{"network": all}},
		{name: "a queue that tells a raw path of each drop", spoil: tbf, recv: udp, send: by("packet")},
		{name: "a queue that tells a ring of each drop", spoil: tbf, recv: udp, send: by("ring")},
		{name: "a firewall on input", spoil: nft(drops), recv: udp, send: plain,
			want: map[string]int{"receiver_filter": 200}},
		{name: "a firewall before routing", recv: udp, send: plain,
			spoil: nft(`table inet t { chain in { type filter hook prerouting priority -300; udp dport 5201 udp length > 400 numgen inc mod 8 == 0 drop; }; }`),
			want:  map[string]int{"receiver_filter": 250}},
		{name: "a firewall at the receiver's device", recv: udp, send: plain,
			spoil: nft(`table netdev t { chain in { type filter hook ingress device eth0 priority 0; udp dport 5201 udp length > 400 numgen inc mod 10 == 0 drop; }; }`),
			want:  map[string]int{"receiver_filter": 200}},
		{name: "a firewall that a raw path does not meet", spoil: nft(drops), recv: plan.RecvRequest{RX: "ring"}, send: plain},
		{name: "a firewall at the sender's device", recv: udp, send: plain,
			spoil: func(t *testing.T, l *lab.Lab) {
				shell(t, l.A(), `nft 'add table netdev t; add chain netdev t out { type filter hook egress device eth0 priority 0; }; add rule netdev t out udp dport 5201 udp length > 400 numgen inc mod 10 == 0 drop'`)
			},
			want: map[string]int{"sender_qdisc": 200}},
		{name: "a wrong checksum, seen when read", lab: badWire(lab.Impairment{CorruptEvery: 10}), recv: udp, send: plain,
			want: map[string]int{"receiver_filter": 200}},
		{name: "a wrong checksum, seen on arrival", lab: badWire(lab.Impairment{CorruptEvery: 10}), recv: udp,
			send: plan.SendRequest{Path: "udp", Payload: 60, Count: 2000, Rate: mustRate(t, "20kpps")},
			want: map[string]int{"receiver_filter": 200}},
		{name: "the wire", lab: badWire(lab.Impairment{DropEvery: 10}), recv: udp, send: plain,
			want: map[string]int{"network": 200}},
		{name: "the wire, with duplicates and reordering", lab: badWire(lab.Impairment{DropEvery: 10, DupEvery: 7, SwapEvery: 20}), recv: udp, send: plain,
			want: map[string]int{"network": 200}},
		{name: "the wire, to a ring", lab: badWire(lab.Impairment{DropEvery: 10}), recv: plan.RecvRequest{RX: "ring"}, send: by("ring"),
			want: map[string]int{"network": 200}},
		{name: "the wire, counted in the kernel", lab: badWire(lab.Impairment{DropEvery: 10}), recv: plan.RecvRequest{RX: "ebpf"}, send: by("packet"),
			want: map[string]int{"network": 200}},
		{name: "a size that the middle swallows", lab: badWire(lab.Impairment{DropAbove: 1000}), recv: udp, send: plan.SendRequest{
			Path: "udp", IMIX: plan.Mix{Name: "mix", Frames: []int{300, 1300}}, Count: 2000, Rate: mustRate(t, "20kpps")},
			want: map[string]int{"network": 1000}},
		{name: "an outage of the middle", lab: lab.Config{Impair: &lab.Impairment{}}, recv: udp,
			send: plan.SendRequest{Path: "udp", Payload: 500, Count: 8000, Rate: mustRate(t, "20kpps")},
			amid: func(t *testing.T, l *lab.Lab) {
				time.Sleep(100 * time.Millisecond)
				check(t, l.SetOutage(true))
				time.Sleep(50 * time.Millisecond)
				check(t, l.SetOutage(false))
			}, want: map[string]int{"network": all}},
		{name: "nobody listens", send: plain, want: map[string]int{"receiver_filter": 2000}},
		{name: "a packet for another host", recv: udp, mute: true, send: func() plan.SendRequest {
			r := by("packet")
			r.DstMAC = []byte{2, 0, 0, 0, 0, 0x99}
			return r
		}(), want: map[string]int{"receiver_filter": 2000}},
		{name: "reverse path filtering", only: "4", recv: udp, mute: true, send: plain,
			spoil: func(t *testing.T, l *lab.Lab) {
				shell(t, l.A(), "ip neigh replace 10.77.0.2 lladdr "+l.B().MAC.String()+" dev eth0 nud permanent")
				shell(t, l.B(), "ip route add 10.77.0.1/32 dev lo")
				sysctl(t, l.B(), "ipv4/conf/all/rp_filter=1", "ipv4/conf/eth0/rp_filter=1")
			}, want: map[string]int{"receiver_filter": 2000}},
		{name: "a receive ring", lab: lab.Config{MTU: 9000}, recv: plan.RecvRequest{RX: "ring"}, away: 700 * time.Millisecond,
			send: fast(12_000, "udp", 9018), want: map[string]int{"receiver_program": all}},
		{name: "an AF_XDP ring", recv: plan.RecvRequest{RX: "afxdp"}, away: time.Second,
			send: fast(45_000, "udp", 90), want: map[string]int{"receiver_program": all}},
		{name: "a core's backlog", recv: udp, send: fast(20_000, "udp", 100),
			spoil: func(t *testing.T, l *lab.Lab) {
				// The other core takes the packets on, and is slow at it.
				shell(t, l.B(), "echo 2 > /sys/class/net/eth0/queues/rx-0/rps_cpus")
				slow := strings.Repeat("udp dport 1 drop;\n", 3000)
				nft("table inet t { chain in { type filter hook input priority 0;\n"+slow+"}; }")(t, l)
			}, want: map[string]int{"receiver_backlog": all}},
		{name: "the wire and a firewall", lab: badWire(lab.Impairment{DropEvery: 10}), spoil: nft(drops), recv: udp, send: plain,
			want: map[string]int{"network": 200, "receiver_filter": 180}},
		{name: "a firewall and a small buffer", spoil: nft(drops), recv: plan.RecvRequest{RX: "udp", Window: 64 << 10}, away: 250 * time.Millisecond,
			send: plan.SendRequest{Path: "udp", Payload: 500, Count: 8000, Rate: mustRate(t, "20kpps")},
			want: map[string]int{"receiver_filter": 800, "receiver_socket": all}},
		{name: "others, whose socket overflows", recv: udp, send: plain, amid: unheard},
		{name: "the wire, beside others whose socket overflows", lab: badWire(lab.Impairment{DropEvery: 10}), recv: udp, send: plain, amid: unheard,
			want: map[string]int{"network": 200}},
	}
}

func TestLedgerNamesEachCause(t *testing.T) {
	for _, c := range causes(t) {
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
