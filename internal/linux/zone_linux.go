package linux

import (
	"net"
	"strconv"
)

// ZoneIndex is the interface of an address's zone: its index or its name (RFC 4007).
func ZoneIndex(zone string) (int, error) {
	if index, err := strconv.Atoi(zone); err == nil {
		return index, nil
	}
	ifi, err := net.InterfaceByName(zone)
	if err != nil {
		return 0, err
	}
	return ifi.Index, nil
}
