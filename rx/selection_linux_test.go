package rx

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/bpf"

	lrbpf "linerate/bpf"
	"linerate/internal/probe"
	"linerate/rx/track"
)

// mixed are frames that differ in what a filter looks at.
func mixed(a, b *testHost) []testFrame {
	at := func(addr string) netip.AddrPort { return netip.MustParseAddrPort(addr) }
	other4, other6 := at("10.0.0.9:40000"), at("[fd00::9]:40000")
	const ef = 46 << 2
	frames := []testFrame{
		{src: client4, dst: server4},
		{src: at("10.0.0.1:40010"), dst: server4},
		{src: other4, dst: server4},
		{src: client4, dst: at("10.0.0.2:5202")},
		{src: client4, dst: at("10.0.0.2:5203")},
		{src: client4, dst: server4, tags: []uint16{5<<13 | 5}},
		{src: client4, dst: server4, tags: []uint16{6}},
		{src: client4, dst: server4, tos: ef},
		{src: client4, dst: server4, tos: ef | 1, options: 40},
		{src: client6, dst: server6},
		{src: other6, dst: at("[fd00::2]:5202"), tos: ef},
		{src: at("[fd00::1]:40010"), dst: server6, tags: []uint16{5}},
		{src: client6, dst: server6, tos: ef | 2, fragment: 1, udpLen: 2000},
	}
	for i := range frames {
		frames[i].srcMAC, frames[i].dstMAC = a.mac, b.mac
	}
	return frames
}

// wanted says by the words of the filter whether a frame counts.
func (c *Config) wanted(f testFrame) bool {
	v, port := &c.Filter, int(f.dst.Port())
	sport := int(f.src.Port())
	return port >= int(c.Local.Port()) && port <= int(c.Local.Port())+max(c.Ports, 1)-1 &&
		(!v.From.IsValid() || v.From.Contains(f.src.Addr())) &&
		(v.SrcPorts == 0 || sport >= int(v.SrcPort) && sport < int(v.SrcPort)+v.SrcPorts) &&
		(v.VLAN == nil || len(f.tags) > 0 && f.tags[0]&0xfff == *v.VLAN) &&
		(v.DSCP == nil || f.tos>>2 == *v.DSCP)
}

// TestFilters holds that all paths count the same of mixed traffic, whatever is to
// be counted: the rest is not even foreign.
func TestFilters(t *testing.T) {
	a, b := newPair(t)
	put := a.wire(t)
	frames := mixed(a, b)
	five, ef := uint16(5), uint8(46)
	prefix := netip.MustParsePrefix
	for name, c := range map[string]Config{
		"from IPv4, dport":       {Ports: 2, Filter: Filter{From: prefix("10.0.0.0/29")}},
		"sport, dport":           {Ports: 3, Filter: Filter{SrcPort: 40001, SrcPorts: 100}},
		"dscp, from IPv6, dport": {Ports: 2, Filter: Filter{From: prefix("fd00::9/127"), DSCP: &ef, SrcPort: 1, SrcPorts: 65535}},
		"vlan":                   {Filter: Filter{VLAN: &five}},
	} {
		paths := Names()
		if c.Filter.VLAN != nil { // which UDP sockets refuse: see plan; and tc has it from elsewhere
			paths = []string{"packet", "ring", "ebpf", "tc", "afxdp"}
		}
		for _, path := range paths {
			t.Run(name+"/"+path, func(t *testing.T) {
				c.Local, c.Window, c.Capture = netip.MustParseAddrPort("[::]:5201"), 1<<20, 18
				r := b.openByAny(t, path, c)
				tracker := track.New(track.Config{})
				s := &testStream{tracker: tracker}
				want, wantForeign := map[uint16]uint64{}, uint64(0)
				stamper := probe.Stamper{Run: testRun}
				for flow, f := range frames {
					for seq := range uint64(3) {
						f.payload = make([]byte, 40)
						stamper.Put(f.payload, uint16(flow), seq, 0)
						put(f.bytes())
					}
					f.payload = []byte("a stranger's, as long as a header")
					put(f.bytes())
					if c.wanted(f) && !(kernelPath(path) && (len(f.tags) > 0 || f.fragment != 0)) {
						want[uint16(flow)] = 3
						wantForeign++
					}
				}
				s.receive(t, r)
				got := map[uint16]uint64{}
				for _, f := range tracker.FlowTotals() {
					got[f.Number] = f.Unique
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("packets by flow (-want +got)\n%s", diff)
				}
				if foreign := tracker.Totals().Foreign; foreign != wantForeign {
					t.Errorf("%d foreign, want %d", foreign, wantForeign)
				}
				if drops := dropsOf(t, r); drops != 0 {
					t.Errorf("%d drops", drops)
				}
				must(t, r.Close())
			})
		}
	}
}

// openByAny opens a path, of which tc is ebpf by that hook.
func (h *testHost) openByAny(t *testing.T, path string, c Config) Receiver {
	t.Helper()
	if path != "tc" {
		return h.open(t, path, c)
	}
	c.Interface, c.IfIndex = h.iface, h.index
	var r *ebpf
	h.do(t, func() (err error) {
		if r, err = newEBPF(&c); err == nil {
			err = errors.Join(r.attach(&c, lrbpf.TC))
		}
		return err
	})
	t.Cleanup(func() { must(t, r.Close()) })
	return r
}

// TestFilterLength holds that the longest program that there is still jumps right:
// its offsets have 8 bits.
func TestFilterLength(t *testing.T) {
	vlan, dscp := uint16(5), uint8(46)
	for _, from := range []string{"10.0.0.0/29", "fd00::1/128", "::/3"} {
		for _, local := range []string{"[::]:5201", "10.0.0.2:5201", "[fd00::2]:5201"} {
			c := Config{Local: netip.MustParseAddrPort(local), Ports: 9,
				Filter: Filter{From: netip.MustParsePrefix(from), VLAN: &vlan, DSCP: &dscp, SrcPort: 1, SrcPorts: 9}}
			program, err := filter(&c, 100, 1000)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(program); n > 255 {
				t.Errorf("from %s at %s: %d instructions", from, local, n)
			}
			if _, ok := bpf.Disassemble(program); !ok {
				t.Errorf("from %s at %s: unknown instructions", from, local)
			}
		}
	}
}
