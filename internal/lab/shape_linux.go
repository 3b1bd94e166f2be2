package lab

import (
	"fmt"
	"math"

	"github.com/vishvananda/netlink"
)

const etherHeader = 14

// queue gives an interface a queue of its TxQLen frames. With one, a veth whose
// other end falls behind makes the sender wait, as a NIC does (Linux 6.16); a veth
// without one drops.
func (h *Host) queue(name string) error {
	return h.change(name, "add a queue to", func(link netlink.Link) error {
		return h.nl.QdiscReplace(&netlink.GenericQdisc{
			QdiscAttrs: root(link),
			QdiscType:  "pfifo",
		})
	})
}

// shape puts a token bucket filter on an interface.
func (h *Host) shape(name string, s Shape, mtu int) error {
	frame := uint32(mtu + etherHeader)
	rate := s.Rate / 8 // bytes/s
	if rate == 0 {
		return fmt.Errorf("lab: a shape of %d bit/s is too narrow; use 8 or more", s.Rate)
	}
	if s.Burst == 0 {
		s.Burst = uint32(max(rate/1000, 2*uint64(frame)))
	}
	if s.Limit == 0 {
		s.Limit = 100 * frame
	}
	return h.change(name, "shape", func(link netlink.Link) error {
		return h.nl.QdiscReplace(&netlink.Tbf{
			QdiscAttrs: root(link),
			Rate:       rate,
			Limit:      s.Limit,
			// What the burst takes at the rate, in the scheduler's ticks.
			Buffer: uint32(math.Ceil(1e6 * float64(s.Burst) / float64(rate) * netlink.TickInUsec())),
		})
	})
}

// root is the place of an interface's one qdisc.
func root(link netlink.Link) netlink.QdiscAttrs {
	return netlink.QdiscAttrs{
		LinkIndex: link.Attrs().Index,
		Handle:    netlink.MakeHandle(1, 0),
		Parent:    netlink.HANDLE_ROOT,
	}
}

// ShapeDrops is how many frames of any kind the shape dropped so far, from a to b
// and from b to a.
func (l *Lab) ShapeDrops() (forward, reverse uint64, err error) {
	if l.m == nil {
		return 0, 0, errNoMiddle
	}
	if forward, err = l.m.qdiscDrops("mb"); err != nil {
		return 0, 0, err
	}
	reverse, err = l.m.qdiscDrops("ma")
	return forward, reverse, err
}

func (h *Host) qdiscDrops(name string) (drops uint64, err error) {
	err = h.change(name, "read qdisc of", func(link netlink.Link) error {
		list, err := h.nl.QdiscList(link)
		if err != nil {
			return err
		}
		for _, q := range list {
			if q.Type() == "tbf" {
				drops += uint64(q.Attrs().Statistics.Queue.Drops)
			}
		}
		return nil
	})
	return drops, err
}
