package gen

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"linerate/gen/pace"
	"linerate/internal/linux"
)

// superPaths are the paths that send super-frames.
var superPaths = []string{"packet", "ring", "gso"}

// TestSuperFrames lets super-frames cross whole, and reads how many packets each
// was of.
func TestSuperFrames(t *testing.T) {
	for _, name := range superPaths {
		for _, tt := range []struct {
			burst, size int
			want        []int
		}{
			{64, 18, []int{64}},
			{64, 1472, []int{44, 20}},
			{45, 1472, []int{44, 1}},
			{64, 8972, []int{7, 7, 7, 7, 7, 7, 7, 7, 7, 1}},
			{2, 32734, []int{2}},
			{2, 32735, []int{1, 1}},
			{1, 18, []int{1}},
			{300, 18, []int{128, 128, 44}},
		} {
			t.Run(fmt.Sprintf("%s/%dx%d", name, tt.burst, tt.size), func(t *testing.T) {
				l := newLab(t)
				l.check(l.onA.LinkSetMTU(l.a, 65535))
				l.check(l.onB.LinkSetMTU(l.b, 65535))
				l.offload(true)
				l.sink(testAddr4[1])
				r := l.reader()
				l.check(unix.SetsockoptInt(r.fd, unix.SOL_PACKET, unix.PACKET_VNET_HDR, 1))
				p := findPath(t, name)
				cfg := l.config(l.template(p.Family, testAddr4, 1, nil, tt.size))
				cfg.Batch = max(tt.burst, 2)
				s := l.open(p, cfg)
				if n, err := s.Send(pace.Burst{N: tt.burst, Size: tt.size}); n != tt.burst || err != nil {
					t.Fatalf("Send = %d, %v", n, err)
				}
				var got []int
				for {
					a, ok := r.next()
					if !ok {
						break
					}
					_, payload, isUDP := parse(a.frame[linux.VirtioLen:])
					if !isUDP {
						continue
					}
					got = append(got, len(payload)/tt.size)
					segment := int(binary.NativeEndian.Uint16(a.frame[4:]))
					if super := got[len(got)-1] > 1; super != (segment == tt.size) || len(payload)%tt.size != 0 {
						t.Errorf("a frame of %d bytes of payload, segments of %d", len(payload), segment)
					}
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("packets of each frame (-want +got):\n%s", diff)
				}
				if most, refused := s.(Segmenter).Segments(); most != tt.want[0] || refused {
					t.Errorf("Segments = %d, %v, want %d", most, refused, tt.want[0])
				}
			})
		}
	}
}

// TestSegmentsValid lets Wireshark look at what the kernel makes of super-frames.
func TestSegmentsValid(t *testing.T) {
	var capture bytes.Buffer
	w := pcapgo.NewWriterNanos(&capture)
	if err := w.WriteFileHeader(65536, layers.LinkTypeEthernet); err != nil {
		t.Fatal(err)
	}
	var want []string // a line a frame: payload bytes, status of the checksums (1 is good)
	vlan := uint16(100)
	for _, name := range superPaths {
		for _, addr := range [][2]netip.Addr{testAddr4, testAddr6} {
			for _, tag := range []*uint16{nil, &vlan} {
				p := findPath(t, name)
				if tag != nil && p.Family == Kernel {
					continue
				}
				for _, size := range []int{18, 999, 1472} {
					l := newLab(t)
					l.sink(addr[1])
					r := l.reader()
					s := l.open(p, l.config(l.template(p.Family, addr, 1, tag, size)))
					if n, err := s.Send(pace.Burst{N: 5, Size: size}); n != 5 || err != nil {
						t.Fatalf("Send = %d, %v", n, err)
					}
					for range 5 {
						b := r.nextFrame(t)
						info := gopacket.CaptureInfo{Timestamp: time.Unix(0, 0), CaptureLength: len(b), Length: len(b)}
						if err := w.WritePacket(info, b); err != nil {
							t.Fatal(err)
						}
						ip := "1"
						if addr[1].Is6() {
							ip = ""
						}
						want = append(want, fmt.Sprintf("%s\t%d\t1", ip, 8+size))
					}
				}
			}
		}
	}
	tshark := exec.Command("tshark", "-n", "-r", "-", "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE",
		"-T", "fields", "-e", "ip.checksum.status", "-e", "udp.length", "-e", "udp.checksum.status")
	var stderr bytes.Buffer
	tshark.Stdin, tshark.Stderr = &capture, &stderr
	out, err := tshark.Output()
	if err != nil {
		t.Fatalf("tshark: %v\n%s", err, &stderr)
	}
	if diff := cmp.Diff(want, strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")); diff != "" {
		t.Errorf("status of the IP checksum, UDP length, status of the UDP checksum (-want +got):\n%s", diff)
	}
}

// TestFewerSegments asks for more than the kernel takes: the path finds out how
// many that is, and sends all of them.
func TestFewerSegments(t *testing.T) {
	l := newLab(t)
	l.sink(testAddr4[1])
	r := l.reader()
	p := findPath(t, "gso")
	cfg := l.config(l.template(p.Family, testAddr4, 1, nil, 18))
	cfg.Batch = 1024
	s := l.open(p, cfg).(*udpSender)
	s.most = 1000
	if n, err := s.Send(pace.Burst{N: 1000, Size: 18}); n != 1000 || err != nil {
		t.Fatalf("Send = %d, %v", n, err)
	}
	if most, refused := s.Segments(); s.most != 125 || most != 125 || refused {
		t.Errorf("%d at most, Segments = %d, %v; want 125", s.most, most, refused)
	}
	newExpect(cfg.Template, l).receive(r, pace.Burst{N: 1000, Size: 18}, 1000)
}

// TestNoSegments lets every try fail, as on a kernel without super-frames.
func TestNoSegments(t *testing.T) {
	s := newSegments(true)
	var tried []int
	for per := s.per(18); ; per = s.per(18) {
		tried = append(tried, per)
		if !s.fewer(unix.EINVAL, per) {
			break
		}
	}
	if diff := cmp.Diff([]int{128, 64, 32, 16, 8, 4, 2, 1}, tried); diff != "" {
		t.Errorf("packets together (-want +got):\n%s", diff)
	}
	if most, refused := s.Segments(); most != 0 || !refused {
		t.Errorf("Segments = %d, %v, want none, refused", most, refused)
	}
	s = newSegments(true)
	if s.fewer(unix.EMSGSIZE, 128) || s.fewer(nil, 128) || s.most != maxSegments {
		t.Errorf("%d at most after errors that have other reasons", s.most)
	}
}

// TestNoClumps is BC-123: packets that are due one by one leave one by one, and a
// queue of five frames loses none.
func TestNoClumps(t *testing.T) {
	const rate, size, packets = 20_000_000, 1000, 200
	for _, name := range superPaths {
		l := newLab(t)
		l.quiet()
		l.sink(testAddr4[1])
		r := l.reader()
		const bytesPerSecond, frame = 100_000_000 / 8, 42 + size
		l.check(l.onA.QdiscAdd(&netlink.Tbf{
			QdiscAttrs: netlink.QdiscAttrs{LinkIndex: l.a.Attrs().Index, Parent: netlink.HANDLE_ROOT, Handle: netlink.MakeHandle(1, 0)},
			Rate:       bytesPerSecond,
			Limit:      5 * frame,
			Buffer:     netlink.Xmittime(bytesPerSecond, 2*frame),
		}))
		l.waitUp()
		p := findPath(t, name)
		cfg := l.config(l.template(p.Family, testAddr4, 1, nil, size))
		s := l.open(p, cfg)
		pacer := pace.NewPacer(pace.Schedule{
			Sizes: []int{size}, Costs: []uint64{8 * size}, MicroRate: rate * 1_000_000, Flows: 1, Burst: 1, Count: packets,
		}, linux.Monotonic())
		l.check(transmit(t.Context(), s, pacer))
		if most, _ := s.(Segmenter).Segments(); most != 1 {
			t.Errorf("%s: %d packets left as one", name, most)
		}
		if _, drops := l.accepted(size); drops != 0 {
			t.Errorf("%s: the queue dropped %d", name, drops)
		}
		newExpect(cfg.Template, l).receive(r, pace.Burst{N: packets, Size: size}, packets)
	}
}
