package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"linerate/internal/result"
)

// IPerf2Options say what the stock arguments asked of the output.
type IPerf2Options struct {
	Server   bool          // -s
	UDP      bool          // -u
	Unit     byte          // -f; 0 for adaptive bits
	Enhanced bool          // -e: what it adds over UDP
	CSV      bool          // -y C
	MSS      bool          // -m
	Interval time.Duration // -i; 0 for none
	PID      int           // of this process, for -e

	// What -x leaves out: the banner, the lines of connections and those of data.
	NoSettings, NoConnections, NoData bool
}

// An IPerf2 prints what iperf 2.1.8 prints, to the column: a banner, a line per
// connection, per interval and per end, or rows of values separated by commas.
// A datagram counts where it carries data: unlike the stock program, no FIN is
// among what was sent or received. Every call is one write.
type IPerf2 struct {
	w     io.Writer
	o     IPerf2Options
	port  int                    // that a server waits on
	flows int                    // connections announced so far
	first map[*result.Report]int // of a test that runs: how many came before its own
	shown map[heading]bool       // since the last announcement
	last  heading
}

// NewIPerf2 returns an IPerf2 that prints to w.
func NewIPerf2(w io.Writer, o IPerf2Options) *IPerf2 {
	return &IPerf2{w: w, o: o, shown: map[heading]bool{}, first: map[*result.Report]int{}}
}

// A heading is a line of column heads.
type heading string

const (
	headPlain     heading = "[ ID] Interval       Transfer     Bandwidth\n"
	headJitter    heading = "[ ID] Interval       Transfer     Bandwidth        Jitter   Lost/Total Datagrams\n"
	headWrites    heading = "[ ID] Interval            Transfer     Bandwidth      Write/Err  PPS\n"
	headDatagrams heading = "[ ID] Interval       Transfer     Bandwidth    Datagrams   PPS\n"
	headLatency   heading = "[ ID] Interval            Transfer     Bandwidth        Jitter   Lost/Total  Latency avg/min/max/stdev PPS  Rx/inP  NetPwr\n"
)

// rule stands above and below a banner.
const rule = "------------------------------------------------------------\n"

// Header announces a test: a client's banner, and the connections.
func (p *IPerf2) Header(r *result.Report) error {
	p.first[r] = p.flows
	p.flows += len(r.Streams)
	if p.o.CSV {
		return nil
	}
	var b strings.Builder
	secondHalf := len(r.Streams) > 0 && p.backward(r, r.Streams[0]) // of -r
	if !p.o.Server && !p.o.NoSettings && !secondHalf {
		p.clientBanner(&b, r)
	}
	for i := range r.Streams {
		if !p.o.NoConnections {
			p.connection(&b, r, i)
		}
	}
	clear(p.shown)
	return p.flush(&b)
}

// Interval prints a line per flow, and their sum. What is left at the end of a test
// that is no half interval long stays for the total.
func (p *IPerf2) Interval(r *result.Report, iv *result.Interval) error {
	if p.o.NoData || p.o.Interval == 0 || iv.EndS-iv.StartS < p.o.Interval.Seconds()/2 {
		return nil
	}
	var b strings.Builder
	p.ways(&b, r, p.directions(r, iv))
	return p.flush(&b)
}

// Summary prints the totals and, at a client that sent over UDP, what the server
// reports.
func (p *IPerf2) Summary(r *result.Report) error {
	defer delete(p.first, r)
	if p.o.NoData {
		return nil
	}
	var b strings.Builder
	p.ways(&b, r, p.directions(r, nil))
	if p.o.UDP && !p.o.CSV && !p.o.Server && r.Sender != nil && r.Receiver != nil {
		p.serverReport(&b, r)
	}
	return p.flush(&b)
}

// ways prints each direction, and what all had together.
func (p *IPerf2) ways(b *strings.Builder, r *result.Report, ds []oneWay) {
	for _, d := range ds {
		p.lines(b, r, d)
	}
	p.sums(b, r, ds)
}

// serverReport prints what the server says that it received.
func (p *IPerf2) serverReport(b *strings.Builder, r *result.Report) {
	said := oneWay{sent: true}
	said.sum, said.lines = receivedLines(r.Receiver)
	said.number(r)
	for i := range said.lines {
		l := &said.lines[i]
		fmt.Fprintf(b, "%s Server Report:\n", p.id(r, l.stream, false))
		if p.last == headWrites || p.last == headPlain {
			clear(p.shown)
		}
		p.line(b, p.id(r, l.stream, false), l)
	}
}

// heading prints the column heads once between two announcements.
func (p *IPerf2) heading(b *strings.Builder, h heading) {
	if !p.shown[h] {
		b.WriteString(string(h))
	}
	p.shown[h], p.last = true, h
}

// id prints the number of a stream's connection; a star marks a direction
// against the ordinary one.
func (p *IPerf2) id(r *result.Report, stream int, star bool) string {
	n := p.first[r] + stream + 1
	if star {
		return fmt.Sprintf("[%3s]", fmt.Sprintf("*%d", n))
	}
	return fmt.Sprintf("[%3d]", n)
}

func (p *IPerf2) flush(b *strings.Builder) error {
	_, err := io.WriteString(p.w, b.String())
	return err
}
