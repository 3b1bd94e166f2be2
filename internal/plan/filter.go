package plan

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"linerate/internal/result"
	"linerate/rx"
)

// portsMost is how many ports a receiver listens on at most: each has a socket.
const portsMost = 1024

// A Filter says what counts of what comes; its zero value takes all.
type Filter struct {
	SrcPorts Ports
	DstPorts Ports   // on which to listen
	VLAN     *uint16 // id
	DSCP     *uint8  // 0..63
}

// ParseFilter parses terms joined by commas, all of which are to hold: sport=PORTS,
// dport=PORTS, vlan=ID, dscp=DSCP.
func ParseFilter(s string) (Filter, error) {
	var f Filter
	seen := map[string]bool{}
	for term := range strings.SplitSeq(s, ",") {
		key, value, _ := strings.Cut(term, "=")
		if seen[key] {
			return f, fmt.Errorf("%s stands there twice", key)
		}
		seen[key] = true
		var err error
		switch key {
		case "sport":
			f.SrcPorts, err = ParsePorts(value)
		case "dport":
			if f.DstPorts, err = ParsePorts(value); err == nil && f.DstPorts.N > portsMost {
				err = fmt.Errorf("%d ports: a receiver listens on at most %d", f.DstPorts.N, portsMost)
			}
		case "vlan":
			f.VLAN, err = ParseVLAN(value)
		case "dscp":
			var tos uint8
			tos, err = ParseDSCP(value)
			dscp := tos >> 2
			f.DSCP = &dscp
		default:
			err = fmt.Errorf("want sport=, dport=, vlan= or dscp=, joined by commas, as sport=5000-5010,dscp=EF")
		}
		if err != nil {
			return f, fmt.Errorf("%q: %w", term, err)
		}
	}
	return f, nil
}

// ParseVLAN parses the id of an 802.1Q tag.
func ParseVLAN(s string) (*uint16, error) {
	const most = 4094
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n > most {
		return nil, fmt.Errorf("want a VLAN id from 0 to %d", most)
	}
	id := uint16(n)
	return &id, nil
}

// String is the filter as ParseFilter takes it; empty for one that takes all.
func (f Filter) String() string {
	var terms []string
	add := func(key, value string) { terms = append(terms, key+"="+value) }
	if f.SrcPorts.N > 0 {
		add("sport", f.SrcPorts.String())
	}
	if f.DstPorts.N > 0 {
		add("dport", f.DstPorts.String())
	}
	if f.VLAN != nil {
		add("vlan", strconv.Itoa(int(*f.VLAN)))
	}
	if f.DSCP != nil {
		add("dscp", strconv.Itoa(int(*f.DSCP)))
	}
	return strings.Join(terms, ",")
}

// ParsePrefix parses ADDRESS/BITS, or one address.
func ParsePrefix(s string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(s); err == nil && a.Zone() == "" {
		a = a.Unmap()
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(s)
	if err != nil || p.Addr().Is4In6() {
		return p, fmt.Errorf("want a network, as 10.0.0.0/8 or fd00::/8, or an address")
	}
	return p.Masked(), nil
}

// filter is what a receive path has to know of them.
func (r *RecvRequest) filter() rx.Filter {
	f := &r.Filter
	return rx.Filter{From: r.From, SrcPort: f.SrcPorts.First, SrcPorts: f.SrcPorts.N, VLAN: f.VLAN, DSCP: f.DSCP}
}

// selects reports whether some flows of a test may not be counted.
func (r *RecvRequest) selects() bool { return r.From.IsValid() || r.Filter != Filter{} }

// checkFilter refuses what contradicts where to listen.
func (r *RecvRequest) checkFilter(local netip.AddrPort) error {
	if p := r.Filter.DstPorts; p.N > 0 && local.Port() != p.First {
		return &UsageError{"filter", fmt.Sprintf("dport begins with %d, but the port to listen on is %d: leave that out", p.First, local.Port())}
	}
	if addr := local.Addr().Unmap(); r.From.IsValid() && !addr.IsUnspecified() && addr.Is4() != r.From.Addr().Is4() {
		return &UsageError{"from", fmt.Sprintf("%v and %v are of different IP versions: nothing would count", r.From, addr)}
	}
	return nil
}

// reportFilter is what the report says of it.
func (r *RecvRequest) reportFilter(c *result.Config) {
	c.Filter = r.Filter.String()
	if r.From.IsValid() {
		c.From = r.From.String()
	}
}
