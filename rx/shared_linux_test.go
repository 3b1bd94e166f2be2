package rx

import (
	"net"
	"testing"
	"time"

	"linerate/internal/linux"
	"linerate/internal/probe"
	"linerate/rx/track"
)

// connected is a pair of UDP sockets that know each other alone.
func connected(t *testing.T) (near, far *net.UDPConn) {
	t.Helper()
	open := func(from, to *net.UDPAddr) *net.UDPConn {
		c, err := net.DialUDP("udp4", from, to)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	spare, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	local := spare.LocalAddr().(*net.UDPAddr)
	far = open(&net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}, local)
	spare.Close()
	return open(local, far.LocalAddr().(*net.UDPAddr)), far
}

// Several shared sockets are read into one count, and flows of a format without
// flow numbers are told apart by where they come from.
func TestSharedSockets(t *testing.T) {
	for _, path := range []string{"udp", "gro"} {
		t.Run(path, func(t *testing.T) {
			const flows, packets = 3, 200
			c := Config{Window: 1 << 20, Capture: 16}
			var senders []*net.UDPConn
			for range flows {
				near, far := connected(t)
				c.Sockets, senders = append(c.Sockets, near), append(senders, far)
			}
			p, err := Find(path)
			if err != nil {
				t.Fatal(err)
			}
			r, err := p.Open(&c)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			stamper := probe.Stamper{Format: probe.IPerf3Wide}
			payload := make([]byte, 100)
			for seq := range uint64(packets) {
				for i, s := range senders {
					stamper.Put(payload, 0, seq, linux.Monotonic())
					if uint64(i) == seq%10 {
						continue // lost
					}
					if _, err := s.Write(payload); err != nil {
						t.Fatal(err)
					}
				}
			}
			tracker := track.New(track.Config{Format: probe.IPerf3Wide})
			const sent = flows * packets * 9 / 10
			for end := time.Now().Add(5 * time.Second); tracker.Totals().Packets < sent && time.Now().Before(end); {
				if _, err := r.Receive(tracker, time.Now().Add(100*time.Millisecond)); err != nil {
					t.Fatal(err)
				}
			}
			for i := range senders {
				tracker.Sent(0, SocketSource(c.Sockets[i], i), packets)
			}
			res, err := tracker.Finish(track.Settlement{})
			if err != nil {
				t.Fatal(err)
			}
			if len(res.Flows) != flows || res.Unique != sent || res.Lost != flows*packets/10 {
				t.Errorf("%d flows, %d unique, %d lost; want %d, %d, %d", len(res.Flows), res.Unique, res.Lost, flows, sent, flows*packets/10)
			}
		})
	}
}

// The sockets stay the caller's, whoever else reads them.
func TestSharedSocketsStayOpen(t *testing.T) {
	near, far := connected(t)
	r, err := openUDP(&Config{Sockets: []*net.UDPConn{near}})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := far.Write([]byte("still here")); err != nil {
		t.Fatal(err)
	}
	near.SetReadDeadline(time.Now().Add(time.Second))
	if n, err := near.Read(make([]byte, 100)); n != 10 || err != nil {
		t.Errorf("read %d bytes, %v", n, err)
	}
}
