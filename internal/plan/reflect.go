package plan

import (
	"fmt"

	"linerate/internal/probe"
)

// reflecting refuses to send probes back where that can't be done, or would make
// this host answer what was sent to many.
func (p *Receive) reflecting(l *listener) error {
	switch addr := l.local.Addr(); {
	case p.Config.Reflect == 0:
		return nil
	case !p.Path.Reflects:
		return &UsageError{"reflect", fmt.Sprintf("rx %s sends nothing back: use --rx udp", p.Path.Name)}
	case p.Track.Format != probe.Native:
		return &UsageError{"reflect", fmt.Sprintf("goes with the format %v alone", probe.Native)}
	case addr.IsUnspecified() || addr.IsMulticast():
		return &UsageError{"reflect", "needs the one address of this host that answers: linerate recv ADDR:PORT --reflect"}
	}
	return nil
}
