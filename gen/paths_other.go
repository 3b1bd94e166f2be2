//go:build !linux

package gen

// Paths is the table of transmit paths, the fastest first: auto takes the first
// that can run.
var Paths = []Path{
	{
		Name:   "udp",
		Family: Kernel,
		Doc:    "UDP sockets: a datagram a call",
		Needs:  "nothing",
		Probe:  probeUDP,
		Open:   openUDP,
	},
}
