package serve

import (
	"net"
	"slices"
	"sync"
)

// guests are connections that are about to say what they want, in the order in
// which they came. Where there is no more room, the first of them has to go: who
// has something to say says it at once, and who only takes a seat loses it.
type guests struct {
	mu    sync.Mutex
	conns []*net.TCPConn
}

// mostGuests is how many there may be.
const mostGuests = 1024

func (g *guests) enter(conn *net.TCPConn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.conns = append(g.conns, conn)
	if len(g.conns) > mostGuests {
		g.conns[0].Close() // whoever reads from it finds out
		g.conns = slices.Delete(g.conns, 0, 1)
	}
}

// leave is for those that said it, and those that go; it may be called again.
func (g *guests) leave(conn *net.TCPConn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.conns, conn); i >= 0 {
		g.conns = slices.Delete(g.conns, i, i+1)
	}
}
