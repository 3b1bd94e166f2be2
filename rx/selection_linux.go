package rx

import "linerate/bpf"

// selection is what an eBPF program has to know of the ports and the filter.
func (c *Config) selection() bpf.Selection {
	first := c.Local.Port()
	s := bpf.Selection{
		From:     c.Filter.mapped(),
		SrcPorts: [2]uint16{0, 65535},
		DstPorts: [2]uint16{first, first + uint16(c.ports()-1)},
		VLAN:     c.Filter.VLAN,
		DSCP:     c.Filter.DSCP,
	}
	if n := c.Filter.SrcPorts; n > 0 {
		s.SrcPorts = [2]uint16{c.Filter.SrcPort, c.Filter.SrcPort + uint16(n-1)}
	}
	return s
}
