package units

import (
	"fmt"
	"net/netip"
	"strings"
)

// ParsePrefixes parses a list of networks, as 10.0.0.0/8,fd00::/8; an address is a
// network of itself alone.
func ParsePrefixes(s string) ([]netip.Prefix, error) {
	var all []netip.Prefix
	for _, word := range strings.Split(s, ",") {
		p, err := netip.ParsePrefix(word)
		if err != nil {
			addr, errAddr := netip.ParseAddr(word)
			if errAddr != nil {
				return nil, fmt.Errorf("%q: want networks, as 10.0.0.0/8, or addresses", word)
			}
			p = netip.PrefixFrom(addr, addr.BitLen())
		}
		all = append(all, p.Masked())
	}
	return all, nil
}
