//go:build !linux

package rx

// Paths is the table of receive paths, in order of preference.
var Paths = []Path{
	{
		Name:  "udp",
		Doc:   "a UDP socket",
		Needs: "nothing",
		Probe: probeUDP,
		Open:  openUDP,
	},
}
