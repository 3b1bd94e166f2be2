package rx

// Paths is the table of receive paths, in order of preference.
var Paths = []Path{
	{
		Name:     "udp",
		Doc:      "a UDP socket, read in batches with recvmmsg",
		Needs:    "nothing",
		Reflects: true,
		Spreads:  true,
		Probe:    probeUDP,
		Open:     openUDP,
	},
	{
		Name:    "gro",
		Doc:     "a UDP socket that takes what GSO or GRO made one of as one, and splits it (UDP_GRO)",
		Needs:   "Linux 5.0",
		Spreads: true,
		Probe:   probeGRO,
		Open:    openGRO,
	},
	{
		Name:    "ring",
		Doc:     "a packet socket's ring, TPACKET_V3, that the kernel fills in our memory",
		Needs:   "CAP_NET_RAW and an Ethernet interface",
		Spreads: true,
		Probe:   probeRing,
		Open:    openRing,
	},
	{
		Name:    "packet",
		Doc:     "a packet socket, read in batches with recvmmsg",
		Needs:   "CAP_NET_RAW and an Ethernet interface",
		Spreads: true,
		Probe:   probePacket,
		Open:    openPacket,
	},
	{
		Name:     "ebpf",
		Doc:      "an eBPF program at the interface that counts in the kernel and drops what it counted",
		Needs:    "CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN, Linux 5.18 and an Ethernet interface",
		InKernel: true,
		Takes:    true,
		Probe:    probeEBPF,
		Open:     openEBPF,
	},
	{
		Name:  "afxdp",
		Doc:   "AF_XDP sockets, to which an XDP program redirects our datagrams before the stack sees them",
		Needs: "CAP_NET_RAW, CAP_NET_ADMIN, CAP_BPF, CAP_PERFMON and an Ethernet interface without an XDP program",
		Takes: true,
		Probe: probeAFXDP,
		Open:  openAFXDP,
	},
}
