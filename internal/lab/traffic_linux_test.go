package lab

import (
	"bufio"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"linerate/internal/probe"
)

const (
	testPort = 5201
	testRun  = 0x1234
	// filler follows the header; its last byte is what an impairer corrupts.
	filler = "linerate"
)

// newLab makes a lab that ends with the test.
func newLab(t *testing.T, c Config) *Lab {
	t.Helper()
	l, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// payload is a probe as linerate's native format has it, and some filler.
func payload(magic, flow uint16, seq uint64) []byte {
	b := binary.BigEndian.AppendUint16(nil, magic)
	b = binary.BigEndian.AppendUint16(b, testRun)
	b = binary.BigEndian.AppendUint16(b, flow)
	b = append(b, 0, 0, 0, 0, 0, 0)
	binary.BigEndian.PutUint64(b[4:], uint64(flow)<<48|seq)
	b = append(b, 0xa, 0xb, 0xc, 0xd, 0xe, 0xf)
	return append(b, filler...)
}

// An arrival is a probe as it came.
type arrival struct {
	Seq     uint64
	Corrupt bool
}

// parse turns a payload back; false for another magic.
func parse(t *testing.T, b []byte) (arrival, bool) {
	t.Helper()
	if binary.BigEndian.Uint16(b) != probe.MagicData {
		return arrival{}, false
	}
	flow := binary.BigEndian.Uint16(b[4:])
	a := arrival{Seq: binary.BigEndian.Uint64(b[4:]) & (1<<48 - 1)}
	want := payload(probe.MagicData, flow, a.Seq)
	if want[len(want)-1] == ^b[len(b)-1] {
		a.Corrupt = true
		want[len(want)-1] ^= 0xff
	}
	if string(want) != string(b) {
		t.Fatalf("payload % x, want % x", b, want)
	}
	return a, true
}

// open makes sockets at both ends of a path that has carried a datagram already:
// while a neighbour is being resolved, packets can overtake those that wait for it.
func open(t *testing.T, src, dst *Host, addr netip.Addr) (from, to *net.UDPConn) {
	t.Helper()
	const other = 9
	from, to = listen(t, dst, addr, other), dial(t, src, addr, other)
	write(t, to, payload(probe.MagicEnd, 0, 0))
	collect(t, from)
	return listen(t, dst, addr, testPort), dial(t, src, addr, testPort)
}

// listen binds a UDP socket in a host with room for a whole test's packets.
func listen(t *testing.T, h *Host, addr netip.Addr, port uint16) *net.UDPConn {
	t.Helper()
	var conn *net.UDPConn
	err := h.Do(func() (err error) {
		conn, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(addr, port)))
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
	err = raw.Control(func(fd uintptr) {
		if err := unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 64<<20); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// dial connects a UDP socket in a host.
func dial(t *testing.T, h *Host, addr netip.Addr, port uint16) *net.UDPConn {
	t.Helper()
	var conn *net.UDPConn
	err := h.Do(func() (err error) {
		conn, err = net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(addr, port)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func write(t *testing.T, conn *net.UDPConn, b []byte) {
	t.Helper()
	if _, err := conn.Write(b); err != nil {
		t.Fatal(err)
	}
}

// collect reads probes up to the end marker.
func collect(t *testing.T, conn *net.UDPConn) []arrival {
	t.Helper()
	conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	var got []arrival
	buf := make([]byte, 65536)
	for {
		n, err := conn.Read(buf)
		if err != nil {
			t.Fatalf("after %d arrivals: %v", len(got), err)
		}
		a, ok := parse(t, buf[:n])
		if !ok {
			return got
		}
		got = append(got, a)
	}
}

// silent fails if something arrives.
func silent(t *testing.T, conn *net.UDPConn) {
	t.Helper()
	conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	if n, err := conn.Read(make([]byte, 2048)); err == nil {
		t.Fatalf("%d bytes arrived", n)
	}
}

// checksumErrors is how many UDP datagrams a host found with a wrong checksum.
func checksumErrors(t *testing.T, h *Host) uint64 {
	t.Helper()
	var sum uint64
	err := h.Do(func() error {
		v4, err := os.ReadFile("/proc/thread-self/net/snmp")
		if err != nil {
			return err
		}
		v6, err := os.ReadFile("/proc/thread-self/net/snmp6")
		if err != nil {
			return err
		}
		var names []string
		found := 0
		for s := bufio.NewScanner(strings.NewReader(string(v4))); s.Scan(); {
			f := strings.Fields(s.Text())
			if f[0] != "Udp:" {
				continue
			}
			if names == nil {
				names = f
				continue
			}
			for i, name := range names {
				if name == "InCsumErrors" {
					n, err := strconv.ParseUint(f[i], 10, 64)
					if err != nil {
						return err
					}
					sum += n
					found++
				}
			}
		}
		for s := bufio.NewScanner(strings.NewReader(string(v6))); s.Scan(); {
			f := strings.Fields(s.Text())
			if f[0] == "Udp6InCsumErrors" {
				n, err := strconv.ParseUint(f[1], 10, 64)
				if err != nil {
					return err
				}
				sum += n
				found++
			}
		}
		if found != 2 {
			return errors.New("no InCsumErrors")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// A model is an impairer in plain Go.
type model struct {
	rules   Impairment
	counts  ImpairCounts
	awaited map[uint16]uint64
	arrived []arrival
}

func (m *model) send(flow uint16, seq uint64, frame int) {
	r, c := &m.rules, &m.counts
	n := c.Seen
	c.Seen++
	every := func(k uint64) bool { return k > 0 && n%k == k-1 }
	random, above := false, false
	switch {
	case every(r.DropEvery):
	case r.DropFrom <= n && n < r.DropTo:
	case float64(splitmix64(r.Seed, n)>>32) < r.DropRandom*(1<<32):
		random = true
	case r.DropAbove > 0 && frame > int(r.DropAbove):
		above = true
	default:
		m.pass(flow, seq, every)
		return
	}
	c.Dropped++
	if random {
		c.DroppedRandom++
	}
	if above {
		c.DroppedAbove++
	}
}

func (m *model) pass(flow uint16, seq uint64, every func(uint64) bool) {
	r, c := &m.rules, &m.counts
	if k := r.SwapEvery; k > 0 {
		switch seq % k {
		case k - 2:
			seq++
			m.awaited[flow] = seq
		case k - 1:
			if m.awaited[flow] == seq {
				c.Swapped++
			}
			seq--
		}
	}
	a := arrival{Seq: seq}
	if every(r.CorruptEvery) {
		a.Corrupt = true
		c.Corrupted++
	}
	copies := 1
	if every(r.DupEvery) {
		copies++
		c.Duplicated++
	}
	for range copies {
		if !a.Corrupt || r.MendChecksum {
			m.arrived = append(m.arrived, a)
		}
	}
}

func newModel(rules Impairment) *model {
	return &model{rules: rules, awaited: map[uint16]uint64{}}
}

// splitmix64 is the generator of the same name (Steele, Lea, Flood 2014).
func splitmix64(seed, n uint64) uint64 {
	z := seed + (n+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
