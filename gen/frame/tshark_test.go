package frame_test

import (
	"bytes"
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

// Wireshark agrees with the lengths and checksums, and would have seen wrong ones.
func TestTshark(t *testing.T) {
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

	// One line of fields for each frame; a checksum's status is 1 when good, 0
	// when bad, 2 when unchecked.
	var want []string
	vlan := uint16(100)
	for _, ipv6 := range []bool{false, true} {
		for _, tag := range []*uint16{nil, &vlan} {
			for _, format := range formats {
				for _, sizes := range [][]int{{18, 548, 1472}, {19, 8971, 8972}} {
					template, err := frame.New(headers(ipv6, tag), probe.Stamper{Format: format, Run: 9}, sizes, 64, pattern(t, "random"))
					if err != nil {
						t.Fatal(err)
					}
					slot := make([]byte, template.MaxFrameLen())
					template.Fill(slot)
					for k := range 9 {
						n := template.Stamp(slot, uint16(k*13%64), uint64(k)<<33, sizes[k%len(sizes)], int64(k)*1e14)
						write(slot[:n])
						want = append(want, status(ipv6, "1"))
					}
					write(template.Datagram(5, probe.AppendEnd(nil, &probe.EndMarker{Run: 9})))
					want = append(want, status(ipv6, "1"))

					n := template.Stamp(slot, 0, 0, sizes[0], 0)
					slot[n-1] ^= 1
					write(slot[:n])
					want = append(want, status(ipv6, "0"))
				}
			}
		}
	}

	tshark := exec.Command("tshark", "-n", "-r", "-", "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE",
		"-T", "fields", "-e", "ip.checksum.status", "-e", "udp.checksum.status")
	var stderr bytes.Buffer
	tshark.Stdin, tshark.Stderr = &capture, &stderr
	out, err := tshark.Output()
	if err != nil {
		t.Fatalf("tshark: %v\n%s", err, &stderr)
	}
	if diff := cmp.Diff(want, strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")); diff != "" {
		t.Errorf("status of the IP checksum, of the UDP checksum (-want +got):\n%s", diff)
	}
}

// status is the line of a frame whose UDP checksum has the given status.
func status(ipv6 bool, udp string) string {
	if ipv6 {
		return "\t" + udp
	}
	return "1\t" + udp
}
