package plan

import (
	"fmt"

	"linerate/internal/iperf3"
)

// check refuses what contradicts itself.
func (r *TestRequest) check() error {
	switch {
	case r.ConnectOnly:
		return r.checkConnects()
	case r.Bounce > 0 && !r.Loaded:
		return r.checkBounce()
	case r.Bounce > 0 && r.RTT > 0:
		return &UsageError{"rtt", "contradicts --bounce: give one of them"}
	case r.Reverse && r.Bidir:
		return &UsageError{"reverse", "contradicts --bidir, in which both ends send: give one of them"}
	case r.Flows > iperf3.MaxStreams:
		return &UsageError{"flows", fmt.Sprintf("a coordinated test has at most %d streams", iperf3.MaxStreams)}
	case r.Reverse && r.many():
		return &UsageError{"threads", "are of the end that sends, which is the server with --reverse"}
	case r.Reverse && r.Queue != 0:
		return &UsageError{"queue", "is of the end that sends, which is the server with --reverse"}
	case r.Reverse && r.VLAN != nil:
		return &UsageError{"vlan", "is of what this end sends, and with --reverse the server sends"}
	case r.Omit > 0 && r.many():
		return &UsageError{"threads", "contradicts --omit, which one thread has to keep"}
	case r.Isochronous != nil && (r.Reverse || r.Bidir):
		return &UsageError{"isochronous", "goes forward alone: the server sends at a steady rate"}
	case r.Isochronous != nil && r.Omit > 0:
		return &UsageError{"omit", "contradicts --isochronous, whose bursts all count"}
	case r.Omit > 0 && (r.Count != 0 || r.Bytes != 0):
		return &UsageError{"omit", "goes with --duration alone"}
	}
	if r.Bounce > 0 {
		if err := CheckBounce(r.TCP, r.Bounce); err != nil {
			return err
		}
	}
	if !r.TCP {
		for flag, set := range map[string]bool{
			"mss": r.MSS != 0, "congestion": r.Congestion != "", "pace": r.Pace != 0,
		} {
			if set {
				return &UsageError{flag, "is for --tcp"}
			}
		}
		return nil
	}
	for flag, set := range map[string]bool{
		"threads": r.many(), "cpu": r.CPUs != nil, "realtime": r.Realtime, "queue": r.Queue != 0,
	} {
		if set {
			return &UsageError{flag, "is for UDP: no thread belongs to a stream of TCP"}
		}
	}
	for flag, set := range map[string]bool{
		"count": r.Count != 0, "frame": r.Frame != 0, "imix": len(r.IMIX.Frames) != 0, "burst": r.Burst != 0,
		"src-mac": r.SrcMAC != nil, "dst-mac": r.DstMAC != nil, "vlan": r.VLAN != nil,
		"ramp": r.Ramp != nil, "profile": r.Profile != nil, "smooth": r.Smooth, "isochronous": r.Isochronous != nil, "no-gso": r.NoGSO,
		"path": r.Path != "" && r.Path != auto, "rx": r.RX != "" && r.RX != auto,
	} {
		if set {
			return &UsageError{flag, "contradicts --tcp: the kernel makes the packets of TCP"}
		}
	}
	return nil
}
