package echo

import (
	"context"
	"crypto/subtle"
	"io"
	"net"
	"net/netip"
	"time"
)

// tokenPatience is how long a connection may take to say its token.
const tokenPatience = 10 * time.Second

// Respond answers each request of so many bytes that comes by a TCP connection of the
// client with as many, until ctx ends, and then closes the listener. The connection begins with the
// token; any other is hung up on. There is one at a time.
func Respond(ctx context.Context, l *net.TCPListener, client netip.Addr, token []byte, size int) {
	client = client.Unmap().WithZone("")
	defer context.AfterFunc(ctx, func() { l.Close() })()
	for {
		conn, err := l.AcceptTCP()
		if err != nil {
			return
		}
		if conn.RemoteAddr().(*net.TCPAddr).AddrPort().Addr().Unmap().WithZone("") == client && knock(conn, token) {
			hangUp := context.AfterFunc(ctx, func() { conn.Close() })
			bounce(conn, size)
			hangUp()
		}
		conn.Close()
	}
}

// knock reads the token and reports whether it is the right one.
func knock(conn *net.TCPConn, token []byte) bool {
	said := make([]byte, len(token))
	conn.SetReadDeadline(time.Now().Add(tokenPatience))
	if _, err := io.ReadFull(conn, said); err != nil || subtle.ConstantTimeCompare(said, token) != 1 {
		return false
	}
	return conn.SetReadDeadline(time.Time{}) == nil
}

// bounce answers until the client hangs up.
func bounce(conn *net.TCPConn, size int) {
	b := make([]byte, size)
	for {
		if _, err := io.ReadFull(conn, b); err != nil {
			return
		}
		if _, err := conn.Write(b); err != nil {
			return
		}
	}
}
