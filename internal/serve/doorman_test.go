package serve

import (
	"context"
	"net"
	"net/netip"
	"testing"
)

// TestDataConnectionsInOrder admits connections as a busy machine does: a later one
// first. What counts is the order in which they were made.
func TestDataConnectionsInOrder(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d := newDoorman(netip.MustParseAddr("127.0.0.1"), &udpListener{})
	defer d.close()
	accepted := make([]*net.TCPConn, 3)
	for i := range accepted {
		client, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		accepted[i] = conn.(*net.TCPConn)
	}
	for _, i := range []int{1, 2, 0} {
		if !d.admit(accepted[i], i) {
			t.Fatalf("connection %d is not admitted", i)
		}
	}
	got, err := d.TCP(context.Background(), len(accepted))
	if err != nil {
		t.Fatal(err)
	}
	for i, conn := range got {
		if conn != accepted[i] {
			t.Errorf("connection %d is not the %d-th that was made", i, i)
		}
	}
}
