package report

import (
	"fmt"
	"io"
	"strings"

	"linerate/internal/result"
	"linerate/internal/units"
)

// MTU prints which sizes pass, and what becomes of larger ones: one sentence each
// way, or one for both where they are alike.
func MTU(w io.Writer, r *result.Report, o Options) error {
	var b strings.Builder
	var loads []result.Row
	for i := range r.Results {
		if m := r.Results[i].MTU; m != nil {
			o.mtu(&b, &r.Results[i].Config, m)
		} else {
			loads = append(loads, r.Results[i])
		}
	}
	o.loads(&b, loads)
	_, err := io.WriteString(w, b.String())
	return err
}

func (o Options) mtu(b *strings.Builder, c *result.Config, m *result.MTU) {
	if m.Forward == nil {
		return // nothing is known, and the error says why
	}
	there := o.beyond(c, m)
	switch {
	case m.Reverse == nil:
		o.line(b, "; ", fmt.Sprintf("%d bytes pass whole to %s", *m.Forward, m.Peer), there)
		o.line(b, "", "nothing is known of the way back")
	case *m.Reverse == *m.Forward:
		o.line(b, "; ", fmt.Sprintf("%d bytes pass whole in both directions", *m.Forward), there)
	default:
		o.line(b, "; ", fmt.Sprintf("%d bytes pass whole to %s", *m.Forward, m.Peer), there)
		back := map[string]string{"fragments": "larger comes in fragments", "silence": "larger does not come (" + o.paint(red, "black hole") + ")"}[m.ReverseRefusedBy]
		if back == "" {
			back = fmt.Sprintf("larger was not tried: the interface has MTU %d", m.Local)
		}
		o.line(b, "; ", fmt.Sprintf("%d bytes pass whole on the way back", *m.Reverse), back)
	}
	if m.Unanswered > 0 {
		o.line(b, "", fmt.Sprintf("%d of %s were lost at random", m.Unanswered, count(uint64(m.Probes), "probe")))
	}
}

// beyond says what becomes of larger packets on the way there.
func (o Options) beyond(c *result.Config, m *result.MTU) string {
	switch m.RefusedBy {
	case "here":
		return fmt.Sprintf("larger is refused here (%s has MTU %d)", c.Interface, m.Local)
	case "router":
		return "larger is refused by the router " + m.RefusedFrom
	case "silence":
		// An answer may be what was dropped, unless it was small or larger ones came
		// back. Routers cut up one over IPv4, so that it comes back whatever its size.
		where := ""
		small, larger := c.Protocol == "udp", m.Reverse != nil && *m.Reverse > *m.Forward
		if !small && !larger && strings.Contains(m.Peer, ":") {
			where = ", there or on the way back"
		}
		return o.paint(red, "larger is dropped in silence"+where+": a black hole") + fmt.Sprintf(" (%s has MTU %d)", c.Interface, m.Local)
	}
	return "larger was not tried"
}

// loads says what was lost of each size at the rate that was asked for: one line
// where nothing was.
func (o Options) loads(b *strings.Builder, rows []result.Row) {
	if len(rows) == 0 {
		return
	}
	var clean, lossy []string
	for i := range rows {
		row := &rows[i]
		size := fmt.Sprintf("%d", row.Config.FrameBytes)
		if t := row.Trials[0]; t.Lost > 0 {
			lossy = append(lossy, o.paint(red, units.FormatPercent(float64(t.Lost)/float64(t.Sent)))+" of "+size)
		} else {
			clean = append(clean, size)
		}
	}
	parts := lossy
	if len(clean) > 0 {
		parts = append(parts, "none of "+strings.Join(clean, ", ")+"-byte frames")
	} else {
		parts[len(parts)-1] += "-byte frames"
	}
	o.line(b, ", ", append([]string{"loss at " + asked(&rows[0].Config) + ": " + parts[0]}, parts[1:]...)...)
	for i := range rows {
		row := &rows[i]
		if short := row.Trials[0].Offered.Shortfall; short > 0 {
			o.line(b, " · ", nonEmpty(fmt.Sprintf("%d-byte frames", row.Config.FrameBytes), achieved(&row.Config, row.Sender.Rate), o.paint(yellow, were(short)+" given up"))...)
		}
	}
}
