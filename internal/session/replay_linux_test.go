package session

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"

	"linerate/internal/lab"
	"linerate/internal/pcap"
	"linerate/internal/plan"
	"linerate/internal/result"
)

// sketch is a frame of a test's capture: UDP over IPv4 or IPv6 with so many bytes
// of payload, at a time.
type sketch struct {
	v6      bool
	payload int
	at      time.Duration
}

// draw writes a nanosecond pcapng file of frames between strangers.
func draw(t *testing.T, sketches ...sketch) (file string, frames [][]byte) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "drawn.pcapng")
	f, err := os.Create(file)
	check(t, err)
	defer f.Close()
	w, err := pcapgo.NewNgWriter(f, layers.LinkTypeEthernet)
	check(t, err)
	for i, s := range sketches {
		ether := &layers.Ethernet{SrcMAC: []byte{2, 0, 0, 0, 0, 1}, DstMAC: []byte{2, 0, 0, 0, 0, 2}, EthernetType: layers.EthernetTypeIPv4}
		udp := &layers.UDP{SrcPort: 1234, DstPort: 5201}
		var ip gopacket.SerializableLayer
		if s.v6 {
			ether.EthernetType = layers.EthernetTypeIPv6
			v6 := &layers.IPv6{Version: 6, NextHeader: layers.IPProtocolUDP, HopLimit: 9, SrcIP: netip.MustParseAddr("2001:db8::1").AsSlice(), DstIP: netip.MustParseAddr("2001:db8::2").AsSlice()}
			check(t, udp.SetNetworkLayerForChecksum(v6))
			ip = v6
		} else {
			v4 := &layers.IPv4{Version: 4, IHL: 5, Protocol: layers.IPProtocolUDP, TTL: 9, SrcIP: []byte{192, 0, 2, 1}, DstIP: []byte{192, 0, 2, 2}}
			check(t, udp.SetNetworkLayerForChecksum(v4))
			ip = v4
		}
		b := gopacket.NewSerializeBuffer()
		payload := bytes.Repeat([]byte{byte(i)}, s.payload)
		check(t, gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, ether, ip, udp, gopacket.Payload(payload)))
		data := bytes.Clone(b.Bytes())
		info := gopacket.CaptureInfo{Timestamp: time.Unix(1_700_000_000, 0).Add(s.at), CaptureLength: len(data), Length: len(data)}
		check(t, w.WritePacket(info, data))
		frames = append(frames, data)
	}
	check(t, w.Flush())
	return file, frames
}

// captureAll writes every frame to the test's port that arrives at b, with the
// time in ns.
func captureAll(t *testing.T, l *lab.Lab) (file string, end func() []pcap.Frame) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "wire.pcap")
	stop := background(t, l.B(), "tcpdump", "-i", l.B().Interface, "-n", "--immediate-mode", "-B", "32768", "-U", "-s", "0",
		"--time-stamp-precision=nano", "-w", file, "udp port 5201 or (vlan and udp port 5201)")
	await(t, "tcpdump", func() bool { return exec.Command("test", "-s", file).Run() == nil })
	return file, func() []pcap.Frame {
		if out := stop(); !strings.Contains(out, "0 packets dropped by kernel") {
			t.Fatalf("tcpdump: %s", out)
		}
		f, err := os.Open(file)
		check(t, err)
		defer f.Close()
		frames, err := pcap.Read(f)
		check(t, err)
		return frames
	}
}

// replayFrom sends a capture from a.
func replayFrom(t *testing.T, l *lab.Lab, r plan.ReplayRequest) *result.Report {
	t.Helper()
	var rep *result.Report
	r.Iface, r.Window = l.A().Interface, 4<<20
	check(t, l.A().Do(func() error {
		p, err := plan.ResolveReplay(r)
		if err != nil {
			return err
		}
		rep, err = Replay(context.Background(), p, "test", deaf{})
		return err
	}))
	if rep == nil {
		t.Fatal("no report")
	}
	return rep
}

// What tcpdump captures of a replay is what the file holds: every frame, every
// byte, in order, no sooner than the capture's gaps; jumbo frames and rounds too.
func TestAReplayIsTheCapture(t *testing.T) {
	l, err := lab.New(lab.Config{MTU: 9000, FinishedChecksums: true})
	check(t, err)
	defer l.Close()
	var sketches []sketch
	for i := range 100 {
		sketches = append(sketches, sketch{v6: i%3 == 0, payload: []int{18, 400, 1472, 8952}[i%4], at: time.Duration(i*i) * 10 * time.Microsecond})
	}
	file, frames := draw(t, sketches...)
	for name, c := range map[string]struct {
		request plan.ReplayRequest
		pace    float64 // of the capture; 0 where another rate was asked for
	}{
		"own pace":    {plan.ReplayRequest{Loops: 3}, 1},
		"twice":       {plan.ReplayRequest{Loops: 2, Speed: 2_000_000}, 2},
		"exact rate":  {plan.ReplayRequest{Loops: 2, Rate: mustRate(t, "100M@l2")}, 0},
		"packet rate": {plan.ReplayRequest{Loops: 1, Rate: mustRate(t, "2kpps")}, 0},
		"max":         {plan.ReplayRequest{Loops: 4, Rate: mustRate(t, "max")}, 0},
	} {
		_, end := captureAll(t, l)
		c.request.File = file
		rep := replayFrom(t, l, c.request)
		arrived := end()
		want := int(c.request.Loops) * len(frames)
		if len(arrived) != want || rep.Sender.Packets != uint64(want) || rep.Replay.Frames != len(frames) {
			t.Errorf("%s: %d frames arrived, %+v sent, want %d", name, len(arrived), rep.Sender, want)
			continue
		}
		var payload uint64
		for i, f := range arrived {
			if !bytes.Equal(f.Data, frames[i%len(frames)]) {
				t.Errorf("%s: frame %d differs", name, i+1)
				break
			}
			payload += uint64(sketches[i%len(frames)].payload)
		}
		if rep.Sender.PayloadBytes != payload {
			t.Errorf("%s: %d bytes of payload, want %d", name, rep.Sender.PayloadBytes, payload)
		}
		// Debt after a stall of this machine is repaid at 1.25 times the pace.
		if c.pace > 0 {
			took, span := arrived[len(frames)-1].At, time.Duration(float64(sketches[99].at)/c.pace)
			if took < span*4/5-time.Millisecond {
				t.Errorf("%s: a round took %v of %v", name, took, span)
			}
		}
	}
}

// Everything rewritten at once, judged by tshark.
func TestARewrittenReplayHasRightChecksums(t *testing.T) {
	l, err := lab.New(lab.Config{FinishedChecksums: true})
	check(t, err)
	defer l.Close()
	file, _ := draw(t, sketch{payload: 100}, sketch{v6: true, payload: 101}, sketch{payload: 1472}, sketch{payload: 33})
	swaps := func(s string) []pcap.Swap {
		swaps, err := plan.ParseSwaps(s)
		check(t, err)
		return swaps
	}
	id := uint16(42)
	wire, end := captureAll(t, l)
	rep := replayFrom(t, l, plan.ReplayRequest{File: file, Loops: 1, Rewrite: pcap.Rewrite{
		DstMAC: l.B().MAC, SrcMAC: l.A().MAC, VLAN: &id,
		Src: swaps("10.77.0.1,fd77::1"), Dst: swaps("192.0.2.2=10.77.0.2,2001:db8::2=fd77::2"),
	}})
	if got := len(end()); got != 4 || rep.Sender.Packets != 4 || rep.Replay.Mended != 0 {
		t.Fatalf("%d frames arrived, %+v, %+v", got, rep.Sender, rep.Replay)
	}
	right := fmt.Sprintf("vlan.id == 42 && eth.dst == %v && eth.src == %v && udp.checksum.status == 1 && !_ws.malformed && "+
		"((ip.src == 10.77.0.1 && ip.dst == 10.77.0.2 && ip.checksum.status == 1) || (ipv6.src == fd77::1 && ipv6.dst == fd77::2))", l.B().MAC, l.A().MAC)
	if got := tshark(t, wire, right, "frame.number"); len(got) != 4 {
		t.Errorf("tshark finds frames %v right", got)
	}
}

// What the host's own stack sends is captured with unfinished checksums: they are
// mended, and the receiver takes the datagrams.
func TestACaptureWithUnfinishedChecksumsIsMended(t *testing.T) {
	l, err := lab.New(lab.Config{})
	check(t, err)
	defer l.Close()
	file := filepath.Join(t.TempDir(), "own.pcap")
	end := background(t, l.A(), "tcpdump", "-i", "eth0", "--immediate-mode", "-U", "-w", file, "udp port 5201")
	await(t, "tcpdump", func() bool { return exec.Command("test", "-s", file).Run() == nil })
	ears := listen(t, l, false, nil, "udp")
	speak(t, l, false, plan.SendRequest{Payload: 100, Path: "udp", Count: 50, Rate: mustRate(t, "1kpps")})
	ears.hear()
	end()
	ears = listen(t, l, false, nil, "udp")
	rep := replayFrom(t, l, plan.ReplayRequest{File: file, Loops: 1})
	if rep.Replay.Mended != rep.Replay.Frames || len(rep.Warnings) != 1 {
		t.Errorf("%d of %d frames were mended: %q", rep.Replay.Mended, rep.Replay.Frames, rep.Warnings)
	}
	for _, heard := range ears.hear() {
		if r := heard.Receiver; r.Unique != 50 || r.Lost != 0 {
			t.Errorf("received %+v, want 50 and nothing lost", r)
		}
	}
}

func TestWhatCannotBeReplayedWholeIsRefused(t *testing.T) {
	l, err := lab.New(lab.Config{FinishedChecksums: true})
	check(t, err)
	defer l.Close()
	jumbo, _ := draw(t, sketch{payload: 100}, sketch{payload: 8972})
	whole, frames := draw(t, sketch{payload: 100}, sketch{payload: 1000})
	cut := filepath.Join(t.TempDir(), "cut.pcap")
	out, err := exec.Command("editcap", "-F", "nsecpcap", "-s", "96", whole, cut).CombinedOutput()
	if err != nil {
		t.Fatalf("editcap: %v\n%s", err, out)
	}
	for file, want := range map[string]string{
		jumbo: "frame 2 has 9014 bytes and needs MTU 9000; eth0 has 1500",
		cut:   "frame 1 was cut to 96 of 142 bytes",
	} {
		err := l.A().Do(func() error {
			_, err := plan.ResolveReplay(plan.ReplayRequest{File: file, Iface: "eth0", Loops: 1})
			return err
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	wire, end := captureAll(t, l)
	rep := replayFrom(t, l, plan.ReplayRequest{File: cut, Loops: 1, Pad: true})
	var lengths []int
	for _, f := range end() {
		lengths = append(lengths, len(f.Data))
	}
	if want := []int{len(frames[0]), len(frames[1])}; !slices.Equal(lengths, want) || rep.Replay.Padded != 2 {
		t.Errorf("padded frames have %v bytes, want %v: %+v", lengths, want, rep.Replay)
	}
	if got := tshark(t, wire, "udp.checksum.status == 1 && ip.checksum.status == 1", "frame.number"); len(got) != 2 {
		t.Errorf("tshark finds frames %v right", got)
	}
}

// A link that goes down ends a replay that has no end of its own, with the account
// of what left.
func TestAReplaySurvivesItsInterface(t *testing.T) {
	l, err := lab.New(lab.Config{})
	check(t, err)
	defer l.Close()
	file, _ := draw(t, sketch{payload: 100})
	rep, err := whileFaulty(t, l.A(), func(h *lab.Host) error { return h.SetUp(h.Interface, false) }, func(ctx context.Context, o Observer) (rep *result.Report, err error) {
		err = l.A().Do(func() error {
			p, err := plan.ResolveReplay(plan.ReplayRequest{File: file, Iface: l.A().Interface, Rate: mustRate(t, "1kpps")})
			if err != nil {
				return err
			}
			p.Interval = 100 * time.Millisecond
			rep, err = Replay(ctx, p, "test", o)
			return err
		})
		return rep, err
	})
	if err == nil || rep == nil || rep.Sender.Packets == 0 || !strings.Contains(rep.Error, "down") {
		t.Errorf("%v, %+v", err, rep)
	}
}
