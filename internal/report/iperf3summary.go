package report

import (
	"fmt"

	"linerate/internal/result"
)

// Summary prints what both ends tell of the whole test; a server prints only its
// own side, and with -V the other's too.
func (t *IPerf3Text) Summary(r *result.Report) error {
	e, f := t.emitter(), t.f
	e.emit(separator)
	if t.style.Verbose {
		e.emit("Test Complete. Summary Results:\n")
	}
	lanes := f.lanes(r)
	e.emit("%s", f.endHead(r, lanes))
	for i := range lanes {
		l := &lanes[i]
		streams, sum := l.ends(r)
		for _, stream := range streams {
			t.ends(e, r, l, stream)
		}
		if parallel(r.Config) > 1 {
			t.ends(e, r, l, sum)
		}
		if t.style.Verbose {
			e.machine(r, f, l)
		}
	}
	if r.ServerJSON != nil {
		e.emit("\nServer JSON output:\n%s\n", r.ServerJSON)
	}
	if r.ServerText != "" {
		e.emit("\nServer output:\n%s\n", r.ServerText)
	}
	if !f.Server && r.Error == "" {
		e.emit("\n")
		e.emit("iperf Done.\n")
	}
	return t.flush(e)
}

// ends prints the rows of a sender and of a receiver.
func (t *IPerf3Text) ends(e *emitter, r *result.Report, l *lane, rows iperf3Ends) {
	all := !t.f.Server || t.style.Verbose
	if all || l.sends {
		t.end(e, r, l, rows, rows.sent, "sender")
	}
	if !all && l.sends {
		return
	}
	if c := rows.received; c != nil && c.OutOfOrder != nil && *c.OutOfOrder > 0 {
		e.emit("[SUM] %4.1f-%4.1f sec  %d datagrams received out-of-order\n", c.Start, c.End, *c.OutOfOrder)
	}
	t.end(e, r, l, rows, rows.received, "receiver")
}

// end prints one row, or that its end told nothing; of a sum over UDP iperf3 does
// not say that.
func (t *IPerf3Text) end(e *emitter, r *result.Report, l *lane, rows iperf3Ends, row *iperf3Row, side string) {
	switch {
	case row != nil:
		t.row(e, r, l, row, side)
	case tcp(r) || rows.socket != nil:
		e.emit("%s (%s statistics not available)\n", id(rows.socket), side)
	}
}

// machine prints what -V says of the hosts at the end of a lane: CPU where this
// end sends, in percent of one core, and TCP's congestion control.
func (e *emitter) machine(r *result.Report, f *IPerf3, l *lane) {
	if local, remote := f.cpus(r); l.sends && local != nil && remote != nil {
		e.emit("%s", cpuLine("sender", local, "receiver", remote))
		if r.Config.Direction == "bidir" {
			e.emit("%s", cpuLine("receiver", local, "sender", remote))
		}
	}
	sender, receiver := congestions(r, l)
	if sender != "" && (l.sends || !f.Server) {
		e.emit("snd_tcp_congestion %s\n", sender)
	}
	if receiver != "" && (!l.sends || !f.Server) {
		e.emit("rcv_tcp_congestion %s\n", receiver)
	}
}

func cpuLine(here string, local *result.CPU, there string, remote *result.CPU) string {
	return fmt.Sprintf("CPU Utilization: local/%s %s, remote/%s %s\n", here, cpu(local), there, cpu(remote))
}

func cpu(c *result.CPU) string {
	return fmt.Sprintf("%.1f%% (%.1f%%u/%.1f%%s)", 100*c.Process, 100*c.User, 100*c.System)
}
