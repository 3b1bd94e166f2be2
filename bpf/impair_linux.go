package bpf

import (
	"errors"
	"fmt"
	"math"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

// An Impairer forwards every frame from one interface to another and impairs
// some on the way.
type Impairer struct {
	objects impairObjects
	link    link.Link
}

// AttachImpairer starts to forward what arrives at the interface with index in
// to out, by TCX (Linux 6.6), so before any other tc filter. Delayed datagrams
// leave by detour, which is 0 where the impairment delays none.
func AttachImpairer(in, out, detour int, rules Impairment) (*Impairer, error) {
	if err := rules.check(detour); err != nil {
		return nil, err
	}
	spec, err := loadImpair()
	if err != nil {
		return nil, fmt.Errorf("bpf: read impairer: %w", err)
	}
	if err := spec.Variables[impairVarRules].Set(rules.encode(out, detour)); err != nil {
		return nil, fmt.Errorf("bpf: configure impairer: %w", err)
	}
	i := &Impairer{}
	if err := spec.LoadAndAssign(&i.objects, nil); err != nil {
		return nil, explain("load impairer", err)
	}
	i.link, err = link.AttachTCX(link.TCXOptions{
		Interface: in,
		Program:   i.objects.Impair,
		Attach:    ebpf.AttachTCXIngress,
	})
	if err != nil {
		i.objects.Close()
		return nil, explain("attach impairer by TCX (Linux 6.6 or later)", err)
	}
	return i, nil
}

// SetOutage starts or ends the drop of every frame, of whatever kind.
func (i *Impairer) SetOutage(on bool) error {
	if err := i.objects.Outage.Set(on); err != nil {
		return fmt.Errorf("bpf: switch outage: %w", err)
	}
	return nil
}

// Counts returns what the impairer did so far. The counters are read one after
// another: their sums hold once traffic has stopped.
func (i *Impairer) Counts() (ImpairCounts, error) {
	var c impairCounts
	if err := i.objects.Counts.Get(&c); err != nil {
		return ImpairCounts{}, fmt.Errorf("bpf: read impairer's counts: %w", err)
	}
	return ImpairCounts{
		Seen:          c.Seen,
		Dropped:       c.Dropped,
		DroppedRandom: c.DroppedRandom,
		DroppedAbove:  c.DroppedAbove,
		Swapped:       c.Swapped,
		Duplicated:    c.Duplicated,
		Corrupted:     c.Corrupted,
		Delayed:       c.Delayed,
		Superframes:   c.Superframes,
		Outage:        c.Outage,
	}, nil
}

// Close detaches the impairer: nothing is forwarded any more.
func (i *Impairer) Close() error {
	return errors.Join(i.link.Close(), i.objects.Close())
}

func (r *Impairment) check(detour int) error {
	switch {
	case !(r.DropRandom >= 0 && r.DropRandom <= 1):
		return fmt.Errorf("bpf: DropRandom %v is not a ratio from 0 to 1", r.DropRandom)
	case r.SwapEvery == 1:
		return errors.New("bpf: SwapEvery 1 leaves no pair to swap; use 2 or more")
	case r.SwapEvery > 0 && r.Magic == 0:
		return errors.New("bpf: SwapEvery needs the Magic of the probe header that holds the sequence")
	case r.DelayEvery > 0 && detour == 0:
		return errors.New("bpf: DelayEvery needs a detour")
	}
	return nil
}

func (r *Impairment) encode(out, detour int) impairRules {
	rules := impairRules{
		DropEvery:    r.DropEvery,
		DropFrom:     r.DropFrom,
		DropTo:       r.DropTo,
		DropRandom:   uint64(math.Round(r.DropRandom * (1 << 32))),
		Seed:         r.Seed,
		SwapEvery:    r.SwapEvery,
		DupEvery:     r.DupEvery,
		CorruptEvery: r.CorruptEvery,
		DelayEvery:   r.DelayEvery,
		DropAbove:    r.DropAbove,
		Out:          uint32(out),
		Detour:       uint32(detour),
		Port:         r.Port,
		Magic:        r.Magic,
	}
	if r.MendChecksum {
		rules.Mend = 1
	}
	return rules
}
