package gen

// Paths is the table of transmit paths, the fastest first: auto takes the first
// that can run. With super-frames packet, ring and gso are equally fast; without,
// which is how single packets leave, gso is udp, and packet 1.4 times as fast.
// There afxdp is faster still, but past the queue and out of sight of captures, so
// it has to be asked for where packet can run.
var Paths = []Path{
	{
		Name:     "xdp",
		Family:   Raw,
		Doc:      "BPF_PROG_RUN: whole frames that an XDP program makes and numbers in the kernel",
		Needs:    "root, Linux 5.18, and an Ethernet interface whose driver sends XDP frames",
		Probe:    probeXDP,
		Trial:    trialXDP,
		Open:     openXDP,
		Bulk:     xdpBulk,
		Together: xdpTogether,
		Unqueued: true,
	},
	{
		Name:   "packet",
		Family: Raw,
		Doc:    "AF_PACKET: whole frames, many a call (sendmmsg)",
		Needs:  "CAP_NET_RAW and an Ethernet interface",
		Probe:  probePacket,
		Open:   openPacket,
	},
	{
		Name:   "ring",
		Family: Raw,
		Doc:    "PACKET_TX_RING: whole frames in memory shared with the kernel",
		Needs:  "CAP_NET_RAW and an Ethernet interface",
		Probe:  probeRing,
		Open:   openRing,
	},
	{
		Name:   "gso",
		Family: Kernel,
		Doc:    "UDP sockets: many datagrams as one, which the kernel cuts up last (UDP_SEGMENT)",
		Needs:  "Linux 4.18",
		Probe:  probeGSO,
		Open:   openGSO,
	},
	{
		Name:     "afxdp",
		Family:   Raw,
		Queue:    true,
		Doc:      "AF_XDP: whole frames in memory shared with the kernel, straight to the driver",
		Needs:    "CAP_NET_RAW, an Ethernet interface and a free queue of it",
		Unqueued: true,
		Probe:    probeAFXDP,
		Open:     openAFXDP,
	},
	{
		Name:   "udp",
		Family: Kernel,
		Doc:    "UDP sockets: datagrams, many a call (sendmmsg)",
		Needs:  "nothing",
		Probe:  probeUDP,
		Open:   openUDP,
	},
}
