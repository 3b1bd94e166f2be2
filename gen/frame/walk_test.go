package frame_test

import (
	"bytes"
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

	"linerate/gen/frame"
	"linerate/internal/probe"
)

// TestWalk holds that flow i has the (i mod n)-th address and port of each range,
// with checksums that Wireshark finds right.
func TestWalk(t *testing.T) {
	var capture bytes.Buffer
	w := pcapgo.NewWriterNanos(&capture)
	if err := w.WriteFileHeader(65536, layers.LinkTypeEthernet); err != nil {
		t.Fatal(err)
	}
	write := func(b []byte) {
		info := gopacket.CaptureInfo{Timestamp: time.Unix(0, 0), CaptureLength: len(b), Length: len(b)}
		if err := w.WritePacket(info, b); err != nil {
			t.Fatal(err)
		}
	}
	var want []string
	for _, ipv6 := range []bool{false, true} {
		h := headers(ipv6, nil)
		h.Srcs, h.Dsts, h.SrcPorts, h.DstPorts = 3, 2, 5, 4
		srcs, dsts, version := []string{"10.0.0.255", "10.0.1.0", "10.0.1.1"}, []string{"10.9.255.255", "10.10.0.0"}, "1"
		if ipv6 { // across the middle of an address
			srcs = []string{"2001:db8::ffff:ffff:ffff:ffff", "2001:db8:0:1::", "2001:db8:0:1::1"}
			dsts, version = []string{"2001:db8::ffff", "2001:db8::1:0"}, ""
		}
		h.Src, h.Dst = netip.MustParseAddr(srcs[0]), netip.MustParseAddr(dsts[0])
		template, err := frame.New(h, probe.Stamper{Run: 9}, []int{18, 100}, 60, pattern(t, "random"))
		if err != nil {
			t.Fatal(err)
		}
		slot := make([]byte, template.MaxFrameLen())
		template.Fill(slot)
		for i := range 60 {
			flow := uint16(i * 7 % 60)
			write(slot[:template.Stamp(slot, flow, uint64(i), []int{18, 100}[i%2], 1)])
			write(template.Datagram(flow, probe.AppendEnd(nil, &probe.EndMarker{Run: 9})))
			line := fmt.Sprint(srcs[flow%3], " ", dsts[flow%2], " ", h.SrcPort+flow%5, " ", h.DstPort+flow%4, " ", version, " 1")
			want = append(want, line, line)
		}
	}
	tshark := exec.Command("tshark", "-n", "-r", "-", "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE",
		"-T", "fields", "-E", "separator=/s", "-e", "ip.src", "-e", "ipv6.src", "-e", "ip.dst", "-e", "ipv6.dst",
		"-e", "udp.srcport", "-e", "udp.dstport", "-e", "ip.checksum.status", "-e", "udp.checksum.status")
	var stderr bytes.Buffer
	tshark.Stdin, tshark.Stderr = &capture, &stderr
	out, err := tshark.Output()
	if err != nil {
		t.Fatalf("tshark: %v\n%s", err, &stderr)
	}
	// A frame has the fields of one IP version; the other's are empty.
	for i, line := range want {
		want[i] = strings.Join(strings.Fields(line), " ")
	}
	got := strings.Split(strings.TrimSpace(string(out)), "\n")
	for i, line := range got {
		got[i] = strings.Join(strings.Fields(line), " ")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestWalkSuper holds that a super-frame has its flow's addresses, and the sum of
// their pseudo-header.
func TestWalkSuper(t *testing.T) {
	h := headers(false, nil)
	h.Srcs = 4
	walking, err := frame.New(h, probe.Stamper{Run: 9}, []int{100}, 4, pattern(t, "zero"))
	if err != nil {
		t.Fatal(err)
	}
	for flow := range uint16(4) {
		alone := h
		alone.Srcs, alone.SrcPorts = 0, 1
		alone.Src, _ = h.Addrs(flow)
		alone.SrcPort += flow
		still, err := frame.New(alone, probe.Stamper{Run: 9}, []int{100}, 1, pattern(t, "zero"))
		if err != nil {
			t.Fatal(err)
		}
		got, want := make([]byte, 300), make([]byte, 300)
		walking.Fill(got)
		still.Fill(want)
		walking.StampSuper(got, flow, 100, 2)
		still.StampSuper(want, 0, 100, 2)
		if !bytes.Equal(got[:walking.HeaderLen()], want[:still.HeaderLen()]) {
			t.Errorf("flow %d\ngot  %x\nwant %x", flow, got[:42], want[:42])
		}
	}
}
