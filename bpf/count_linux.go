package bpf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/cilium/ebpf"
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

	// Trials is how many trials of the core are kept, 16 bytes each: after the first of
	// the arrivals that are kept and after each TrialEvery-th of them. 0 for none.
	Trials, TrialEvery int
}

// A Trial is how long a fixed piece of work took on the core that an arrival was worked
// on, some 0.3 µs: longer while another hardware thread shares that core.
type Trial struct {
	At   int64 // CLOCK_MONOTONIC ns
	Took time.Duration
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
	if filter.Trials > 0 {
		f.TrialEvery = uint64(filter.TrialEvery)
		spec.Maps[countMapTrials].MaxEntries = uint32(filter.Trials)
	}
	if err := spec.Variables[countVarFilter].Set(f); err != nil {
		return nil, fmt.Errorf("bpf: configure counter: %w", err)
	}
	c := &Counter{}
	if err := spec.LoadAndAssign(&c.objects, nil); err != nil {
		return nil, explain("load counter", err)
	}
	c.link, err = attachXDP(ifindex, c.objects.Count, link.XDPDriverMode)
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
func (c *Counter) Stamps() (stamps []int64, err error) {
	b, err := kept(c.objects.Stamps)
	for ; len(b) >= 8; b = b[8:] {
		at := binary.NativeEndian.Uint64(b)
		if at == 0 {
			break
		}
		stamps = append(stamps, int64(at))
	}
	return stamps, err
}

// Trials are those of the core so far.
func (c *Counter) Trials() (trials []Trial, err error) {
	b, err := kept(c.objects.Trials)
	for ; len(b) >= 16; b = b[16:] {
		at := binary.NativeEndian.Uint64(b)
		if at == 0 {
			break
		}
		trials = append(trials, Trial{At: int64(at), Took: time.Duration(binary.NativeEndian.Uint64(b[8:]))})
	}
	return trials, err
}

// kept is the content of a map that can be mapped.
func kept(m *ebpf.Map) ([]byte, error) {
	memory, err := m.Memory()
	if err != nil {
		return nil, fmt.Errorf("bpf: map the counter's memory: %w", err)
	}
	b := make([]byte, memory.Size())
	if _, err := memory.ReadAt(b, 0); err != nil {
		return nil, fmt.Errorf("bpf: read the counter's memory: %w", err)
	}
	return b, nil
}

// Close detaches the counter.
func (c *Counter) Close() error {
	return errors.Join(c.link.Close(), c.objects.Close())
}
