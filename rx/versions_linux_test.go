package rx

import (
	"net/netip"
	"testing"
)

// TestVersions listens to one IP version, or both, at no address in particular.
func TestVersions(t *testing.T) {
	for _, tt := range []struct {
		local  string
		only6  bool
		v4, v6 bool
	}{
		{local: "[::]:5201", v4: true, v6: true},
		{local: "0.0.0.0:5201", v4: true},
		{local: "[::]:5201", only6: true, v6: true},
	} {
		for _, path := range []string{"udp", "packet", "ring"} {
			a, b := newPair(t)
			s := newStream(t)
			c := s.config(tt.local)
			c.IPv6Only = tt.only6
			r := b.open(t, path, c)
			want := 0
			for to, heard := range map[netip.AddrPort]bool{server4: tt.v4, server6: tt.v6} {
				conn := a.dial(t, to)
				s.train(t, conn, 3, 100, 100)
				if heard {
					want += 3
				}
			}
			if got := s.receive(t, r); got != want {
				t.Errorf("%s on %s (IPv6 only: %v): %d came, want %d", path, tt.local, tt.only6, got, want)
			}
		}
	}
	for _, path := range []string{"ebpf", "afxdp"} {
		_, b := newPair(t)
		c := newStream(t).config("0.0.0.0:5201")
		c.Interface = b.link(t).Attrs().Name
		b.do(t, func() error {
			p, err := Find(path)
			if err == nil {
				if r, err := p.Open(&c); err == nil {
					t.Errorf("%s listens to IPv4 alone", path)
					return r.Close()
				}
			}
			return err
		})
	}
}
