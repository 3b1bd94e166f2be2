package tcp

import (
	"bytes"
	"net"

	"linerate/internal/probe"
)

// readLen is the most bytes that one system call copies from the kernel.
const readLen = 1 << 20

// A verifier reads a stream and compares it with what was sent.
type verifier struct {
	conn   *net.TCPConn
	buffer []byte
	want   []byte // one length of the pattern; nil compares nothing
	offset int    // in want, of the next byte
}

func newVerifier(conn *net.TCPConn, p *probe.Pattern) *verifier {
	v := &verifier{conn: conn, buffer: make([]byte, readLen)}
	if p != nil {
		v.want = make([]byte, probe.PatternLen)
		p.Fill(v.want, 0)
	}
	return v
}

func (v *verifier) read() (n, corrupt int, err error) {
	n, err = v.conn.Read(v.buffer)
	if v.want != nil {
		corrupt = v.check(v.buffer[:n])
	}
	return n, corrupt, err
}

// check counts the bytes that differ from the pattern.
func (v *verifier) check(got []byte) (corrupt int) {
	for len(got) > 0 {
		want := v.want[v.offset:]
		n := min(len(want), len(got))
		if !bytes.Equal(got[:n], want[:n]) {
			for i, b := range got[:n] {
				if b != want[i] {
					corrupt++
				}
			}
		}
		got = got[n:]
		v.offset = (v.offset + n) % len(v.want)
	}
	return corrupt
}
