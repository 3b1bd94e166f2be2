package plan

import (
	"linerate/gen"
	"linerate/internal/host"
	"linerate/internal/result"
	"linerate/rx"
)

// Doctor tries every path, on the given interface or, if that is empty, on the
// first Ethernet one that is up, and asks the host what would hold a test back.
// It sends nothing and changes nothing.
func Doctor(iface string) ([]result.Finding, error) {
	link, err := trialLink(iface)
	if err != nil {
		return nil, err
	}
	var tx, rxs []host.PathState
	for i := range gen.Paths {
		p := &gen.Paths[i]
		err := p.Probe(&gen.Config{Interface: link.Name, IfIndex: link.Index})
		tx = append(tx, host.PathState{Name: p.Name, Err: err})
	}
	for i := range rx.Paths {
		p := &rx.Paths[i]
		err := p.Probe(&rx.Config{Interface: link.Name, IfIndex: link.Index})
		rxs = append(rxs, host.PathState{Name: p.Name, Err: err})
	}
	findings, err := host.Doctor(iface, tx, rxs)
	if err != nil {
		return nil, &HostError{err}
	}
	return findings, nil
}

// trialLink is the link to try the paths on: the one named, else one that carries
// Ethernet frames, else none.
func trialLink(iface string) (*host.Link, error) {
	if iface != "" {
		return linkNamed(iface)
	}
	links, err := ethernetLinks()
	if err != nil {
		return nil, &HostError{err}
	}
	if len(links) == 0 {
		return &host.Link{}, nil
	}
	return links[0], nil
}
