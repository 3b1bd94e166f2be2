package host

import (
	"strconv"
	"strings"
)

// netCounters are the counters of a network namespace that say where a packet
// went, by the names of nstat(8): the group's and the counter's. Those of IPv6
// begin with Ip6 and Udp6. RFC 4293 and RFC 4113 define them, the rest is in
// linux/snmp.h.
var netCounters = map[string]bool{
	"IpInReceives": true, "IpInHdrErrors": true, "IpInAddrErrors": true, "IpInUnknownProtos": true,
	"IpInDiscards": true, "IpInDelivers": true, "IpOutRequests": true, "IpOutDiscards": true, "IpOutNoRoutes": true,
	"IpReasmTimeout": true, "IpReasmReqds": true, "IpReasmOKs": true, "IpReasmFails": true,
	"IpFragOKs": true, "IpFragFails": true, "IpFragCreates": true,
	"IpExtInNoRoutes": true, "IpExtInTruncatedPkts": true, "TcpExtIPReversePathFilter": true,
	"IcmpInDestUnreachs": true, "IcmpOutDestUnreachs": true,
	"UdpInDatagrams": true, "UdpOutDatagrams": true, "UdpNoPorts": true, "UdpInErrors": true,
	"UdpRcvbufErrors": true, "UdpSndbufErrors": true, "UdpInCsumErrors": true, "UdpMemErrors": true,

	"Ip6InReceives": true, "Ip6InHdrErrors": true, "Ip6InTooBigErrors": true, "Ip6InNoRoutes": true,
	"Ip6InAddrErrors": true, "Ip6InUnknownProtos": true, "Ip6InTruncatedPkts": true, "Ip6InDiscards": true,
	"Ip6InDelivers": true, "Ip6OutRequests": true, "Ip6OutDiscards": true, "Ip6OutNoRoutes": true,
	"Ip6ReasmTimeout": true, "Ip6ReasmReqds": true, "Ip6ReasmOKs": true, "Ip6ReasmFails": true,
	"Ip6FragOKs": true, "Ip6FragFails": true, "Ip6FragCreates": true,
	"Icmp6InDestUnreachs": true, "Icmp6InPktTooBigs": true, "Icmp6OutDestUnreachs": true,
	"Udp6InDatagrams": true, "Udp6OutDatagrams": true, "Udp6NoPorts": true, "Udp6InErrors": true,
	"Udp6RcvbufErrors": true, "Udp6SndbufErrors": true, "Udp6InCsumErrors": true, "Udp6MemErrors": true,
}

// parseSNMP adds the known counters of /proc/net/snmp or /proc/net/netstat: for
// each group a line of names and one of values. Lines that do not pair are left
// out, as are values that are no counters.
func parseSNMP(text string, counters map[string]uint64) {
	lines := strings.Split(text, "\n")
	for i := 0; i+1 < len(lines); i += 2 {
		names, values := strings.Fields(lines[i]), strings.Fields(lines[i+1])
		if len(names) != len(values) || len(names) == 0 || names[0] != values[0] {
			continue
		}
		group := strings.TrimSuffix(names[0], ":")
		for k := 1; k < len(names); k++ {
			add(counters, group+names[k], values[k])
		}
	}
}

// parseSNMP6 adds the known counters of /proc/net/snmp6: one name and value a line.
func parseSNMP6(text string, counters map[string]uint64) {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) == 2 {
			add(counters, f[0], f[1])
		}
	}
}

func add(counters map[string]uint64, name, value string) {
	if n, err := strconv.ParseUint(value, 10, 64); err == nil && netCounters[name] {
		counters[name] = n
	}
}
