//go:build !linux

package host

import (
	"fmt"
	"net"
)

// LinkByName returns the link of that name. The error wraps ErrNoInterface if
// there is none.
func LinkByName(name string) (*Link, error) {
	ifi, err := net.InterfaceByName(name)
	if err != nil {
		return nil, noInterface(name)
	}
	return describe(ifi), nil
}

// LinkByIndex returns the link of that index. The error wraps ErrNoInterface
// if there is none.
func LinkByIndex(index int) (*Link, error) {
	ifi, err := net.InterfaceByIndex(index)
	if err != nil {
		return nil, noInterface(fmt.Sprintf("with index %d", index))
	}
	return describe(ifi), nil
}

func describe(ifi *net.Interface) *Link {
	return &Link{
		Index:    ifi.Index,
		Name:     ifi.Name,
		MTU:      ifi.MTU,
		MAC:      ifi.HardwareAddr,
		Ethernet: len(ifi.HardwareAddr) == 6,
		Loopback: ifi.Flags&net.FlagLoopback != 0,
		Up:       ifi.Flags&net.FlagUp != 0,
		Carrier:  ifi.Flags&net.FlagRunning != 0,
	}
}
