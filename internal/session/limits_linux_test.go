package session

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"linerate/internal/lab"
	"linerate/internal/ledger"
	"linerate/internal/plan"
)

// spin keeps both cores of the machine busy beside the test.
func spin(t *testing.T, l *lab.Lab) {
	t.Helper()
	for range 4 {
		end, err := l.A().Background(exec.Command("sh", "-c", "while :; do :; done"))
		check(t, err)
		t.Cleanup(func() { end(0) })
	}
}

func shape(frame string) func(*testing.T, *lab.Lab) {
	return func(t *testing.T, l *lab.Lab) {
		t.Helper()
		shell(t, l.A(), "tc qdisc replace dev eth0 root tbf rate 20mbit burst "+frame+" limit 60000")
	}
}

// What held a test back is named, in set-ups that leave no doubt.
func TestLimitNamesEachSetUp(t *testing.T) {
	slowly := plan.SendRequest{Path: "udp", Payload: 500, Count: 1000, Rate: mustRate(t, "1kpps")}
	flat := func(path string, frame int) plan.SendRequest {
		return plan.SendRequest{Path: path, Frame: frame, Count: 500, Rate: mustRate(t, "100M")}
	}
	for _, s := range []struct {
		cause
		by   string
		busy bool // the machine is; else what others do on it is left out
	}{
		{cause{name: "the rate asked for", recv: roomy, send: slowly}, "rate", false},
		{cause{name: "the rate asked for, and a firewall", recv: roomy, send: slowly,
			spoil: nft(`table inet t { chain in { type filter hook input priority 0; udp dport 5201 udp length > 400 numgen inc mod 4 == 0 drop; }; }`)}, "rate", false},
		{cause{name: "a sender beside spinners", spoil: spin, recv: roomy,
			send: plan.SendRequest{Path: "udp", Payload: 500, Duration: time.Second, Rate: mustRate(t, "1T@l1")}}, "sender_cpu", true},
		{cause{name: "a receiver beside spinners", spoil: spin, recv: plan.RecvRequest{RX: "udp", Window: 16 << 10}, sleep: true, send: slowly}, "receiver_cpu", true},
		{cause{name: "a shaper, 1518-byte frames", spoil: shape("5000"), recv: roomy, send: flat("udp", 1518)}, "sender_qdisc", false},
		{cause{name: "a shaper, 9018-byte frames", lab: lab.Config{MTU: 9000}, spoil: shape("20000"), recv: roomy, send: flat("udp", 9018)}, "sender_qdisc", false},
		{cause{name: "a shaper that refuses raw frames", spoil: shape("5000"), recv: roomy, send: flat("packet", 1518)}, "sender_qdisc", false},
		{cause{name: "a shape in the middle, 1518-byte frames", lab: lab.Config{Shape: lab.Shape{Rate: 20e6, Limit: 20_000}}, recv: roomy, send: flat("udp", 1518)}, "network", false},
		{cause{name: "a shape in the middle, 9018-byte frames", lab: lab.Config{MTU: 9000, Shape: lab.Shape{Rate: 20e6, Limit: 60_000}}, recv: roomy, send: flat("udp", 9018)}, "network", false},
		{cause{name: "a small buffer", recv: plan.RecvRequest{RX: "udp", Window: 4 << 10}, sleep: true, send: slowly}, "receiver_buffer", false},
		{cause{name: "a small ring", recv: plan.RecvRequest{RX: "ring"}, sleep: true, send: slowly}, "receiver_ring", false},
	} {
		t.Run(s.name, func(t *testing.T) {
			if !s.busy {
				t.Parallel()
			}
			test := s.both(t, false)
			if !s.busy {
				test.SenderHost.CPU.Cores, test.ReceiverHost.CPU.Cores = nil, nil
			}
			l := ledger.Settle(test)
			got := ledger.Limit(test, l)
			want := s.by
			if want == "rate" && (test.Sender.Shortfall > 0 || test.Sender.Seconds > 1.1) { // the machine stood still
				want = "pacing"
			}
			if got == nil || got.By != want {
				t.Errorf("limited by %+v, want %s; ledger %+v", got, want, l)
			}
			if want == "sender_cpu" && (got == nil || !strings.Contains(got.Why, "or run before it by --realtime")) {
				t.Errorf("limited by %+v, want the cure for a sender that waits for spinners", got)
			}
		})
	}
}
