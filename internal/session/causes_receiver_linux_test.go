package session

import (
	"strings"
	"testing"

	"linerate/internal/lab"
	"linerate/internal/plan"
)

// receiverCauses are losses at the receiver, and no loss.
func receiverCauses(t *testing.T) []cause {
	return []cause{
		{name: "a clean run", recv: roomy, send: plain(t)},
		{name: "a receive buffer of 4 KiB", recv: plan.RecvRequest{RX: "udp", Window: 4096}, sleep: true, send: plain(t),
			want: map[string]int{"receiver_socket": all}},
		// BC-091: the loss is the receiver's own.
		{name: "a receiver that stands still for 200 ms", recv: plan.RecvRequest{RX: "udp", Window: 256 << 10}, sleep: true,
			send: plan.SendRequest{Path: "udp", Payload: 500, Count: 4000, Rate: mustRate(t, "20kpps")},
			want: map[string]int{"receiver_socket": all}},
		{name: "the buffer of a packet socket", recv: plan.RecvRequest{RX: "packet", Window: 64 << 10}, sleep: true, send: plain(t),
			want: map[string]int{"receiver_socket": all}},
		{name: "a firewall on input", spoil: nft(everyTenth), recv: roomy, send: plain(t),
			want: map[string]int{"receiver_filter": 200}},
		{name: "a firewall at one port of a range", recv: plan.RecvRequest{RX: "udp", Window: big, Ports: 3},
			send: func() plan.SendRequest {
				r := plain(t)
				r.DstPorts, r.Flows = 3, 3
				return r
			}(),
			spoil: nft(strings.Replace(everyTenth, "5201", "5202", 1)), want: map[string]int{"receiver_filter": 67}},
		{name: "a firewall before routing", recv: roomy, send: plain(t),
			spoil: nft(`table inet t { chain in { type filter hook prerouting priority -300; udp dport 5201 udp length > 400 numgen inc mod 8 == 0 drop; }; }`),
			want:  map[string]int{"receiver_filter": 250}},
		{name: "a firewall at the receiver's device", recv: roomy, send: plain(t),
			spoil: nft(`table netdev t { chain in { type filter hook ingress device eth0 priority 0; udp dport 5201 udp length > 400 numgen inc mod 10 == 0 drop; }; }`),
			want:  map[string]int{"receiver_filter": 200}},
		{name: "a firewall that a raw path does not meet", spoil: nft(everyTenth), recv: plan.RecvRequest{RX: "ring"}, send: plain(t)},
		{name: "a wrong checksum, seen when read", lab: badWire(lab.Impairment{CorruptEvery: 10}), recv: roomy, send: plain(t),
			want: map[string]int{"receiver_filter": 200}},
		{name: "a wrong checksum, seen on arrival", lab: badWire(lab.Impairment{CorruptEvery: 10}), recv: roomy,
			send: plan.SendRequest{Path: "udp", Payload: 60, Count: 2000, Rate: mustRate(t, "20kpps")},
			want: map[string]int{"receiver_filter": 200}},
		{name: "nobody listens", send: plain(t), want: map[string]int{"receiver_filter": 2000}},
		// BC-103: it reached the interface, and no more.
		{name: "a packet for another host", recv: roomy, mute: true, send: func() plan.SendRequest {
			r := plainBy(t, "packet")
			r.DstMAC = []byte{2, 0, 0, 0, 0, 0x99}
			return r
		}(), want: map[string]int{"receiver_filter": 2000}},
		{name: "a packet with a VLAN's tag", recv: roomy, mute: true, send: func() plan.SendRequest { // BC-049
			r, id := plainBy(t, "packet"), uint16(100)
			r.VLAN = &id
			return r
		}(), want: map[string]int{"receiver_filter": 2000}},
		{name: "reverse path filtering", only: "4", recv: roomy, mute: true, send: plain(t),
			spoil: func(t *testing.T, l *lab.Lab) {
				shell(t, l.A(), "ip neigh replace 10.77.0.2 lladdr "+l.B().MAC.String()+" dev eth0 nud permanent")
				shell(t, l.B(), "ip route add 10.77.0.1/32 dev lo")
				sysctl(t, l.B(), "ipv4/conf/all/rp_filter=1", "ipv4/conf/eth0/rp_filter=1")
			}, want: map[string]int{"receiver_filter": 2000}},
		{name: "a receive ring", lab: lab.Config{MTU: 9000}, recv: plan.RecvRequest{RX: "ring"}, sleep: true, spoil: holdAll,
			send: fast(t, 12_000, "udp", 9018), want: map[string]int{"receiver_program": all}},
		{name: "an AF_XDP ring", recv: plan.RecvRequest{RX: "afxdp"}, sleep: true, spoil: holdAll,
			send: fast(t, 45_000, "udp", 90), want: map[string]int{"receiver_program": all}},
		{name: "a core's backlog", recv: roomy, send: onCore(0, fast(t, 20_000, "udp", 100)),
			spoil: func(t *testing.T, l *lab.Lab) {
				holdAll(t, l)
				// The other core takes the packets on, and is slow at it.
				shell(t, l.B(), "echo 2 > /sys/class/net/eth0/queues/rx-0/rps_cpus")
				slow := strings.Repeat("udp dport 1 drop;\n", 3000)
				nft("table inet t { chain in { type filter hook input priority 0;\n"+slow+"}; }")(t, l)
			}, want: map[string]int{"receiver_backlog": all}},
		{name: "the wire and a firewall", lab: badWire(lab.Impairment{DropEvery: 10}), spoil: nft(everyTenth), recv: roomy, send: plain(t),
			want: map[string]int{"network": 200, "receiver_filter": 180}},
		{name: "a firewall and a small buffer", spoil: nft(everyTenth), recv: plan.RecvRequest{RX: "udp", Window: 64 << 10}, sleep: true,
			send: plan.SendRequest{Path: "udp", Payload: 500, Count: 8000, Rate: mustRate(t, "20kpps")},
			want: map[string]int{"receiver_filter": 800, "receiver_socket": all}},
	}
}

// onCore has one core send, so that packets do not wait on another for their sender.
func onCore(n int, r plan.SendRequest) plan.SendRequest {
	r.CPUs = []int{n}
	return r
}

// holdAll gives the sender's interface a queue that holds all of a test: the usual one
// has room for a millisecond of it, and loses more when the thread that empties it is
// away for longer.
func holdAll(t *testing.T, l *lab.Lab) {
	shell(t, l.A(), "tc qdisc replace dev eth0 root pfifo limit 50000")
}
