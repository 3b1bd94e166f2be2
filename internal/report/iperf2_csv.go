package report

import (
	"fmt"
	"strings"
	"time"

	"linerate/internal/result"
)

// epoch stands in for the time of a row where no -i was given.
const epoch = "19700101000000"

// row prints one flow as values separated by commas: time, the client's address
// and port, the server's, the connection, the times of the line, bytes and
// bit/s; over UDP jitter in ms, lost, total, lost in percent and out of order,
// of which a client knows nothing.
func (p *IPerf2) row(b *strings.Builder, r *result.Report, d *oneWay, l *line) {
	var s result.Stream
	if l.stream < len(r.Streams) {
		s = r.Streams[l.stream]
	}
	client, server := s.Local, s.Remote
	if p.o.Server {
		client, server = server, client
	}
	clientHost, clientPort := splitAddr(client)
	serverHost, serverPort := splitAddr(server)
	fmt.Fprintf(b, "%s,%s,%d,%s,%d,%d,%.1f-%.1f,%d,%d",
		p.at(r, l), clientHost, clientPort, serverHost, serverPort, p.first[r]+l.stream+1,
		l.start, l.end, l.bytes, int64(perSecond(8*l.bytes, l.end-l.start)))
	switch c := l.received; {
	case c != nil:
		var jitter int64
		if c.jitterNS != nil {
			jitter = *c.jitterNS
		}
		percent := 0.0
		if c.total > 0 {
			percent = 100 * float64(c.lost) / float64(c.total)
		}
		fmt.Fprintf(b, ",%.3f,%d,%d,%.3f,%d", float64(jitter)/1e6, c.lost, c.total, percent, c.outOfOrder)
	case p.o.UDP && d.whole:
		b.WriteString(",0.000,0,-1,-0.000,0")
	case p.o.UDP:
		fmt.Fprintf(b, ",0.000,0,%d,0.000,0", l.packets)
	}
	b.WriteByte('\n')
}

// at is the time of a line, in the time zone of the report.
func (p *IPerf2) at(r *result.Report, l *line) string {
	at := epoch
	if started, err := time.Parse(time.RFC3339Nano, r.Started); err == nil && p.o.Interval > 0 {
		at = started.Add(time.Duration(l.end * float64(time.Second))).Format("20060102150405")
	}
	if p.o.Enhanced {
		at += ".000"
	}
	return at
}
