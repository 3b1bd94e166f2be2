package ledger

import (
	"fmt"
	"math"

	"linerate/internal/result"
)

// merged says whether packets came merged into super-frames.
func (t *Test) merged() bool { return t.Receiver.Arrivals != nil && t.Receiver.MergedFrames > 0 }

// others is how many packets came by the receiver's interface that can't be of
// this test, frames that the device gave up included.
func (t *Test) others(missed uint64) uint64 {
	link := nic(t.ReceiverHost, receiver)
	came, known := link.rise("rx_packets")
	if !known || t.merged() || t.super() > 1 {
		return math.MaxUint64 // with super-frames, frames are no measure of packets
	}
	fragments := net(t.ReceiverHost, receiver).sum(t.ip("ReasmReqds"))
	return less(came+missed, t.Receiver.Packets+t.Receiver.Lost+fragments)
}

// ip and udp are the names of a group's counters in the IP version of the test.
func (t *Test) ip(name string) string {
	if t.IPv6 {
		return "Ip6" + name
	}
	return "Ip" + name
}

func (t *Test) udp(name string) string {
	if t.IPv6 {
		return "Udp6" + name
	}
	return "Udp" + name
}

// rxErrors are the device's reasons to give up a frame (linux/if_link.h), which
// rx_errors may hold together; rx_missed_errors stand alone.
var rxErrors = []string{"rx_length_errors", "rx_over_errors", "rx_crc_errors", "rx_frame_errors", "rx_fifo_errors"}

// driverErrors are what drivers tell beside those.
var driverErrors = []string{"ethtool_missed", "ethtool_no_buffer", "ethtool_crc"}

// receiverNIC is what the receiver's device gave up: no room, or damaged.
func (t *Test) receiverNIC() claim {
	h := t.ReceiverHost
	link := nic(h, receiver)
	kernel := max(link.sum("rx_errors"), link.sum(rxErrors...)) + link.sum("rx_missed_errors")
	frames := max(kernel, link.sum(driverErrors...))
	c := claim{Stage: result.Stage{Stage: "receiver_nic", Host: receiver}, low: shared(frames, t.others(frames)), high: frames}
	names := append([]string{"rx_missed_errors", "rx_errors"}, rxErrors...)
	c.Evidence = link.evidence(append(names, driverErrors...)...)
	c.Advice = fmt.Sprintf("ethtool -G %s rx 4096, and spread its interrupts over more cores", device(h))
	if crc := max(link.sum("rx_crc_errors"), link.sum("ethtool_crc")); crc > 0 && 2*crc > frames {
		c.Advice = fmt.Sprintf("frames come damaged: look at cable, optics and duplex (ethtool %s)", device(h))
	}
	return c
}

// backlog is what a core's queue between device and IP had no room for.
func (t *Test) backlog() claim {
	h := t.ReceiverHost
	c := claim{Stage: result.Stage{Stage: "receiver_backlog", Host: receiver}}
	machine := net(h, receiver)
	quoted := machine.evidence("softnet_dropped")
	if n, evidence, advice, known := dropped(h, receiver, inBacklog); known {
		c.low, c.high = n, n
		c.Evidence, c.Advice = and(evidence, quoted), advice
		return c
	}
	n, known := machine.rise("softnet_dropped")
	if dropped, has := nic(h, receiver).rise("rx_dropped"); has {
		n = min(n, dropped) // the first is of the whole machine, and each drop is in the second
	}
	if !known {
		return c
	}
	c.low, c.high = shared(n, t.others(n)), n
	c.Evidence = quoted
	c.Advice = "sysctl -w net.core.netdev_max_backlog=10000"
	return c
}

// checksums are the datagrams that the socket refused for their checksum: no
// fewer than low and no more than high. Its own count has those for want of room
// in it, too, and the host's counts have other sockets'.
func (t *Test) checksums() (low, high uint64) {
	host := net(t.ReceiverHost, receiver)
	wrong, known := host.rise(t.udp("InCsumErrors"))
	full := host.sum(t.udp("RcvbufErrors"), t.udp("MemErrors"))
	drops := t.own().Drops
	if !known || raw(t.ReceiverHost) || drops == nil {
		return 0, 0
	}
	high = min(wrong, *drops)
	return min(high, less(*drops, full)), high
}

// filter is what the receiving stack gave up between device and socket.
func (t *Test) filter() claim {
	h := t.ReceiverHost
	c := claim{Stage: result.Stage{Stage: "receiver_filter", Host: receiver}}
	if raw(t.ReceiverHost) {
		return c
	}
	host := net(h, receiver)
	low, high := t.checksums()
	wrong := host.sum(t.udp("InCsumErrors"))
	n, evidence, advice, known := dropped(h, receiver, inFilter)
	if known {
		// Large datagrams are checked when they are read, where the kernel tells no
		// reason of ours; the socket has counted these, and not all of the others.
		onArrival := h.DropReasons["UDP_CSUM"]
		n = less(n, onArrival)
		low = max(low, onArrival)
		high = max(high, low)
	} else {
		low += shared(wrong-high, t.others(0))
		high = wrong
	}
	c.low, c.high = n+low, n+high
	names := []string{t.ip("ReasmFails")}
	if !known {
		names = t.stackCounters()
	}
	// XDP tells no reason. On a path beneath UDP it may be our own program's work.
	link := nic(h, receiver)
	xdp := link.sum(xdpDrops)
	c.low += shared(xdp, t.others(0))
	c.high += xdp
	counted := host.sum(names...)
	if known {
		counted = less(counted, h.DropReasons["FRAG_REASM_TIMEOUT"])
	}
	c.low += shared(counted, t.others(0))
	c.high += counted
	c.Evidence = and(evidence, host.evidence(append([]string{t.udp("InCsumErrors")}, names...)...), link.evidence(xdpDrops))
	c.Advice = advice
	if c.Advice == "" && xdp > 0 {
		c.Advice = cure("XDP", h)
	}
	if c.Advice == "" {
		c.Advice = cure(t.likely(), h)
	}
	return c
}

// stackCounters are what the receiving stack counts of what it gives up.
func (t *Test) stackCounters() []string {
	names := []string{
		t.ip("InHdrErrors"), t.ip("InAddrErrors"), t.ip("InDiscards"), t.ip("InUnknownProtos"), t.ip("ReasmFails"), t.udp("NoPorts"),
	}
	if t.IPv6 {
		return append(names, "Ip6InNoRoutes", "Ip6InTruncatedPkts", "Ip6InTooBigErrors")
	}
	return append(names, "IpExtInNoRoutes", "IpExtInTruncatedPkts", "TcpExtIPReversePathFilter")
}

// xdpDrops is the counter of what XDP programs dropped.
const xdpDrops = "ethtool_xdp_drops"

// likely is the kernel's reason that the counters of a host speak for, of which
// the kernel itself could not be asked.
func (t *Test) likely() string {
	host := net(t.ReceiverHost, receiver)
	reason, most := "", uint64(0)
	for _, of := range []struct{ counter, reason string }{
		{t.udp("InCsumErrors"), "UDP_CSUM"}, {t.udp("NoPorts"), "NO_SOCKET"}, {t.ip("ReasmFails"), "FRAG_REASM_TIMEOUT"},
		{"TcpExtIPReversePathFilter", "IP_RPFILTER"}, {t.ip("InAddrErrors"), "IP_INADDRERRORS"},
	} {
		if n := host.sum(of.counter); n > most {
			reason, most = of.reason, n
		}
	}
	return reason
}

// own is what the receiving socket says of itself.
func (t *Test) own() result.Socket {
	if t.ReceiverHost == nil || t.ReceiverHost.Socket == nil {
		return result.Socket{}
	}
	return *t.ReceiverHost.Socket
}

// socket is what the receiving socket had no room for.
func (t *Test) socket() claim {
	c := claim{Stage: result.Stage{Stage: "receiver_socket", Host: receiver}}
	own := t.own()
	if own.Drops == nil {
		return c
	}
	low, high := t.checksums()
	c.low, c.high = less(*own.Drops, high), less(*own.Drops, low)
	count := fmt.Sprintf("buffer of %s overflowed, by the socket's own count: %d", buffer(own), c.high)
	reasons := ""
	if t.Config.RX == "gro" && c.high > 0 {
		// What UDP_GRO merged is dropped as one and counted as one (net/ipv4/udp.c).
		count += ", where datagrams that came merged are one"
		n, evidence, _, known := dropped(t.ReceiverHost, receiver, inSocket)
		if known {
			c.low, c.high = max(c.low, n), max(c.high, n)
			reasons = evidence
		} else {
			c.high = t.Receiver.Lost
		}
	}
	c.Evidence = and(count, reasons, net(t.ReceiverHost, receiver).evidence(t.udp("RcvbufErrors")))
	c.Advice = t.room()
	return c
}

// program is what the ring or map of the receiving program had no room for.
func (t *Test) program() claim {
	c := claim{Stage: result.Stage{Stage: "receiver_program", Host: receiver}}
	if drops := t.own().RingDrops; drops != nil {
		c.low, c.high = *drops, *drops
		c.Evidence = fmt.Sprintf("the ring's own count of frames that it had no room for: %d", *drops)
		c.Advice = "count with --rx udp, or leave a core to the receiver"
	}
	return c
}
