package report

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"linerate/internal/result"
)

// Listening announces a server that waits on a port. The window is what
// getsockopt says of its socket, asked what -w wants, or 0.
func (p *IPerf2) Listening(port, window, asked int) error {
	p.port = port
	if p.o.CSV || p.o.NoSettings {
		return nil
	}
	var b strings.Builder
	b.WriteString(rule)
	fmt.Fprintf(&b, "Server listening on %s port %d%s\n", p.protocol(), port, p.pid())
	p.window(&b, window, asked)
	b.WriteString(rule)
	return p.flush(&b)
}

// clientBanner says what a client is about to do.
func (p *IPerf2) clientBanner(b *strings.Builder, r *result.Report) {
	c := r.Config
	host, port := splitAddr(c.Destination)
	flows := max(c.Flows, 1)
	b.WriteString(rule)
	fmt.Fprintf(b, "Client connecting to %s, %s port %d%s", host, p.protocol(), port, p.pid())
	if p.o.Enhanced {
		fmt.Fprintf(b, " (%d flows)\nTOS set to 0x%x (Nagle on)", flows, c.TOS)
	}
	b.WriteByte('\n')
	if p.o.UDP {
		fmt.Fprintf(b, "Sending %d byte datagrams, IPG target: %.2f us (kalman adjust)\n", c.PayloadBytes, gapUS(c, flows))
	}
	if p.o.MSS && c.MSS > 0 {
		fmt.Fprintf(b, "MSS size %d bytes\n", c.MSS)
	}
	p.window(b, c.WindowGot*kernelDoubles, c.WindowAsked)
	b.WriteString(rule)
}

// kernelDoubles is by how much getsockopt tells a socket buffer larger than what
// it was asked for (socket(7)); the report halves it, the stock program doesn't.
const kernelDoubles = 2

// gapUS is the time between two datagrams of a flow in µs.
func gapUS(c *result.Config, flows int) float64 {
	pps := c.RatePps
	if pps == 0 && c.PayloadBytes > 0 {
		pps = c.RateBps / 8 / float64(c.PayloadBytes)
	}
	if pps == 0 {
		return 0
	}
	return 1e6 * float64(flows) / pps
}

func (p *IPerf2) protocol() string {
	if p.o.UDP {
		return "UDP"
	}
	return "TCP"
}

func (p *IPerf2) pid() string {
	if !p.o.Enhanced {
		return ""
	}
	return fmt.Sprintf(" with pid %d", p.o.PID)
}

// window prints the size of the socket's buffer.
func (p *IPerf2) window(b *strings.Builder, got, asked int) {
	name := "TCP window size"
	if p.o.UDP {
		name = "UDP buffer size"
	}
	fmt.Fprintf(b, "%s: %s", name, iperf2Amount(float64(got), 'A'))
	switch {
	case asked == 0:
		b.WriteString(" (default)")
	case asked != got:
		fmt.Fprintf(b, " (WARNING: requested %s)", iperf2Amount(float64(asked), 'A'))
	}
	b.WriteByte('\n')
}

// connection prints who talks with whom on a stream.
func (p *IPerf2) connection(b *strings.Builder, r *result.Report, i int) {
	s := r.Streams[i]
	local, localPort := splitAddr(s.Local)
	remote, remotePort := splitAddr(s.Remote)
	backward := p.backward(r, s)
	star := p.o.Server && backward
	fmt.Fprintf(b, "%s local %s port %d connected with %s port %d", p.id(r, i, star), local, localPort, remote, remotePort)
	duplex := fullDuplex(r)
	switch {
	case duplex:
		b.WriteString(" (full-duplex)")
	case star || r.Config.Direction == againstWay && !backward:
		b.WriteString(" (reverse)")
	}
	if p.o.UDP && (duplex || p.o.Server && r.Config.Direction == againstWay && !backward) {
		b.WriteString(" (no-udp-fin)")
	}
	if p.o.Enhanced {
		if at, err := time.Parse(time.RFC3339Nano, r.Started); err == nil {
			b.WriteString(" on " + at.Format("2006-01-02 15:04:05 (MST)"))
		}
	}
	b.WriteByte('\n')
}

// splitAddr splits an ADDRESS:PORT, whose IPv6 address loses its brackets.
func splitAddr(s string) (string, uint16) {
	ap, err := netip.ParseAddrPort(s)
	if err != nil {
		return s, 0
	}
	return ap.Addr().Unmap().String(), ap.Port()
}
