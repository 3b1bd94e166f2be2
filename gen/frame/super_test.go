package frame_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"

	"linerate/gen/frame"
	"linerate/internal/probe"
)

// TestStampSuper takes super-frames apart as the kernel does (__udp_gso_segment in
// net/ipv4/udp_offload.c), and wants of each datagram the frame that Stamp makes.
func TestStampSuper(t *testing.T) {
	vlan := uint16(100)
	for _, ipv6 := range []bool{false, true} {
		for _, tag := range []*uint16{nil, &vlan} {
			for _, format := range formats {
				for _, tt := range []struct{ size, n int }{{18, 2}, {18, 128}, {19, 7}, {1472, 44}, {8971, 7}, {32734, 2}} {
					const flow, first, mono = 5, 1 << 33, 1e15
					// A smaller payload makes frames of the template padded, where they are.
					sizes := []int{tt.size, format.Size()}
					template, err := frame.New(headers(ipv6, tag), probe.Stamper{Format: format, Run: 9}, sizes, 64, pattern(t, "random"))
					if err != nil {
						t.Fatal(err)
					}
					header := template.HeaderLen()
					super := make([]byte, header+tt.n*tt.size)
					template.Fill(super)
					for i := range tt.n {
						payload := super[header+i*tt.size:][:tt.size]
						template.FillPayload(payload)
						template.StampPayload(payload, flow, first+uint64(i), mono)
					}
					template.StampSuper(super, flow, tt.size, tt.n)

					want := make([]byte, template.MaxFrameLen())
					template.Fill(want)
					for i := range tt.n {
						length := template.Stamp(want, flow, first+uint64(i), tt.size, mono)
						got := segment(super, ipv6, header, i*tt.size, tt.size)
						if !bytes.Equal(want[:header+tt.size], got) {
							t.Fatalf("IPv6 %v, VLAN %v, %v, %d x %d bytes, datagram %d (-want +got):\n%s",
								ipv6, tag != nil, format, tt.n, tt.size, i, cmp.Diff(want[:header+tt.size], got))
						}
						if length != template.PacketLen(tt.size)+header-template.PacketLen(0) {
							t.Fatalf("a frame of %d bytes around a packet of %d", length, template.PacketLen(tt.size))
						}
					}
				}
			}
		}
	}
}

// segment is the frame of the datagram at an offset of a super-frame's payload.
func segment(super []byte, ipv6 bool, header, at, size int) []byte {
	f := append(bytes.Clone(super[:header]), super[header+at:][:size]...)
	udp := f[header-8:]
	before, length := binary.BigEndian.Uint16(udp[4:]), uint16(8+size)
	binary.BigEndian.PutUint16(udp[4:], length)
	if ipv6 {
		binary.BigEndian.PutUint16(f[header-48+4:], length)
	} else {
		ip := f[header-28 : header-8]
		binary.BigEndian.PutUint16(ip[2:], 20+length)
		ip[10], ip[11] = 0, 0
		binary.BigEndian.PutUint16(ip[10:], checksum(ip))
	}
	// The field holds the sum of the pseudo-header; only its length changes.
	pseudo := ^checksum(udp[6:8], []byte{byte(^before >> 8), byte(^before)}, udp[4:6])
	binary.BigEndian.PutUint16(udp[6:], pseudo)
	sum := checksum(udp)
	if sum == 0 {
		sum = 0xffff
	}
	binary.BigEndian.PutUint16(udp[6:], sum)
	return f
}
