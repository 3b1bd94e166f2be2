package lab

import (
	"io"
	"net"
	"net/netip"

	"linerate/bpf"
)

// direct joins a and b.
func (l *Lab) direct(c Config) error {
	if err := l.hosts(endA("10.77.0.1/24", "fd77::1/64"), endB("10.77.0.2/24", "fd77::2/64")); err != nil {
		return err
	}
	if err := l.join(c, l.a, l.b, "eth0"); err != nil {
		return err
	}
	return l.finish(c)
}

// redirected puts a host between a and b that is no party to what it carries.
func (l *Lab) redirected(c Config) error {
	err := l.hosts(
		endA("10.77.0.1/24", "fd77::1/64"),
		endB("10.77.0.2/24", "fd77::2/64"),
		port{name: "ma", mac: mac(0xa)},
		port{name: "mb", mac: mac(0xb)},
	)
	if err != nil {
		return err
	}
	if err := l.joinMiddle(c); err != nil {
		return err
	}
	if err := l.impair("ma", "mb", c.Impair, c); err != nil {
		return err
	}
	if err := l.impair("mb", "ma", c.Reverse, c); err != nil {
		return err
	}
	return l.finish(c)
}

// routed puts a router between a and b.
func (l *Lab) routed(c Config) error {
	err := l.hosts(
		endA("10.77.1.1/24", "fd77:1::1/64", "10.77.1.254", "fd77:1::254"),
		endB("10.77.2.1/24", "fd77:2::1/64", "10.77.2.254", "fd77:2::254"),
		port{name: "ma", mac: mac(0xa), prefixes: prefixes("10.77.1.254/24", "fd77:1::254/64", "fe80::254/64")},
		port{name: "mb", mac: mac(0xb), prefixes: prefixes("10.77.2.254/24", "fd77:2::254/64", "fe80::254/64")},
	)
	if err != nil {
		return err
	}
	for _, name := range []string{"ipv4/ip_forward", "ipv6/conf/all/forwarding"} {
		if err := l.m.sysctl(name, "1"); err != nil {
			return err
		}
	}
	if err := l.joinMiddle(c); err != nil {
		return err
	}
	return l.finish(c)
}

// joinMiddle joins a and b to m, and lets m take the frames that XDP makes.
func (l *Lab) joinMiddle(c Config) error {
	for _, side := range []struct {
		end  *Host
		port string
	}{{l.a, "ma"}, {l.b, "mb"}} {
		if err := l.join(c, side.end, l.m, side.port); err != nil {
			return err
		}
		if err := l.m.SetFeatures(side.port, wire()); err != nil {
			return err
		}
		if err := l.attach(side.port, func(index int) (io.Closer, error) {
			return bpf.AttachPass(index)
		}); err != nil {
			return err
		}
	}
	return nil
}

// impair has m carry what arrives at one of its ports to the other.
func (l *Lab) impair(in, out string, rules *Impairment, c Config) error {
	if rules == nil {
		rules = &Impairment{}
	}
	outIndex, err := l.m.index(out)
	if err != nil {
		return err
	}
	detour := 0
	all := c.delaysAll()
	if rules.DelayEvery > 0 || all {
		if detour, err = l.detour(in+"-late", outIndex, c); err != nil {
			return err
		}
		if all {
			outIndex = detour
		}
	}
	return l.attach(in, func(index int) (io.Closer, error) {
		i, err := bpf.AttachImpairer(index, outIndex, detour, *rules)
		if err == nil {
			l.impairers = append(l.impairers, i)
		}
		return i, err
	})
}

// delaysAll is whether every frame is held.
func (c *Config) delaysAll() bool {
	picks := func(i *Impairment) bool { return i != nil && i.DelayEvery > 0 }
	return c.Delay > 0 && !picks(c.Impair) && !picks(c.Reverse)
}

func endA(prefix4, prefix6 string, gateways ...string) port {
	return port{
		name:     "eth0",
		mac:      mac(1),
		prefixes: prefixes(prefix4, prefix6, "fe80::1/64"),
		gateways: addrs(gateways),
	}
}

func endB(prefix4, prefix6 string, gateways ...string) port {
	return port{
		name:     "eth0",
		mac:      mac(2),
		prefixes: prefixes(prefix4, prefix6, "fe80::2/64"),
		gateways: addrs(gateways),
	}
}

// mac is a locally administered address.
func mac(last byte) net.HardwareAddr {
	return net.HardwareAddr{2, 0x77, 0, 0, 0, last}
}

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, s := range list {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

func addrs(list []string) []netip.Addr {
	out := make([]netip.Addr, len(list))
	for i, s := range list {
		out[i] = netip.MustParseAddr(s)
	}
	return out
}
