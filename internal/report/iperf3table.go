package report

import (
	"fmt"

	"linerate/internal/result"
)

const separator = "- - - - - - - - - - - - - - - - - - - - - - - - -\n"

// head is the head of the table of intervals. Of two directions that tell
// different things the fuller one is named.
func (f *IPerf3) head(r *result.Report) string {
	bidir := r.Config.Direction == "bidir"
	sends := f.lanes(r)[0].sends
	columns := ""
	switch {
	case tcp(r) && (bidir || sends):
		columns = "         Retr  Cwnd"
	case tcp(r):
	case sends && !bidir:
		columns = "         Total Datagrams"
	default:
		columns = "         Jitter    Lost/Total Datagrams"
	}
	return f.columns(r, columns)
}

// endHead is the head of the summary.
func (f *IPerf3) endHead(r *result.Report, lanes []lane) string {
	if !tcp(r) {
		return f.columns(r, "         Jitter    Lost/Total Datagrams")
	}
	for _, l := range lanes {
		shown := l.sends || !f.Server
		if shown && l.sender != nil && orZero(l.sender.SentTCP).Retransmits != nil {
			return f.columns(r, "         Retr")
		}
	}
	return f.columns(r, "")
}

func (f *IPerf3) columns(r *result.Report, more string) string {
	role := ""
	if r.Config.Direction == "bidir" {
		role = "[Role]"
	}
	return "[ ID]" + role + " Interval           Transfer     Bitrate" + more + "\n"
}

// id is what a row begins with: the socket, or SUM.
func id(socket *int) string {
	if socket == nil {
		return "[SUM]"
	}
	return fmt.Sprintf("[%3d]", *socket)
}

// role is what tells the lanes of a test of two directions apart.
func (f *IPerf3) role(r *result.Report, l *lane) string {
	if r.Config.Direction != "bidir" {
		return ""
	}
	role, end := "RX", "C"
	if l.sends {
		role = "TX"
	}
	if f.Server {
		end = "S"
	}
	return "[" + role + "-" + end + "]"
}

// row prints one row.
func (t *IPerf3Text) row(e *emitter, r *result.Report, l *lane, row *iperf3Row, suffix string) {
	if row.Omitted != nil && *row.Omitted {
		suffix = "(omitted)"
	}
	line := fmt.Sprintf("%s%s %6.2f-%-6.2f sec  %s  %s", id(row.Socket), t.f.role(r, l), row.Start, row.End, iperf3Bytes(float64(row.Bytes)), iperf3Rate(row.BitsPerSecond, t.style.Format))
	switch {
	case row.JitterMS != nil:
		line += fmt.Sprintf("  %5.3f ms  %d/%d (%s%%)  ", *row.JitterMS, *row.LostPackets, *row.Packets, iperf3Percent(*row.LostPercent))
	case row.Packets != nil && r.Config.Direction == "bidir":
		line += fmt.Sprintf("            %d  ", *row.Packets)
	case row.Packets != nil:
		line += fmt.Sprintf("  %d  ", *row.Packets)
	case row.Retransmits == nil:
		line += "                  "
	case row.iperf3Gauges != nil:
		line += fmt.Sprintf("  %3d   %s       ", *row.Retransmits, iperf3Bytes(float64(row.SndCwnd)))
	default:
		line += fmt.Sprintf("  %3d             ", *row.Retransmits)
	}
	e.emit("%s%s\n", line, suffix)
}
