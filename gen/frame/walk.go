package frame

import (
	"encoding/binary"
	"net/netip"

	"linerate/internal/checksum"
)

// Addrs are the addresses of a flow.
func (h *Headers) Addrs(flow uint16) (src, dst netip.Addr) {
	return inTurn(h.Src, h.Srcs, flow), inTurn(h.Dst, h.Dsts, flow)
}

// inTurn is the address that a flow takes of n in a row from first on.
func inTurn(first netip.Addr, n int, flow uint16) netip.Addr {
	if n <= 1 {
		return first
	}
	b := first.As16()
	low := binary.BigEndian.Uint64(b[8:])
	sum := low + uint64(int(flow)%n)
	binary.BigEndian.PutUint64(b[8:], sum)
	if sum < low {
		binary.BigEndian.PutUint64(b[:], binary.BigEndian.Uint64(b[:])+1)
	}
	addr := netip.AddrFrom16(b)
	if first.Is4() {
		return addr.Unmap()
	}
	return addr.WithZone(first.Zone())
}

// A walk has the addresses of each flow where they differ.
type walk struct {
	at    int      // where they stand in the IP header
	size  int      // bytes of both of a flow
	addrs []byte   // of the flows in turn, source before destination
	sums  []uint64 // of their 16-bit words, by flow; nil where all flows have the same
}

func newWalk(h *Headers, flows int) walk {
	if h.Srcs <= 1 && h.Dsts <= 1 {
		return walk{}
	}
	w := walk{at: ipv6Addresses, size: 2 * 16, sums: make([]uint64, flows)}
	if h.isIPv4() {
		w.at, w.size = ipv4Addresses, 2*4
	}
	for flow := range flows {
		src, dst := h.Addrs(uint16(flow))
		w.addrs = append(w.addrs, src.Unmap().AsSlice()...)
		w.addrs = append(w.addrs, dst.Unmap().AsSlice()...)
		w.sums[flow] = checksum.Add(0, w.addrs[flow*w.size:])
	}
	return w
}

// stamp writes a flow's addresses into its IP header and returns their sum, 0
// where they stand there already and in the template's sums.
func (w *walk) stamp(ip []byte, flow uint16) uint64 {
	if w.sums == nil {
		return 0
	}
	copy(ip[w.at:], w.addrs[int(flow)*w.size:][:w.size])
	return w.sums[flow]
}
