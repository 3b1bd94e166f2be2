package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ncruces/go-strftime"

	"linerate/internal/result"
)

// IPerf3Style is how iperf3's text is asked for.
type IPerf3Style struct {
	Format     byte   // of -f: one of kmgtKMGT; 0 for the unit that fits
	Verbose    bool   // -V
	Timestamps string // of --timestamps: what strftime(3) takes; empty for none
	Title      string // of -T
}

// An IPerf3Text prints one test as iperf3 does, column for column, while it runs.
// Every call is one write.
type IPerf3Text struct {
	w      io.Writer
	style  IPerf3Style
	f      *IPerf3
	headed bool // the head of the table of intervals stands
}

// NewIPerf3Text returns an IPerf3Text that prints to w. The caller may go on to
// fill in f between calls.
func NewIPerf3Text(w io.Writer, style IPerf3Style, f *IPerf3) *IPerf3Text {
	return &IPerf3Text{w: w, style: style, f: f}
}

// emitter collects what one event prints: each part has the line's prefix of
// --timestamps and -T before it.
type emitter struct {
	strings.Builder
	prefix string
}

func (e *emitter) emit(format string, a ...any) {
	e.WriteString(e.prefix)
	fmt.Fprintf(e, format, a...)
}

func (t *IPerf3Text) emitter() *emitter {
	var prefix string
	if t.style.Timestamps != "" {
		prefix = strftime.Format(t.style.Timestamps, time.Now())
	}
	if t.style.Title != "" {
		prefix += t.style.Title + ":  "
	}
	return &emitter{prefix: prefix}
}

func (t *IPerf3Text) flush(e *emitter) error {
	_, err := io.WriteString(t.w, e.String())
	return err
}

// Program prints what -V says of the program and the machine.
func (t *IPerf3Text) Program() error {
	e := t.emitter()
	if t.style.Verbose {
		e.emit("%s\n", t.f.Version)
		e.emit("%s\n", t.f.System)
	}
	return t.flush(e)
}

// Listening prints that a server waits for its n-th test.
func (t *IPerf3Text) Listening(port, n int) error {
	const rule = "-----------------------------------------------------------\n"
	e := t.emitter()
	e.emit(rule)
	e.emit("Server listening on %d (test #%d)\n", port, n)
	e.emit(rule)
	return t.flush(e)
}

// Started prints between whom a test runs, once its streams are open.
func (t *IPerf3Text) Started(r *result.Report) error {
	e, f := t.emitter(), t.f
	if t.style.Verbose && !f.Server && r.Config.ControlMSS != 0 {
		e.emit("Control connection MSS %d\n", r.Config.ControlMSS)
	}
	if t.style.Verbose && !f.Server && !tcp(r) && !f.BlockAsked {
		e.emit("Setting UDP block size to %d\n", f.block(r.Config))
	}
	if t.style.Verbose {
		e.emit("Time: %s\n", started(r).Format(rfc1123GMT))
	}
	if f.Server {
		e.emit("Accepted connection from %s, port %d\n", f.Host, f.Port)
	} else {
		e.emit("Connecting to host %s, port %d\n", f.Host, f.Port)
	}
	if r.Config.Direction == "reverse" && !f.Server {
		e.emit("Reverse mode, remote host %s is sending\n", f.Host)
	}
	if t.style.Verbose {
		e.about(r, f)
	}
	for i, s := range r.Streams {
		local, remote := endpoint(s.Local), endpoint(s.Remote)
		e.emit("[%3d] local %s port %d connected to %s port %d\n", socket(i), local.Addr(), local.Port(), remote.Addr(), remote.Port())
	}
	if t.style.Verbose {
		e.emit("Starting Test: protocol: %s, %d streams, %d byte blocks, omitting %.0f seconds, %s, tos %d\n",
			strings.ToUpper(r.Config.Protocol), parallel(r.Config), f.block(r.Config), r.Config.OmitS, f.goal(r), r.Config.TOS)
	}
	return t.flush(e)
}

// about prints what -V says of the control connection and the rate.
func (e *emitter) about(r *result.Report, f *IPerf3) {
	if f.Cookie != "" {
		e.emit("      Cookie: %s\n", f.Cookie)
	}
	if tcp(r) {
		byDefault := " (default)"
		if f.MSSAsked {
			byDefault = ""
		}
		e.emit("      TCP MSS: %d%s\n", cmp.Or(r.Config.MSS, r.Config.ControlMSS), byDefault)
	}
	if rate := bitrate(r.Config); rate != 0 {
		e.emit("      Target Bitrate: %d\n", rate)
	}
}

// goal is what ends a test.
func (f *IPerf3) goal(r *result.Report) string {
	switch {
	case f.Blocks != 0:
		return fmt.Sprintf("%d blocks to send", f.Blocks)
	case r.Config.Bytes != 0:
		return fmt.Sprintf("%d bytes to send", r.Config.Bytes)
	}
	return fmt.Sprintf("%.0f second test", r.Config.DurationS)
}

// Interval prints the rows of an interval, and the table's head above the first.
func (t *IPerf3Text) Interval(r *result.Report, iv *result.Interval) error {
	if !t.f.seen(r, iv) {
		return nil
	}
	e := t.emitter()
	switch {
	case !t.headed:
		e.emit("%s", t.f.head(r))
		t.headed = true
	case parallel(r.Config) > 1:
		e.emit(separator)
	}
	for _, l := range t.f.lanes(r) {
		streams, sum := l.intervalRows(r, iv)
		for i := range streams {
			t.row(e, r, &l, &streams[i], "")
		}
		if parallel(r.Config) > 1 {
			t.row(e, r, &l, &sum, "")
		}
	}
	return t.flush(e)
}
