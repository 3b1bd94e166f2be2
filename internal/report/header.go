package report

import (
	"fmt"
	"strconv"
	"strings"

	"linerate/internal/result"
	"linerate/internal/units"
)

// header prints what is about to be sent or counted.
func (o Options) header(b *strings.Builder, r *result.Report) {
	c := r.Config
	if c == nil {
		return
	}
	if c.Peer != "" && c.Peer != "none" {
		o.coordinated(b, c, r.Command == "serve")
	} else if c.Protocol == "tcp" && c.Source != "" {
		o.line(b, " · ", nonEmpty("tcp to "+c.Destination+" from "+c.Source+by("", c.Interface), several(c.Flows, "%d streams"), congestion(c))...)
	} else if c.Path == "" {
		o.line(b, " · ", nonEmpty("counting "+c.Protocol+" to "+anyAddress(c.Destination)+by(c.RX, c.Interface), formatName(c))...)
	} else {
		from := ""
		if c.Source != "" {
			from = " from " + c.Source
		}
		o.line(b, " · ", nonEmpty(
			c.Protocol+" to "+c.Destination+from+by(c.Path, c.Interface),
			frames(c), asked(c), packetsOf(c), several(c.Flows, "%d flows"), several(c.Burst, "bursts of %d"), vlan(c), formatName(c),
		)...)
	}
	if !o.Verbose {
		return
	}
	if c.PathReason != "" {
		o.line(b, "", "path: "+c.PathReason)
	}
	if c.NextHopMAC != "" {
		via := ""
		if c.Gateway != "" {
			via = " (gateway " + c.Gateway + ")"
		}
		o.line(b, "", "next hop: "+c.NextHopMAC+via)
	}
	if c.WindowGot != 0 {
		o.line(b, "", fmt.Sprintf("socket buffer: %s (asked %s)",
			units.FormatSize(int64(c.WindowGot)), units.FormatSize(int64(c.WindowAsked))))
	}
}

// coordinated prints what a test of both ends is to be, to its client or its server.
func (o Options) coordinated(b *strings.Builder, c *result.Config, server bool) {
	direction := " to and from "
	switch {
	case c.Direction == "bidir":
	case server == (c.Direction == "reverse"):
		direction = " to "
	default:
		direction = " from "
	}
	size := frames(c)
	rate := asked(c)
	if c.Protocol == "tcp" {
		size = ""
		if c.RateBps == 0 {
			rate = "as fast as it can"
		}
	}
	o.line(b, " · ", nonEmpty(
		c.Protocol+direction+c.Destination+by(c.Path, c.Interface), counted(c), size, rate, packetsOf(c),
		several(c.Flows, "%d streams"), several(c.Burst, "bursts of %d"), "peer "+c.Peer, congestion(c),
	)...)
}

// counted names how packets are counted.
func counted(c *result.Config) string {
	if c.RX == "" {
		return ""
	}
	return "counted by " + c.RX
}

func congestion(c *result.Config) string {
	if c.Congestion == "" {
		return ""
	}
	return c.Congestion
}

// by names the kernel path and the interface, as far as they are known.
func by(path, iface string) string {
	s := ""
	if path != "" {
		s = " by " + path
	}
	if iface != "" {
		s += " on " + iface
	}
	return s
}

// anyAddress prints an unspecified listening address as *.
func anyAddress(addr string) string {
	for _, unspecified := range []string{"0.0.0.0:", "[::]:", ":"} {
		if port, ok := strings.CutPrefix(addr, unspecified); ok {
			return "*:" + port
		}
	}
	return addr
}

// frames is the size of what is sent.
func frames(c *result.Config) string {
	switch {
	case c.IMIX != "":
		return "frames of " + c.IMIX
	case c.FrameBytes != 0:
		return fmt.Sprintf("%d-byte frames (%d payload)", c.FrameBytes, c.PayloadBytes)
	case c.PayloadBytes != 0:
		return fmt.Sprintf("%d bytes of payload", c.PayloadBytes)
	}
	return ""
}

// asked is the rate that was asked for, with all its digits and its layer.
func asked(c *result.Config) string {
	switch n := len(c.Profile); {
	case n != 0:
		return fmt.Sprintf("%d rates from %s to %s", n, c.Profile[0].Rate, c.Profile[n-1].Rate)
	case c.Isochronous != nil:
		i := c.Isochronous
		s := strconv.FormatFloat(i.BurstsPerS, 'f', -1, 64) + " bursts/s of " + exactly(i.MeanBps, units.BitUnit) + " " + layerName(c.Layer)
		if i.StdDevBps > 0 {
			s += ", stddev " + exactly(i.StdDevBps, units.BitUnit)
		}
		return s
	case c.RateBps != 0:
		return exactly(c.RateBps, units.BitUnit) + " " + layerName(c.Layer)
	case c.RatePps != 0:
		return exactly(c.RatePps, units.PacketUnit)
	}
	return "as fast as the path can"
}

// packetsOf is the packet rate that a rate in bits comes to.
func packetsOf(c *result.Config) string {
	if c.RateBps == 0 || c.RatePps == 0 {
		return ""
	}
	return units.FormatPackets(c.RatePps)
}

// exactly prints a rate in its unit with all its digits.
func exactly(v float64, unit func(float64) (string, float64)) string {
	name, divisor := unit(v)
	return strconv.FormatFloat(v/divisor, 'f', -1, 64) + " " + name
}

// layerName is how a layer stands behind a rate: UDP payload by its name, the
// others by their numbers.
func layerName(layer string) string {
	if layer == "" || layer == "l4" {
		return "payload"
	}
	return strings.ToUpper(layer)
}

func vlan(c *result.Config) string {
	if c.VLAN == nil {
		return ""
	}
	return fmt.Sprintf("vlan %d", *c.VLAN)
}

// formatName names the payload header where it is not linerate's own.
func formatName(c *result.Config) string {
	if c.Format == "" || c.Format == "probe" {
		return ""
	}
	return c.Format + " format"
}

// several formats n where it is more than the ordinary 1.
func several(n int, format string) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf(format, n)
}

func nonEmpty(parts ...string) []string {
	kept := parts[:0]
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return kept
}
