package serve

import (
	"net"
	"slices"
	"sync"
)

// pending are the connections that have still to say what they want, in the order in
// which they came. Where there is no more room, the first of them has to go: who
// has something to say says it at once, and who only takes a seat loses it.
type pending struct {
	mu    sync.Mutex
	conns []*net.TCPConn
}

// mostPending is how many there may be.
const mostPending = 1024

func (p *pending) add(conn *net.TCPConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns = append(p.conns, conn)
	if len(p.conns) > mostPending {
		p.conns[0].Close() // whoever reads from it finds out
		p.conns = slices.Delete(p.conns, 0, 1)
	}
}

// remove is for those that said it, and those that go; it may be called again.
func (p *pending) remove(conn *net.TCPConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.conns, conn); i >= 0 {
		p.conns = slices.Delete(p.conns, i, i+1)
	}
}
