package tcp

import (
	"net"

	"linerate/internal/probe"
)

// A writer sends a stream that repeats a pattern, by copying it.
type writer struct {
	conn   *net.TCPConn
	bytes  []byte // the pattern repeated, a block longer than once
	offset int    // in bytes, of what is to be sent next; below probe.PatternLen
}

func newWriter(conn *net.TCPConn, p probe.Pattern, block int) (*writer, error) {
	b := make([]byte, probe.PatternLen+block)
	for i := 0; i < len(b); i += probe.PatternLen {
		p.Fill(b[i:min(i+probe.PatternLen, len(b))], 0)
	}
	return &writer{conn: conn, bytes: b}, nil
}

// write sends the next n bytes, at most a block, and returns how many the kernel
// took.
func (w *writer) write(n int) (int, error) {
	n, err := w.conn.Write(w.bytes[w.offset : w.offset+n])
	w.offset = (w.offset + n) % probe.PatternLen
	return n, err
}

func (*writer) close() {}
