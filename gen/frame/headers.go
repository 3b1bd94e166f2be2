// Package frame builds the frames of a test once, with gopacket, and then stamps
// sequence, time, flow and checksums into them in place.
package frame

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"linerate/internal/probe"
)

// Headers says what stands before the payload of every frame of a test. The flows
// take the addresses and the ports of a range in turn.
type Headers struct {
	SrcMAC, DstMAC net.HardwareAddr // nil on kernel paths
	VLAN           *uint16          // 802.1Q id 0..4095; nil for an untagged frame
	Src, Dst       netip.Addr       // of one family; a zone is for the kernel path
	Srcs, Dsts     int              // addresses in a row from Src and Dst on; 0 for these alone
	SrcPort        uint16           // UDP source port of flow 0; 0 lets the kernel choose (kernel paths only)
	DstPort        uint16           // of flow 0
	SrcPorts       int              // ports in a row from SrcPort on; 0 for one a flow
	DstPorts       int              // ports in a row from DstPort on; 0 for this one alone
	TOS            uint8            // IPv4 TOS or IPv6 traffic class: DSCP << 2
	TTL            uint8            // TTL or hop limit
}

// Sizes of headers and frames in bytes.
const (
	ethernetLen = 14
	vlanLen     = 4
	ipv4Len     = 20
	ipv6Len     = 40
	udpLen      = 8
	fcsLen      = 4
	minFrame    = 60 // without FCS; shorter frames are padded
)

// MaxPayload is the most bytes that a UDP datagram over IPv4 carries: 65535 less the
// headers. IPv6 would carry 20 more; one limit is kept for both.
const MaxPayload = 65507

// Offsets into the IP and UDP headers (RFC 791, RFC 8200, RFC 768).
const (
	ipv4TotalLength   = 2
	ipv4Checksum      = 10
	ipv4Addresses     = 12
	ipv6PayloadLength = 4
	ipv6Addresses     = 8
	udpSrcPort        = 0
	udpDstPort        = 2
	udpLength         = 4
	udpChecksumField  = 6
)

// ipOffset is where the IP header starts.
func (h *Headers) ipOffset() int {
	if h.VLAN != nil {
		return ethernetLen + vlanLen
	}
	return ethernetLen
}

// udpOffset is where the UDP header starts.
func (h *Headers) udpOffset() int {
	if h.isIPv4() {
		return h.ipOffset() + ipv4Len
	}
	return h.ipOffset() + ipv6Len
}

// Ports are the UDP ports of a flow.
func (h *Headers) Ports(flow uint16) (src, dst uint16) {
	src, dst = h.SrcPort+flow, h.DstPort
	if h.SrcPorts > 0 {
		src = h.SrcPort + uint16(int(flow)%h.SrcPorts)
	}
	if h.DstPorts > 0 {
		dst += uint16(int(flow) % h.DstPorts)
	}
	return src, dst
}

func (h *Headers) isIPv4() bool { return h.Dst.Unmap().Is4() }

// kernel says whether the kernel makes the headers.
func (h *Headers) kernel() bool { return h.SrcMAC == nil && h.DstMAC == nil }

// check refuses what can't be sent on so many flows.
func (h *Headers) check(flows int) error {
	switch {
	case !h.Dst.IsValid():
		return errors.New("no destination address")
	case h.Src.IsValid() && h.Src.Unmap().Is4() != h.isIPv4():
		return fmt.Errorf("source %v and destination %v are of different IP versions: name a --bind address of the destination's", h.Src, h.Dst)
	case h.DstPort == 0:
		return errors.New("destination port 0: name a port from 1 to 65535 (--port)")
	case h.VLAN != nil && *h.VLAN > 4095:
		return fmt.Errorf("VLAN id %d: the highest is 4095 (--vlan)", *h.VLAN)
	case flows < 1 || flows > 65536:
		return fmt.Errorf("%d flows: want 1 to 65536 (--flows)", flows)
	case h.SrcPorts == 0 && int(h.SrcPort)+flows-1 > 65535:
		return fmt.Errorf("%d flows from source port %d need ports up to %d, the highest is 65535: start at %d or lower",
			flows, h.SrcPort, int(h.SrcPort)+flows-1, 65536-flows)
	case int(h.SrcPort)+h.SrcPorts-1 > 65535:
		return fmt.Errorf("%d source ports from %d on: the highest is 65535", h.SrcPorts, h.SrcPort)
	case int(h.DstPort)+h.DstPorts-1 > 65535:
		return fmt.Errorf("%d destination ports from %d on: the highest is 65535", h.DstPorts, h.DstPort)
	}
	if h.kernel() {
		return nil
	}
	switch {
	case len(h.SrcMAC) != 6:
		return fmt.Errorf("source MAC address %q is not 6 bytes long (--src-mac)", h.SrcMAC)
	case len(h.DstMAC) != 6:
		return fmt.Errorf("destination MAC address %q is not 6 bytes long (--dst-mac)", h.DstMAC)
	case !h.Src.IsValid():
		return errors.New("no source address: a raw path needs one (--bind)")
	case h.SrcPort == 0:
		return errors.New("source port 0: a raw path needs a port from 1 to 65535")
	}
	return nil
}

// checkSizes refuses payloads that can't carry the header, or that UDP can't.
func (h *Headers) checkSizes(f probe.Format, sizes []int) error {
	if len(sizes) == 0 {
		return errors.New("no payload size (--payload or --frame)")
	}
	if least, size := f.Size(), slices.Min(sizes); size < least {
		frame := max(h.udpOffset()+udpLen+least, minFrame) + fcsLen
		return fmt.Errorf("a payload of %d bytes has no room for the %s header of %d: the smallest frame is %d bytes here (--frame %d or --payload %d)",
			size, f, least, frame, frame, least)
	}
	if size := slices.Max(sizes); size > MaxPayload {
		return fmt.Errorf("a payload of %d bytes: the largest that a datagram carries is %d (--payload)", size, MaxPayload)
	}
	return nil
}

// serialize lays a whole frame of a flow around a payload: without FCS, padded
// with zeros to the smallest that Ethernet takes.
func (h *Headers) serialize(flow uint16, payload []byte) ([]byte, error) {
	ethernet := &layers.Ethernet{SrcMAC: h.SrcMAC, DstMAC: h.DstMAC}
	src, dst := h.Addrs(flow)
	srcPort, dstPort := h.Ports(flow)
	udp := &layers.UDP{SrcPort: layers.UDPPort(srcPort), DstPort: layers.UDPPort(dstPort)}
	var ip gopacket.SerializableLayer
	var ethertype layers.EthernetType
	if h.isIPv4() {
		v4 := &layers.IPv4{
			Version: 4, TOS: h.TOS, TTL: h.TTL, Flags: layers.IPv4DontFragment, Protocol: layers.IPProtocolUDP,
			SrcIP: src.Unmap().AsSlice(), DstIP: dst.Unmap().AsSlice(),
		}
		udp.SetNetworkLayerForChecksum(v4)
		ip, ethertype = v4, layers.EthernetTypeIPv4
	} else {
		v6 := &layers.IPv6{
			Version: 6, TrafficClass: h.TOS, HopLimit: h.TTL, NextHeader: layers.IPProtocolUDP,
			SrcIP: src.AsSlice(), DstIP: dst.AsSlice(),
		}
		udp.SetNetworkLayerForChecksum(v6)
		ip, ethertype = v6, layers.EthernetTypeIPv6
	}
	ethernet.EthernetType = ethertype
	stack := []gopacket.SerializableLayer{ethernet, ip, udp, gopacket.Payload(payload)}
	if h.VLAN != nil {
		ethernet.EthernetType = layers.EthernetTypeDot1Q
		tag := &layers.Dot1Q{VLANIdentifier: *h.VLAN, Type: ethertype}
		stack = []gopacket.SerializableLayer{ethernet, tag, ip, udp, gopacket.Payload(payload)}
	}
	b := gopacket.NewSerializeBuffer()
	options := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	if err := gopacket.SerializeLayers(b, options, stack...); err != nil {
		return nil, err
	}
	frame := b.Bytes()
	// gopacket leaves a computed 0 as it is, which would mean no checksum.
	if checksum := frame[h.udpOffset()+udpChecksumField:]; checksum[0]|checksum[1] == 0 {
		binary.BigEndian.PutUint16(checksum, 0xffff)
	}
	return frame, nil
}
