package bpf

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cilium/ebpf/link"
)

// A Filter says which datagrams a Counter counts, and as what.
type Filter struct {
	Port      uint16 // UDP destination port
	DataMagic uint16 // first 16 bits of a probe
	EndMagic  uint16 // first 16 bits of an end marker
	Drop      bool   // takes the datagrams to Port off the wire once counted

	// Stamps is how many arrivals are kept, 8 bytes each: of the first datagram to
	// Port and each Every-th after it, end markers left aside. 0 for none.
	Stamps, Every int
}

// Counts is what arrived so far. Fragments, and UDP behind IPv6 extension
// headers, are not counted.
type Counts struct {
	Data      uint64 // probes
	End       uint64 // end markers
	Other     uint64 // other datagrams to the port
	DataBytes uint64 // Ethernet bytes of the probes, without FCS
	FirstNs   uint64 // CLOCK_MONOTONIC of the first probe; 0 before it
	LastNs    uint64 // CLOCK_MONOTONIC of the last probe; 0 before the first
}

// A Counter counts UDP datagrams as they enter a host by one interface, before
// anything else of that host sees them: the tests' independent witness.
type Counter struct {
	objects countObjects
	link    link.Link
}

// AttachCounter starts to count at an interface, as an XDP program in driver
// mode. It fails where the interface has an XDP program already. The interface's
// receive queues must not be more than one for FirstNs and LastNs to hold.
func AttachCounter(ifindex int, filter Filter) (*Counter, error) {
	spec, err := loadCount()
	if err != nil {
		return nil, fmt.Errorf("bpf: read counter: %w", err)
	}
	f := countFilter{Port: filter.Port, DataMagic: filter.DataMagic, EndMagic: filter.EndMagic}
	if filter.Drop {
		f.Drop = 1
	}
	if filter.Stamps > 0 {
		f.Every = uint64(filter.Every)
		spec.Maps[countMapStamps].MaxEntries = uint32(filter.Stamps)
	}
	if err := spec.Variables[countVarFilter].Set(f); err != nil {
		return nil, fmt.Errorf("bpf: configure counter: %w", err)
	}
	c := &Counter{}
	if err := spec.LoadAndAssign(&c.objects, nil); err != nil {
		return nil, explain("load counter", err)
	}
	c.link, err = link.AttachXDP(link.XDPOptions{
		Program:   c.objects.Count,
		Interface: ifindex,
		Flags:     link.XDPDriverMode,
	})
	if err != nil {
		c.objects.Close()
		return nil, explain("attach counter by driver-mode XDP (Linux 5.18 or later)", err)
	}
	return c, nil
}

// Load returns what arrived so far.
func (c *Counter) Load() (Counts, error) {
	var t countTotals
	if err := c.objects.Totals.Get(&t); err != nil {
		return Counts{}, fmt.Errorf("bpf: read counter: %w", err)
	}
	return Counts{
		Data:      t.Data,
		End:       t.End,
		Other:     t.Other,
		DataBytes: t.DataBytes,
		FirstNs:   t.FirstNs,
		LastNs:    t.LastNs,
	}, nil
}

// Stamps are the arrivals that were kept, in ns of CLOCK_MONOTONIC.
func (c *Counter) Stamps() ([]int64, error) {
	memory, err := c.objects.Stamps.Memory()
	if err != nil {
		return nil, fmt.Errorf("bpf: map the counter's stamps: %w", err)
	}
	b := make([]byte, memory.Size())
	if _, err := memory.ReadAt(b, 0); err != nil {
		return nil, fmt.Errorf("bpf: read the counter's stamps: %w", err)
	}
	stamps := make([]int64, 0, len(b)/8)
	for ; len(b) >= 8; b = b[8:] {
		at := binary.NativeEndian.Uint64(b)
		if at == 0 {
			break
		}
		stamps = append(stamps, int64(at))
	}
	return stamps, nil
}

// Close detaches the counter.
func (c *Counter) Close() error {
	return errors.Join(c.link.Close(), c.objects.Close())
}
