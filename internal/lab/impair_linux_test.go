package lab

import (
	"encoding/binary"
	"math"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mdlayher/packet"
	"golang.org/x/sys/unix"

	"linerate/bpf"
	"linerate/internal/probe"
)

func TestImpairedExactly(t *testing.T) {
	const packets = 5000 // in each family
	tests := map[string]Impairment{
		"nothing":      {},
		"every":        {DropEvery: 4},
		"all":          {DropEvery: 1},
		"run":          {DropFrom: 7, DropTo: 1007},
		"tail":         {DropFrom: 9900, DropTo: math.MaxUint64},
		"random":       {DropRandom: 0.1, Seed: 42},
		"random all":   {DropRandom: 1},
		"swap":         {SwapEvery: 10},
		"swap all":     {SwapEvery: 2},
		"duplicate":    {DupEvery: 10},
		"corrupt":      {CorruptEvery: 10},
		"mended":       {CorruptEvery: 10, MendChecksum: true},
		"small frames": {DropAbove: 1518},
		"large frames": {DropAbove: 64},
		"together": {
			DropEvery: 13, DropFrom: 500, DropTo: 777, DropRandom: 0.03, Seed: 7,
			SwapEvery: 5, CorruptEvery: 11, MendChecksum: true, DupEvery: 7,
		},
	}
	for name, rules := range tests {
		rules.Port, rules.Magic = testPort, probe.MagicData
		t.Run(name, func(t *testing.T) {
			l := newLab(t, Config{Impair: &rules})
			want := newModel(rules)
			var csumErrors uint64
			for _, addr := range []netip.Addr{l.B().Addr4, l.B().Addr6} {
				from, to := open(t, l.A(), l.B(), addr)
				frame := 14 + 20 + 8 + len(payload(0, 0, 0)) + 4
				if addr.Is6() {
					frame += 20
				}
				want.arrived = nil
				for seq := range uint64(packets) {
					write(t, to, payload(probe.MagicData, 3, seq))
					want.send(3, seq, frame)
				}
				write(t, to, payload(probe.MagicEnd, 0, packets))
				if diff := cmp.Diff(want.arrived, collect(t, from)); diff != "" {
					t.Errorf("to %s (-want +got):\n%s", addr, diff)
				}
			}
			if rules.CorruptEvery > 0 && !rules.MendChecksum {
				csumErrors = want.counts.Corrupted
			}
			if got := checksumErrors(t, l.B()); got != csumErrors {
				t.Errorf("%d checksum errors at b, want %d", got, csumErrors)
			}
			checkCounts(t, l, want.counts, ImpairCounts{})
		})
	}
}

func checkCounts(t *testing.T, l *Lab, forward, reverse ImpairCounts) {
	t.Helper()
	f, r, err := l.Impaired()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(forward, f); diff != "" {
		t.Errorf("a to b (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(reverse, r); diff != "" {
		t.Errorf("b to a (-want +got):\n%s", diff)
	}
}

// Flows are swapped each on its own, and each direction has its own rules.
func TestImpairedFlowsAndReverse(t *testing.T) {
	const packets = 400
	forward := Impairment{Port: testPort, Magic: probe.MagicData, SwapEvery: 4, DropEvery: 9}
	reverse := Impairment{Port: testPort, Magic: probe.MagicData, DupEvery: 3}
	l := newLab(t, Config{Impair: &forward, Reverse: &reverse})
	wantF, wantR := newModel(forward), newModel(reverse)

	atB, toB := open(t, l.A(), l.B(), l.B().Addr4)
	atA, toA := open(t, l.B(), l.A(), l.A().Addr4)
	for seq := range uint64(packets) {
		for _, flow := range []uint16{0, 1, math.MaxUint16} {
			write(t, toB, payload(probe.MagicData, flow, seq))
			wantF.send(flow, seq, 0)
			write(t, toA, payload(probe.MagicData, flow, seq))
			wantR.send(flow, seq, 0)
		}
	}
	write(t, toB, payload(probe.MagicEnd, 0, 0))
	write(t, toA, payload(probe.MagicEnd, 0, 0))
	if diff := cmp.Diff(wantF.arrived, collect(t, atB)); diff != "" {
		t.Errorf("at b (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantR.arrived, collect(t, atA)); diff != "" {
		t.Errorf("at a (-want +got):\n%s", diff)
	}
	checkCounts(t, l, wantF.counts, wantR.counts)
}

// Sequences near the top of their 48 bits, and swaps that carry far, keep the
// checksum right.
func TestSwapCarries(t *testing.T) {
	rules := Impairment{Port: testPort, Magic: probe.MagicData, SwapEvery: 3}
	l := newLab(t, Config{Impair: &rules})
	want := newModel(rules)
	for _, addr := range []netip.Addr{l.B().Addr4, l.B().Addr6} {
		from, to := open(t, l.A(), l.B(), addr)
		want.arrived = nil
		for _, base := range []uint64{0xfffe, 0xffff_fffe, 0xffff_ffff_fff0} {
			for seq := base - base%3; seq < base+8; seq++ {
				write(t, to, payload(probe.MagicData, 0xffff, seq))
				want.send(0xffff, seq, 0)
			}
		}
		write(t, to, payload(probe.MagicEnd, 0, 0))
		if diff := cmp.Diff(want.arrived, collect(t, from)); diff != "" {
			t.Errorf("to %s (-want +got):\n%s", addr, diff)
		}
	}
	if got := checksumErrors(t, l.B()); got != 0 {
		t.Errorf("%d checksum errors at b", got)
	}
	checkCounts(t, l, want.counts, ImpairCounts{})
}

// Without a magic every datagram to the port is impaired, end markers too, and
// other ports are spared.
func TestImpairedAnyFormat(t *testing.T) {
	l := newLab(t, Config{Impair: &Impairment{Port: testPort, DropFrom: 0, DropTo: 3}})
	from, to := open(t, l.A(), l.B(), l.B().Addr4)
	for range 3 {
		write(t, to, payload(probe.MagicEnd, 0, 0))
	}
	silent(t, from)
	write(t, to, payload(probe.MagicEnd, 0, 0))
	if got := collect(t, from); len(got) != 0 {
		t.Errorf("%d probes arrived", len(got))
	}
	checkCounts(t, l, ImpairCounts{Seen: 4, Dropped: 3}, ImpairCounts{})
}

// Raw frames with a VLAN tag, finished checksums and none are impaired like
// others, and the tag stays.
func TestImpairedTagged(t *testing.T) {
	const packets = 1000
	for _, family := range []string{"IPv4", "IPv6", "IPv4 without checksum"} {
		t.Run(family, func(t *testing.T) {
			rules := Impairment{
				Port: testPort, Magic: probe.MagicData,
				DropEvery: 7, SwapEvery: 4, CorruptEvery: 9, MendChecksum: true, DupEvery: 5,
			}
			l := newLab(t, Config{Impair: &rules})
			want := newModel(rules)
			to := openPacket(t, l.A())
			from := openPacket(t, l.B())
			counter := attachCounter(t, l.B(), false)

			for seq := range uint64(packets) {
				if _, err := to.WriteTo(tagged(l, family, payload(probe.MagicData, 1, seq)), &packet.Addr{HardwareAddr: l.B().MAC}); err != nil {
					t.Fatal(err)
				}
				want.send(1, seq, 0)
			}
			end := tagged(l, family, payload(probe.MagicEnd, 0, 0))
			if _, err := to.WriteTo(end, &packet.Addr{HardwareAddr: l.B().MAC}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.arrived, collectFrames(t, from, family)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			checkCounts(t, l, want.counts, ImpairCounts{})

			got, err := counter.Load()
			if err != nil {
				t.Fatal(err)
			}
			n := uint64(len(want.arrived))
			if got.Data != n || got.End != 1 || got.Other != 0 || got.DataBytes != n*uint64(len(end)) {
				t.Errorf("counted %+v, want %d probes of %d bytes and 1 end marker", got, n, len(end))
			}
		})
	}
}

func attachCounter(t *testing.T, h *Host, drop bool) *bpf.Counter {
	t.Helper()
	index, err := h.index("eth0")
	if err != nil {
		t.Fatal(err)
	}
	var c *bpf.Counter
	err = h.Do(func() (err error) {
		c, err = bpf.AttachCounter(index, bpf.Filter{
			Port: testPort, DataMagic: probe.MagicData, EndMagic: probe.MagicEnd, Drop: drop,
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func openPacket(t *testing.T, h *Host) *packet.Conn {
	t.Helper()
	var conn *packet.Conn
	err := h.Do(func() error {
		ifi, err := net.InterfaceByName("eth0")
		if err != nil {
			return err
		}
		conn, err = packet.Listen(ifi, packet.Raw, unix.ETH_P_ALL, nil)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	raw.Control(func(fd uintptr) {
		if err := unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 64<<20); err != nil {
			t.Error(err)
		}
	})
	return conn
}

// tagged is a frame from a to b with VLAN 5.
func tagged(l *Lab, family string, data []byte) []byte {
	udp := binary.BigEndian.AppendUint16(nil, 4000)
	udp = binary.BigEndian.AppendUint16(udp, testPort)
	udp = binary.BigEndian.AppendUint16(udp, uint16(8+len(data)))
	udp = append(udp, 0, 0)
	udp = append(udp, data...)

	frame := append([]byte(nil), l.B().MAC...)
	frame = append(frame, l.A().MAC...)
	frame = append(frame, 0x81, 0, 0, 5)
	src, dst := l.A().Addr4.AsSlice(), l.B().Addr4.AsSlice()
	if family == "IPv6" {
		src, dst = l.A().Addr6.AsSlice(), l.B().Addr6.AsSlice()
		frame = append(frame, 0x86, 0xdd, 0x60, 0, 0, 0, 0, byte(len(udp)), 17, 64)
		frame = append(append(frame, src...), dst...)
	} else {
		ip := []byte{0x45, 0, 0, byte(20 + len(udp)), 0, 0, 0x40, 0, 64, 17, 0, 0}
		ip = append(append(ip, src...), dst...)
		binary.BigEndian.PutUint16(ip[10:], ^fold(0, ip))
		frame = append(append(frame, 8, 0), ip...)
	}
	if family != "IPv4 without checksum" {
		binary.BigEndian.PutUint16(udp[6:], ^fold(pseudo(src, dst, udp), udp))
	}
	return append(frame, udp...)
}

// fold adds up the 16-bit words of b in ones' complement (RFC 1071).
func fold(sum uint32, b []byte) uint16 {
	for i, c := range b {
		sum += uint32(c) << (8 * (1 - i%2))
	}
	for sum > math.MaxUint16 {
		sum = sum>>16 + sum&math.MaxUint16
	}
	return uint16(sum)
}

// pseudo is the sum of the pseudo-header.
func pseudo(src, dst, udp []byte) uint32 {
	return uint32(fold(0, src)) + uint32(fold(0, dst)) + 17 + uint32(len(udp))
}

// collectFrames reads frames up to the end marker and checks their checksums.
func collectFrames(t *testing.T, conn *packet.Conn, family string) []arrival {
	t.Helper()
	conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	var got []arrival
	buf := make([]byte, 2048)
	for {
		n, _, err := conn.ReadFrom(buf)
		if err != nil {
			t.Fatalf("after %d arrivals: %v", len(got), err)
		}
		b := buf[14:n] // the kernel took the tag out
		var src, dst []byte
		switch proto := binary.BigEndian.Uint16(buf[12:]); {
		case proto == unix.ETH_P_IP && b[9] == 17:
			src, dst, b = b[12:16], b[16:20], b[20:]
		case proto == unix.ETH_P_IPV6 && b[6] == 17:
			src, dst, b = b[8:24], b[24:40], b[40:]
		default:
			continue // multicast listener reports
		}
		if family == "IPv4 without checksum" {
			if b[6] != 0 || b[7] != 0 {
				t.Fatalf("a checksum appeared: % x", b)
			}
		} else if sum := fold(pseudo(src, dst, b), b); sum != math.MaxUint16 {
			t.Fatalf("checksum off by %#x: % x", sum, b)
		}
		a, ok := parse(t, b[8:])
		if !ok {
			return got
		}
		got = append(got, a)
	}
}

// Segments of a UDP_SEGMENT send are judged one by one: no super-frame gets to the
// middle.
func TestSegmentsImpaired(t *testing.T) {
	const segments, sends = 20, 10
	rules := Impairment{Port: testPort, Magic: probe.MagicData, DropEvery: 3, SwapEvery: 4}
	l := newLab(t, Config{Impair: &rules})
	want := newModel(rules)
	from, to := open(t, l.A(), l.B(), l.B().Addr4)
	size := len(payload(0, 0, 0))
	segment(t, to, size)
	for send := range uint64(sends) {
		var b []byte
		for i := range uint64(segments) {
			seq := send*segments + i
			b = append(b, payload(probe.MagicData, 0, seq)...)
			want.send(0, seq, 0)
		}
		write(t, to, b)
	}
	write(t, to, payload(probe.MagicEnd, 0, 0))
	if diff := cmp.Diff(want.arrived, collect(t, from)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	checkCounts(t, l, want.counts, ImpairCounts{})
}

func segment(t *testing.T, conn *net.UDPConn, size int) {
	t.Helper()
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	err = raw.Control(func(fd uintptr) {
		if err := unix.SetsockoptInt(int(fd), unix.SOL_UDP, unix.UDP_SEGMENT, size); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestDelay(t *testing.T) {
	const packets, delay = 40, 30 * time.Millisecond
	for _, version := range []string{"IPv4", "IPv6"} {
		t.Run(version, func(t *testing.T) {
			l := newLab(t, Config{Impair: &Impairment{Port: testPort, DelayEvery: 4}, Delay: delay})
			addr := l.B().Addr4
			if version == "IPv6" {
				addr = l.B().Addr6
			}
			from, to := open(t, l.A(), l.B(), addr)
			start := time.Now()
			for seq := range uint64(packets) {
				write(t, to, payload(probe.MagicData, 0, seq))
			}
			if sending := time.Since(start); sending > delay {
				t.Fatalf("it took %s to send %d packets", sending, packets)
			}
			var got []uint64
			buf := make([]byte, 2048)
			from.SetReadDeadline(time.Now().Add(5 * time.Second))
			for range packets {
				n, err := from.Read(buf)
				if err != nil {
					t.Fatalf("after %d: %v", got, err)
				}
				a, ok := parse(t, buf[:n])
				if !ok {
					t.Fatal("not a probe")
				}
				got = append(got, a.Seq)
			}
			if took := time.Since(start); took < delay {
				t.Errorf("the last arrived after %s", took)
			}
			var want []uint64
			for seq := range uint64(packets) {
				if seq%4 != 3 {
					want = append(want, seq)
				}
			}
			for seq := uint64(3); seq < packets; seq += 4 {
				want = append(want, seq)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if n := checksumErrors(t, l.B()); n != 0 {
				t.Errorf("%d checksum errors at b", n)
			}
			checkCounts(t, l, ImpairCounts{Seen: packets, Delayed: packets / 4}, ImpairCounts{})
		})
	}
}

// A delay that picks none holds all, both ways.
func TestDelayOfAll(t *testing.T) {
	const delay = 5 * time.Millisecond
	l := newLab(t, Config{Delay: delay})
	from, to := open(t, l.A(), l.B(), l.B().Addr6)
	start := time.Now()
	write(t, to, payload(probe.MagicData, 0, 0))
	from.SetReadDeadline(start.Add(5 * time.Second))
	buf := make([]byte, 2048)
	n, back, err := from.ReadFrom(buf)
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took < delay {
		t.Errorf("a datagram took %s", took)
	}
	if _, err := from.WriteTo(buf[:n], back); err != nil {
		t.Fatal(err)
	}
	to.SetReadDeadline(start.Add(5 * time.Second))
	if _, err := to.Read(buf); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took < 2*delay {
		t.Errorf("there and back took %s", took)
	}
}

func TestOutage(t *testing.T) {
	l := newLab(t, Config{Impair: &Impairment{Port: testPort, Magic: probe.MagicData}})
	from, to := open(t, l.A(), l.B(), l.B().Addr4)
	send := func() {
		for seq := range uint64(5) {
			write(t, to, payload(probe.MagicData, 0, seq))
		}
		write(t, to, payload(probe.MagicEnd, 0, 5))
	}
	send()
	if got := collect(t, from); len(got) != 5 {
		t.Errorf("%d of 5 arrived before the outage", len(got))
	}
	if err := l.SetOutage(true); err != nil {
		t.Fatal(err)
	}
	send()
	silent(t, from)
	if err := l.SetOutage(false); err != nil {
		t.Fatal(err)
	}
	send()
	if got := collect(t, from); len(got) != 5 {
		t.Errorf("%d of 5 arrived after the outage", len(got))
	}
	forward, _, err := l.Impaired()
	if err != nil {
		t.Fatal(err)
	}
	if forward.Seen != 15 || forward.Dropped != 5 || forward.Outage < 6 {
		t.Errorf("%+v, want 15 seen, 5 dropped and at least 6 frames of the outage", forward)
	}
}

func TestRefusedRules(t *testing.T) {
	tests := map[string]Config{
		"ratio above 1":        {Impair: &Impairment{DropRandom: 1.1}},
		"ratio is no number":   {Impair: &Impairment{DropRandom: math.NaN()}},
		"swap without a pair":  {Impair: &Impairment{SwapEvery: 1, Magic: 1}},
		"swap without a magic": {Impair: &Impairment{SwapEvery: 2}},
		"bad reverse":          {Reverse: &Impairment{SwapEvery: 1, Magic: 1}},
		"impairing router":     {Router: true, Impair: &Impairment{}},
		"narrowest shape":      {Shape: Shape{Rate: 7}},
		"MTU of nothing":       {MTU: 1},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			l, err := New(c)
			if err == nil {
				l.Close()
				t.Fatal("no error")
			}
			t.Log(err)
		})
	}
}
