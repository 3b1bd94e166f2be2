package plan

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"linerate/gen/frame"
	"linerate/internal/host"
	"linerate/internal/result"
)

// rangeMost is how many addresses a range may have: as many as there are flows.
const rangeMost = 65536

// Addrs are addresses of one family in a row, without zone; its zero value is none.
type Addrs struct {
	First netip.Addr
	N     int
}

// ParseAddrs parses ADDRESS, FIRST-LAST, or PREFIX/LENGTH, which is all addresses
// of the network.
func ParseAddrs(s string) (Addrs, error) {
	if strings.Contains(s, "/") {
		p, err := netip.ParsePrefix(s)
		if err != nil || p.Addr().BitLen()-p.Bits() > 16 {
			return Addrs{}, fmt.Errorf("want a network of at most %d addresses, as 10.0.0.0/24", rangeMost)
		}
		return Addrs{p.Masked().Addr(), 1 << (p.Addr().BitLen() - p.Bits())}, nil
	}
	from, to, several := strings.Cut(s, "-")
	if !several {
		to = from
	}
	first, err := netip.ParseAddr(from)
	last, errLast := netip.ParseAddr(to)
	if err != nil || errLast != nil || first.Zone() != "" || last.Zone() != "" {
		return Addrs{}, fmt.Errorf("want an address, FIRST-LAST or a network, as 10.0.0.1-10.0.0.9")
	}
	return addrsTo(first.Unmap(), last.Unmap())
}

func addrsTo(first, last netip.Addr) (Addrs, error) {
	a, b := first.As16(), last.As16()
	low := binary.BigEndian.Uint64(b[8:]) - binary.BigEndian.Uint64(a[8:])
	switch {
	case familyOf(first) != familyOf(last):
		return Addrs{}, fmt.Errorf("%v and %v are of different IP versions", first, last)
	case last.Less(first):
		return Addrs{}, fmt.Errorf("%v comes after %v: write the lower one first", first, last)
	case low >= rangeMost || first.Is6() && inRow(first, low) != last:
		return Addrs{}, fmt.Errorf("more than %d addresses", rangeMost)
	}
	return Addrs{first, int(low) + 1}, nil
}

// inRow is the address so many behind another of IPv6.
func inRow(first netip.Addr, n uint64) netip.Addr {
	addr, _ := (&frame.Headers{Src: first, Srcs: rangeMost}).Addrs(uint16(n))
	return addr
}

// At is the i-th of the addresses.
func (a Addrs) At(i int) netip.Addr {
	addr, _ := (&frame.Headers{Src: a.First, Srcs: a.N}).Addrs(uint16(i))
	return addr
}

// String is the range as ParseAddrs takes it; empty for none.
func (a Addrs) String() string {
	switch a.N {
	case 0:
		return ""
	case 1:
		return a.First.String()
	}
	return a.First.String() + "-" + a.At(a.N-1).String()
}

// Ports are UDP ports in a row; its zero value is none.
type Ports struct {
	First uint16
	N     int
}

// ParsePorts parses PORT or FIRST-LAST.
func ParsePorts(s string) (Ports, error) {
	from, to, several := strings.Cut(s, "-")
	if !several {
		to = from
	}
	first, err := strconv.ParseUint(from, 10, 16)
	last, errLast := strconv.ParseUint(to, 10, 16)
	switch {
	case err != nil || errLast != nil || first == 0 || last == 0:
		return Ports{}, fmt.Errorf("want a port from 1 to 65535, or FIRST-LAST, as 5000-5010")
	case last < first:
		return Ports{}, fmt.Errorf("%d comes after %d: write the lower one first", first, last)
	}
	return Ports{uint16(first), int(last-first) + 1}, nil
}

// String is the range as ParsePorts takes it; empty for none.
func (p Ports) String() string {
	switch p.N {
	case 0:
		return ""
	case 1:
		return strconv.Itoa(int(p.First))
	}
	return fmt.Sprintf("%d-%d", p.First, int(p.First)+p.N-1)
}

// ranges fits what the flows walk into the rest of the request.
func (r *SendRequest) ranges() error {
	if r.Srcs.N > 0 {
		switch {
		case r.Bind != "":
			return &UsageError{"src", "contradicts --bind: give one of them"}
		case r.Srcs.First.IsMulticast() || r.Srcs.First.IsUnspecified():
			return &UsageError{"src", fmt.Sprintf("%v is no source address", r.Srcs.First)}
		}
	}
	name, port, err := splitTarget(r.Host)
	if err != nil {
		return &UsageError{"", err.Error()}
	}
	if r.Dsts.N > 0 {
		first := r.Dsts.First.String()
		if r.Dsts.First.IsMulticast() && r.Dsts.N > 1 {
			return &UsageError{"dst", "a range of groups has no next hop: name one group"}
		}
		if addr, err := netip.ParseAddr(name); name != "" && (err != nil || addr.Unmap() != r.Dsts.First) {
			return &UsageError{"dst", fmt.Sprintf("begins with %s, but HOST is %s: leave HOST out", first, name)}
		}
		if r.Host = first; port != 0 {
			r.Host = netip.AddrPortFrom(r.Dsts.First, port).String()
		}
	}
	if r.DstPorts > 0 && port != 0 && int(port) != r.Port {
		return &UsageError{"dport", fmt.Sprintf("begins with %d, but HOST has port %d: leave that out", r.Port, port)}
	}
	if r.Flows == 0 {
		r.Flows = max(1, r.Srcs.N, r.Dsts.N, r.SrcPorts, r.DstPorts)
	}
	return nil
}

// sharesLink refuses destinations that the kernel would not reach by the interface of
// the first, to whose next hop all raw frames go.
func (r *SendRequest) sharesLink(from source, to *destination) error {
	asked := 0
	if from.link != nil {
		asked = from.link.Index
	}
	for i := 1; i < r.Dsts.N; i++ {
		addr := r.Dsts.At(i)
		index, err := host.LinkTo(addr, from.addr, asked)
		if errors.Is(err, host.ErrNoRoute) {
			return &PeerError{err}
		}
		if err == nil && index == to.route.Link.Index {
			continue
		}
		var other *host.Link
		if err == nil {
			other, err = host.LinkByIndex(index)
		}
		if err != nil {
			return &HostError{err}
		}
		return &UsageError{"dst", fmt.Sprintf("%v is reached by %s, %v by %s: a range is for one interface",
			to.addr, to.route.Link.Name, addr, other.Name)}
	}
	return nil
}

// ownSources refuses source addresses that the kernel would not send from.
func (r *SendRequest) ownSources() error {
	for i := range r.Srcs.N {
		if _, err := host.LinkByAddr(r.Srcs.At(i)); err != nil {
			return &HostError{fmt.Errorf("--src: %w: others' addresses need a raw path, as --path packet", err)}
		}
	}
	return nil
}

// from is the first source address that was asked for; the route's if none was.
func (r *SendRequest) from(route netip.Addr) netip.Addr {
	if r.Srcs.N > 0 {
		return r.Srcs.First
	}
	return route
}

// reportRanges is what the report says of them.
func (r *SendRequest) reportRanges(c *result.Config) {
	c.Sources, c.Destinations = r.Srcs.String(), r.Dsts.String()
	c.SourcePorts, c.DestinationPorts = Ports{r.SrcPort, r.SrcPorts}.String(), Ports{uint16(r.Port), r.DstPorts}.String()
}
