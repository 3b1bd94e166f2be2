package rx

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"golang.org/x/net/bpf"
)

// machine runs a filter without its first two instructions, a look at the packet
// type that only the kernel can have.
func machine(tb testing.TB, local string) *bpf.VM {
	tb.Helper()
	raw, err := filter(&Config{Local: netip.MustParseAddrPort(local)}, 100, 1000)
	if err != nil {
		tb.Fatal(err)
	}
	program, ok := bpf.Disassemble(raw)
	if !ok {
		tb.Fatal("unknown instructions")
	}
	vm, err := bpf.NewVM(program[2:])
	if err != nil {
		tb.Fatal(err)
	}
	return vm
}

func passes(tb testing.TB, vm *bpf.VM, frame []byte) bool {
	tb.Helper()
	n, err := vm.Run(frame)
	if err != nil {
		tb.Fatal(err)
	}
	if n != 0 && n != 100 && n != len(frame) {
		tb.Fatalf("keeps %d bytes", n)
	}
	return n != 0
}

func TestFilter(t *testing.T) {
	const any, only4, only6 = "[::]:5201", "10.0.0.2:5201", "[fd00::2]:5201"
	port := func(a netip.AddrPort, p uint16) netip.AddrPort { return netip.AddrPortFrom(a.Addr(), p) }
	other4, other6 := netip.MustParseAddrPort("10.0.0.3:5201"), netip.MustParseAddrPort("[fd00::3]:5201")
	tcp := testFrame{src: client4, dst: server4}.bytes()
	tcp[23] = 6
	foreign := testFrame{src: client4, dst: server4}.bytes()
	foreign[12], foreign[13] = 0x88, 0xb5
	for _, c := range []struct {
		name               string
		frame              []byte
		any, only4, only6_ bool
	}{
		{"IPv4", testFrame{src: client4, dst: server4}.bytes(), true, true, false},
		{"IPv6", testFrame{src: client6, dst: server6}.bytes(), true, false, true},
		{"IPv4 options", testFrame{src: client4, dst: server4, options: 40}.bytes(), true, true, false},
		{"IPv4 tagged", testFrame{src: client4, dst: server4, tags: []uint16{1}}.bytes(), true, true, false},
		{"IPv6 tagged", testFrame{src: client6, dst: server6, tags: []uint16{1}}.bytes(), true, false, true},
		{"IPv4 fragment", testFrame{src: client4, dst: server4, fragment: 0x2000}.bytes(), true, true, false},
		{"IPv6 fragment", testFrame{src: client6, dst: server6, fragment: 1}.bytes(), true, false, true},
		{"IPv6 tagged fragment", testFrame{src: client6, dst: server6, fragment: 1, tags: []uint16{1}}.bytes(), true, false, true},
		{"IPv4 other host", testFrame{src: client4, dst: other4}.bytes(), true, false, false},
		{"IPv6 other host", testFrame{src: client6, dst: other6}.bytes(), true, false, false},
		{"IPv4 other port", testFrame{src: client4, dst: port(server4, 5200)}.bytes(), false, false, false},
		{"IPv6 other port", testFrame{src: client6, dst: port(server6, 5200)}.bytes(), false, false, false},
		{"IPv6 fragment to another port", testFrame{src: client6, dst: port(server6, 5200), fragment: 1}.bytes(), false, false, false},
		{"IPv4 later fragment", testFrame{src: client4, dst: server4, fragment: 1}.bytes(), false, false, false},
		{"IPv6 later fragment", testFrame{src: client6, dst: server6, fragment: 8}.bytes(), false, false, false},
		{"two tags in the frame", testFrame{src: client4, dst: server4, tags: []uint16{1, 2}}.bytes(), false, false, false},
		{"TCP", tcp, false, false, false},
		{"other Ethernet type", foreign, false, false, false},
		{"short", make([]byte, 13), false, false, false},
	} {
		for _, l := range []struct {
			local string
			want  bool
		}{{any, c.any}, {only4, c.only4}, {only6, c.only6_}} {
			if got := passes(t, machine(t, l.local), c.frame); got != l.want {
				t.Errorf("%s at %s: passes is %v, want %v", c.name, l.local, got, l.want)
			}
		}
	}
}

// TestFilterTrims holds that all of a frame is kept but for the ranges between.
func TestFilterTrims(t *testing.T) {
	vm := machine(t, "[::]:5201")
	for length, want := range map[int]int{60: 100, 100: 100, 101: 100, 1000: 100, 1001: 1001, 65000: 65000} {
		frame := testFrame{src: client4, dst: server4, payload: make([]byte, length-14-28)}.bytes()
		if got, err := vm.Run(frame); got != want || err != nil {
			t.Errorf("a frame of %d bytes: keeps %d, want %d, %v", length, got, want, err)
		}
	}
}

// FuzzFilter holds that the filter passes whatever parse reads that is for our
// port: what it kept back would never be counted.
func FuzzFilter(f *testing.F) {
	vm := machine(f, "[::]:5201")
	for _, frame := range seeds() {
		f.Add(frame)
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		d, ok := parse(frame, len(frame))
		ours := ok && binary.BigEndian.Uint16(d.segment[2:]) == 5201
		if ours && !passes(t, vm, frame) {
			t.Error("kept back")
		}
	})
}
