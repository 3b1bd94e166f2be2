package session

import (
	"testing"

	"linerate/internal/lab"
)

// senderCauses are losses at the sender.
func senderCauses(t *testing.T) []cause {
	return []cause{
		{name: "a full tbf on the sender", spoil: tbf, recv: roomy, send: plain(t),
			want: map[string]int{"sender_qdisc": all}},
		{name: "a full tbf on the sender, with super-frames", spoil: tbf, recv: roomy, send: plainBy(t, "gso"),
			want: map[string]int{"sender_qdisc": all}},
		{name: "a queue that tells a raw path of each drop", spoil: tbf, recv: roomy, send: plainBy(t, "packet")},
		{name: "a queue that tells a ring of each drop", spoil: tbf, recv: roomy, send: plainBy(t, "ring")},
		{name: "a firewall at the sender's device", recv: roomy, send: plain(t),
			spoil: func(t *testing.T, l *lab.Lab) {
				shell(t, l.A(), `nft 'add table netdev t; add chain netdev t out { type filter hook egress device eth0 priority 0; }; add rule netdev t out udp dport 5201 udp length > 400 numgen inc mod 10 == 0 drop'`)
			},
			want: map[string]int{"sender_qdisc": 200}},
	}
}
