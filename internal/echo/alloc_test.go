//go:build !race

package echo

import (
	"net/netip"
	"testing"

	"linerate/internal/probe"
)

// A probe there and back, both ends.
func TestRoundTripAllocatesNothing(t *testing.T) {
	token := NewToken()
	at := listen(t, "127.0.0.1")
	r, err := NewReflector(at, netip.MustParseAddr("127.0.0.1"), token)
	if err != nil {
		t.Fatal(err)
	}
	conn := dial(t, at)
	p := &Prober{conn: conn, stamper: probe.Stamper{Format: probe.Native}, reader: newReader(conn, probeSize), times: NewTimes()}
	copy(p.payload[tokenOffset:], token)
	if err := p.reader.stamp(); err != nil {
		t.Fatal(err)
	}
	n := testing.AllocsPerRun(200, func() {
		p.send()
		if err := r.serve(); err != nil {
			t.Fatal(err)
		}
		p.receive()
	})
	if n != 0 {
		t.Errorf("%v allocations each", n)
	}
	if p.answered.Load() != p.sent.Load() || p.sent.Load() == 0 {
		t.Errorf("%d of %d came back", p.answered.Load(), p.sent.Load())
	}
}

// A request and its answer, both ends.
func TestBounceAllocatesNothing(t *testing.T) {
	token := NewToken()
	b, err := NewBouncer(responder(t, "127.0.0.1", false, token, 100), 100, token)
	if err != nil {
		t.Fatal(err)
	}
	n := testing.AllocsPerRun(200, func() {
		if answered, err := b.transact(); err != nil || !answered {
			t.Fatal(answered, err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations each", n)
	}
}
