package rx

import (
	"net/netip"

	"linerate/internal/probe"
)

// A Filter says which datagrams count of those to where a path listens. The others
// it leaves alone: they are not foreign, either. Its zero value leaves out none.
type Filter struct {
	From     netip.Prefix // source addresses; invalid for any
	SrcPort  uint16       // the first of SrcPorts source ports in a row
	SrcPorts int          // 0 for any port
	VLAN     *uint16      // id of the outer 802.1Q tag, which raw paths alone see; nil for any and none
	DSCP     *uint8       // 0..63; nil for any
}

// mapped is From as a prefix of IPv6 addresses, in which those of IPv4 stand mapped.
func (f *Filter) mapped() netip.Prefix {
	if !f.From.IsValid() || f.From.Addr().Is6() {
		return f.From
	}
	const before = 96 // bits that are the same of all mapped ones
	return netip.PrefixFrom(netip.AddrFrom16(f.From.Addr().As16()), before+f.From.Bits())
}

// takes reports whether a datagram counts that came by a UDP socket, with the
// traffic class tos.
func (f *Filter) takes(from probe.Source, tos uint8) bool {
	return (!f.From.IsValid() || f.mapped().Contains(netip.AddrFrom16(from.Addr))) &&
		(f.SrcPorts == 0 || from.Port >= f.SrcPort && int(from.Port) < int(f.SrcPort)+f.SrcPorts) &&
		(f.DSCP == nil || tos>>ecnBits == *f.DSCP)
}

// ecnBits are those of a traffic class below the DSCP (RFC 3168).
const ecnBits = 2

// ports is how many ports a path listens on.
func (c *Config) ports() int { return max(c.Ports, 1) }

// at is the configuration with the i-th of its ports alone.
func (c *Config) at(i int) *Config {
	one := *c
	one.Local = netip.AddrPortFrom(c.Local.Addr(), c.Local.Port()+uint16(i))
	one.Ports = 1
	return &one
}
