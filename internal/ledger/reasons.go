package ledger

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"linerate/internal/result"
)

// A kind is what a reason of the kernel's (enum skb_drop_reason) says of the
// place of a drop.
type kind uint8

const (
	inFilter  kind = iota // of the receiving stack: all that are named nowhere else
	inQueue               // of the sender: qdisc, neighbour
	inDevice              // of the sender: driver
	inBacklog             // of the receiver
	inSocket              // of the receiver: its own count is better but for what came merged
	copied                // a copy for another listener, or one that a raw path has already
)

// reasons are those whose kind or cure is known. IFACE stands for the interface.
var reasons = map[string]struct {
	kind   kind
	advice string
}{
	"QDISC_DROP":       {inQueue, "send slower, or give the queue more room: tc qdisc replace dev IFACE root pfifo limit 10000"},
	"QDISC_OVERLIMIT":  {inQueue, "send slower, or give the queue more room: tc qdisc replace dev IFACE root pfifo limit 10000"},
	"QDISC_CONGESTED":  {inQueue, "send slower: the queue signals congestion by drops"},
	"QDISC_BURST_DROP": {inQueue, "send slower, or in shorter bursts: --burst 1"},
	"CAKE_FLOOD":       {inQueue, "send slower, or without cake: tc qdisc replace dev IFACE root pfifo"},
	"FQ_BAND_LIMIT":    {inQueue, "tc qdisc change dev IFACE root fq limit 100000"},
	"FQ_FLOW_LIMIT":    {inQueue, "tc qdisc change dev IFACE root fq flow_limit 10000"},
	"FQ_HORIZON_LIMIT": {inQueue, "tc qdisc change dev IFACE root fq horizon_cap"},
	"TC_EGRESS":        {inQueue, "a tc filter drops them: tc filter show dev IFACE egress"},
	"NEIGH_CREATEFAIL": {inQueue, "the neighbour table is full: sysctl -w net.ipv4.neigh.default.gc_thresh3=8192"},
	"NEIGH_FAILED":     {inQueue, "the next hop did not answer for its MAC address: ip neigh show dev IFACE"},
	"NEIGH_QUEUEFULL":  {inQueue, "the next hop did not answer for its MAC address in time: ip neigh show dev IFACE"},
	"NEIGH_DEAD":       {inQueue, "the next hop's entry was removed: ip neigh show dev IFACE"},
	"QUEUE_PURGE":      {inQueue, "the next hop did not answer for its MAC address: ip neigh show dev IFACE"},
	"IP_OUTNOROUTES":   {inQueue, "there is no route any more: ip route"},

	"DEV_READY": {inDevice, "the link was down: ip -s link show dev IFACE"},
	"FULL_RING": {inDevice, "give the device more room: ethtool -G IFACE tx 4096"},

	"CPU_BACKLOG": {inBacklog, "sysctl -w net.core.netdev_max_backlog=10000, or spread the load: echo f > /sys/class/net/IFACE/queues/rx-0/rps_cpus"},

	"SOCKET_RCVBUFF": {inSocket, ""}, "PROTO_MEM": {inSocket, ""}, "SOCKET_BACKLOG": {inSocket, ""},
	"PACKET_SOCK_ERROR": {copied, ""}, "SOCKET_FILTER": {copied, ""}, "SOCKET_CLOSE": {copied, ""}, "DUP_FRAG": {copied, ""},

	"NETFILTER_DROP":     {inFilter, "a firewall rule drops them: nft list ruleset"},
	"IP_RPFILTER":        {inFilter, "no route leads back to the sender's address: sysctl -w net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.IFACE.rp_filter=0, or mend the route"},
	"IP_LOCAL_SOURCE":    {inFilter, "the sender's address is this host's own: give it another"},
	"IP_INVALID_SOURCE":  {inFilter, "the sender's address is not one that may send: see --src"},
	"IP_LOCALNET":        {inFilter, "loopback addresses are refused from outside"},
	"NO_SOCKET":          {inFilter, "nobody listened on the port: start the receiver first"},
	"UDP_CSUM":           {inFilter, "something on the way changes datagrams: compare captures at both ends"},
	"IP_CSUM":            {inFilter, "something on the way changes headers: compare captures at both ends"},
	"FRAG_REASM_TIMEOUT": {inFilter, "send what fits the path in one packet: linerate mtu HOST finds the size"},
	"FRAG_TOO_FAR":       {inFilter, "fragments overtook each other: send what fits the path in one packet"},
	"TC_INGRESS":         {inFilter, "a tc filter drops them: tc filter show dev IFACE ingress"},
	"XDP":                {inFilter, "an XDP program drops them: ip link show dev IFACE"},
	"OTHERHOST":          {inFilter, "they came with another host's MAC address, or with the tag of a VLAN that this host has no interface for: see --dst-mac and --vlan of the sender, and its neighbour table"},
	"IP_INADDRERRORS":    {inFilter, "this host does not have the destination address: ip addr"},
	"BPF_CGROUP_INGRESS": {inFilter, "an eBPF program of a control group drops them: bpftool cgroup tree"},
	"XFRM_POLICY":        {inFilter, "IPsec policy refuses them: ip xfrm policy"},
}

// unspecific is what a place that gives no reason leaves. At the sender it is a driver,
// which counts the drop itself, or the neighbour's queue; at the receiver a packet socket
// that frees what was read, or the rest of a super-frame that was dropped, which counts in
// whole for the reason of that.
const unspecific = "NOT_SPECIFIED"

// dropped are the packets that a host gave up at places of some kind. Known is
// whether the kernel was asked.
func dropped(h *result.Host, role string, wanted kind) (n uint64, evidence, advice string, known bool) {
	if !asked(h) {
		return 0, "", "", false
	}
	var quotes []string
	var most uint64
	for _, reason := range slices.Sorted(maps.Keys(h.DropReasons)) {
		packets := h.DropReasons[reason]
		if reasons[reason].kind != wanted || packets == 0 || reason == unspecific {
			continue
		}
		n += packets
		quotes = append(quotes, fmt.Sprintf("%s %d", reason, packets))
		if packets > most {
			most, advice = packets, cure(reason, h)
		}
	}
	if n == 0 {
		return 0, "", "", true
	}
	return n, fmt.Sprintf("dropped by the kernel of the %s for %s", role, strings.Join(quotes, ", ")), advice, true
}

// asked is whether a host's kernel told what it dropped of the test.
func asked(h *result.Host) bool { return h != nil && h.DropReasons != nil }

// cure is the advice for a reason on a host; empty if none is known.
func cure(reason string, h *result.Host) string {
	return strings.ReplaceAll(reasons[reason].advice, "IFACE", device(h))
}

// device is the name of the interface of the test, or what stands for one.
func device(h *result.Host) string {
	if h == nil || h.NIC == nil {
		return "IFACE"
	}
	return h.NIC.Interface
}
