package plan

import (
	"fmt"
	"net/netip"
	"strings"

	"linerate/internal/pcap"
)

// ParseSwaps parses what replay puts in the place of addresses: ADDRESS for every
// packet of its IP version, or OLD=NEW, several separated by commas.
func ParseSwaps(s string) ([]pcap.Swap, error) {
	var swaps []pcap.Swap
	for _, word := range strings.Split(s, ",") {
		var swap pcap.Swap
		old, text, pair := strings.Cut(word, "=")
		if !pair {
			text = old
		}
		var err error
		if pair {
			swap.Old, err = netip.ParseAddr(old)
		}
		if err == nil {
			swap.New, err = netip.ParseAddr(text)
		}
		swap.Old, swap.New = swap.Old.Unmap(), swap.New.Unmap()
		switch {
		case err != nil || swap.New.Zone() != "" || swap.Old.Zone() != "":
			return nil, fmt.Errorf("%q: want ADDRESS or OLD=NEW, as 10.0.0.9 or 192.0.2.1=10.0.0.9, several with commas", word)
		case pair && swap.Old.Is4() != swap.New.Is4():
			return nil, fmt.Errorf("%q: both must be IPv4 or both IPv6", word)
		}
		swaps = append(swaps, swap)
	}
	return swaps, nil
}
