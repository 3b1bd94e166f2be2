package bpf_test

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"linerate/bpf"
	"linerate/internal/lab"
)

const (
	testPort  = 5201
	dataMagic = 0xb6d1
	endMagic  = 0xb6e1
)

func newLab(t *testing.T, c lab.Config) *lab.Lab {
	t.Helper()
	l, err := lab.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// inside runs f in a host with the index of its interface.
func inside(t *testing.T, h *lab.Host, f func(index int) error) {
	t.Helper()
	err := h.Do(func() error {
		i, err := net.InterfaceByName(h.Interface)
		if err != nil {
			return err
		}
		return f(i.Index)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func attachCounter(t *testing.T, h *lab.Host, drop bool) *bpf.Counter {
	t.Helper()
	var c *bpf.Counter
	inside(t, h, func(index int) (err error) {
		c, err = bpf.AttachCounter(index, bpf.Filter{
			Port: testPort, DataMagic: dataMagic, EndMagic: endMagic, Drop: drop,
		})
		return err
	})
	t.Cleanup(func() { c.Close() })
	return c
}

func payload(magic uint16, size int) []byte {
	return append(binary.BigEndian.AppendUint16(nil, magic), make([]byte, size-2)...)
}

func TestCounter(t *testing.T) {
	const data, end, other = 1000, 10, 7
	for _, drop := range []bool{false, true} {
		l := newLab(t, lab.Config{MTU: 9000})
		counter := attachCounter(t, l.B(), drop)
		for _, test := range []struct {
			addr    netip.Addr
			headers uint64
			size    int
		}{{l.B().Addr4, 14 + 20 + 8, 18}, {l.B().Addr6, 14 + 40 + 8, 8000}} {
			before, err := counter.Load()
			if err != nil {
				t.Fatal(err)
			}
			dst := net.UDPAddrFromAddrPort(netip.AddrPortFrom(test.addr, testPort))
			var from, to *net.UDPConn
			inside(t, l.B(), func(int) (err error) {
				from, err = net.ListenUDP("udp", dst)
				return err
			})
			defer from.Close()
			inside(t, l.A(), func(int) (err error) {
				to, err = net.DialUDP("udp", nil, dst)
				return err
			})
			defer to.Close()
			send := func(n int, b []byte) {
				for range n {
					if _, err := to.Write(b); err != nil {
						t.Fatal(err)
					}
				}
			}
			var start, stop unix.Timespec
			unix.ClockGettime(unix.CLOCK_MONOTONIC, &start)
			send(other, []byte{1})
			send(data, payload(dataMagic, test.size))
			send(end, payload(endMagic, 400))
			unix.ClockGettime(unix.CLOCK_MONOTONIC, &stop)

			got, err := counter.Load()
			if err != nil {
				t.Fatal(err)
			}
			want := bpf.Counts{
				Data:      before.Data + data,
				End:       before.End + end,
				Other:     before.Other + other,
				DataBytes: before.DataBytes + data*(test.headers+uint64(test.size)),
				FirstNs:   got.FirstNs,
				LastNs:    got.LastNs,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("to %s (-want +got):\n%s", test.addr, diff)
			}
			if before.FirstNs != 0 && got.FirstNs != before.FirstNs {
				t.Errorf("the first probe moved from %d to %d", before.FirstNs, got.FirstNs)
			}
			if first := max(got.FirstNs, uint64(start.Nano())); got.FirstNs == 0 || got.LastNs <= first || got.LastNs > uint64(stop.Nano()) {
				t.Errorf("probes from %d to %d, sent from %d to %d", got.FirstNs, got.LastNs, start.Nano(), stop.Nano())
			}
			from.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
			if _, err := from.Read(make([]byte, 9000)); (err != nil) != drop {
				t.Errorf("with drop %v the socket got %v", drop, err)
			}
		}
	}
}

// Live frames, which XDP makes, cross the middle host, are impaired like others
// and arrive: every veth on the way uses NAPI.
func TestLiveFramesCross(t *testing.T) {
	const frames = 200   // fewer than the 256 places of a veth's ring: XDP does not wait
	const liveFrames = 2 // BPF_F_TEST_XDP_LIVE_FRAMES
	for name, test := range map[string]struct {
		config lab.Config
		want   uint64
	}{
		"direct":   {lab.Config{}, frames},
		"impaired": {lab.Config{Impair: &lab.Impairment{Port: testPort, DropEvery: 4}}, frames * 3 / 4},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, test.config)
			var from *net.UDPConn // a plain receiver: b has no XDP program
			inside(t, l.B(), func(int) (err error) {
				from, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(l.B().Addr4, testPort)))
				if err != nil {
					return err
				}
				raw, err := from.SyscallConn()
				if err != nil {
					return err
				}
				return errors.Join(raw.Control(func(fd uintptr) {
					err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 64<<20)
				}), err)
			})
			defer from.Close()
			inside(t, l.A(), func(index int) error {
				prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
					Type:         ebpf.XDP,
					Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 3 /* XDP_TX */), asm.Return()},
					License:      "Dual MIT/GPL",
				})
				if err != nil {
					return err
				}
				defer prog.Close()
				data := frame(l)
				// struct xdp_md of linux/bpf.h
				context := struct{ Data, DataEnd, DataMeta, Ifindex, Queue, Egress uint32 }{
					DataEnd: uint32(len(data)), Ifindex: uint32(index),
				}
				_, err = prog.Run(&ebpf.RunOptions{Data: data, Context: context, Repeat: frames, Flags: liveFrames})
				return err
			})
			received := uint64(0)
			for buf := make([]byte, 64); ; received++ {
				from.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
				if _, err := from.Read(buf); err != nil {
					break
				}
			}
			if received != test.want {
				t.Errorf("%d of %d datagrams arrived, want %d", received, frames, test.want)
			}
		})
	}
}

// frame is a probe from a to b, without a UDP checksum.
func frame(l *lab.Lab) []byte {
	b := append([]byte(nil), l.B().MAC...)
	b = append(append(b, l.A().MAC...), 8, 0)
	ip := []byte{0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0x66, 0x23, 10, 77, 0, 1, 10, 77, 0, 2}
	b = append(b, ip...)
	b = binary.BigEndian.AppendUint16(b, 4000)
	b = binary.BigEndian.AppendUint16(b, testPort)
	b = append(b, 0, 26, 0, 0)
	return append(b, payload(dataMagic, 18)...)
}

func TestAttachRefused(t *testing.T) {
	l := newLab(t, lab.Config{Impair: &lab.Impairment{}})
	check := func(err error, errno error, words ...string) {
		t.Helper()
		if !errors.Is(err, errno) {
			t.Errorf("%v, want %v", err, errno)
			return
		}
		for _, w := range append(words, "bpf: attach ") {
			if !strings.Contains(err.Error(), w) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q, want one line with %q", err, w)
			}
		}
	}
	inside(t, l.Middle(), func(index int) error {
		_, err := bpf.AttachPass(index)
		check(err, unix.EBUSY, "another program")
		_, err = bpf.AttachCounter(index, bpf.Filter{})
		check(err, unix.EBUSY, "another program")
		_, err = bpf.AttachCounter(1<<30, bpf.Filter{})
		check(err, unix.EINVAL)
		_, err = bpf.AttachImpairer(1<<30, index, 0, bpf.Impairment{})
		check(err, unix.ENODEV)
		return nil
	})
}

// What is closed is off the interface: the next can have it.
func TestCloseDetaches(t *testing.T) {
	l := newLab(t, lab.Config{})
	inside(t, l.A(), func(index int) error {
		for range 3 {
			c, err := bpf.AttachCounter(index, bpf.Filter{})
			if err != nil {
				return err
			}
			if err := c.Close(); err != nil {
				return err
			}
			var p io.Closer
			if p, err = bpf.AttachPass(index); err != nil {
				return err
			}
			if err := p.Close(); err != nil {
				return err
			}
		}
		return nil
	})
}
