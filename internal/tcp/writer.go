package tcp

import (
	"net"

	"linerate/internal/probe"
)

// A writer sends a stream that repeats a pattern.
type writer interface {
	// write sends the next n bytes, at most a block, and returns how many the
	// kernel took.
	write(n int) (int, error)
	close() error
}

func (s *Sender) newWriter() (writer, error) {
	// The pattern and a block more: from any offset in it a block lies in one piece.
	b := make([]byte, probe.PatternLen+s.blockLen())
	for i := 0; i < len(b); i += probe.PatternLen {
		s.Pattern.Fill(b[i:min(i+probe.PatternLen, len(b))], 0)
	}
	if s.ZeroCopy {
		return newFileWriter(s.Conn, b)
	}
	return &copyWriter{conn: s.Conn, bytes: b}, nil
}

// A copyWriter has the kernel copy each block.
type copyWriter struct {
	conn   *net.TCPConn
	bytes  []byte
	offset int // of the next byte, below probe.PatternLen
}

func (w *copyWriter) write(n int) (int, error) {
	n, err := w.conn.Write(w.bytes[w.offset : w.offset+n])
	w.offset = (w.offset + n) % probe.PatternLen
	return n, err
}

func (*copyWriter) close() error { return nil }
