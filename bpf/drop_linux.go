package bpf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"net/netip"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
)

// A DropFilter says which of the kernel's drops are a test's.
type DropFilter struct {
	Namespace uint32         // inode of the network namespace (namespaces(7))
	To        netip.AddrPort // where the datagrams go; an unspecified address for any
	Ports     int            // in a row from To's on; 0 for that one alone
	Magic     uint16         // first 16 bits of their payload; 0 for any
}

// Drops counts the packets of a test that the kernel gave up in one network
// namespace, by its reasons (enum skb_drop_reason, Linux 5.17). A super-frame
// counts as the packets in it, a datagram in fragments by its first. It needs
// CAP_PERFMON beside CAP_BPF. It costs nothing while nothing is dropped, and some
// nanoseconds for each packet that is, anywhere on the machine: also for those that
// an XDP program drops as they come out of a veth.
type Drops struct {
	objects dropObjects
	link    link.Link
	names   map[uint32]string
}

// AttachDrops begins to count.
func AttachDrops(f DropFilter) (*Drops, error) {
	// Read once, here and not by the loader: it takes a third of the time.
	kernel, err := btf.LoadKernelSpec()
	if err != nil {
		return nil, explain("read the kernel's types", err)
	}
	names, err := dropReasons(kernel)
	if err != nil {
		return nil, err
	}
	spec, err := loadDrop()
	if err != nil {
		return nil, fmt.Errorf("bpf: read drop counter: %w", err)
	}
	if err := spec.Variables[dropVarFilter].Set(f.encode()); err != nil {
		return nil, fmt.Errorf("bpf: configure drop counter: %w", err)
	}
	d := &Drops{names: names}
	known := &ebpf.CollectionOptions{Programs: ebpf.ProgramOptions{KernelTypes: kernel}}
	if err := spec.LoadAndAssign(&d.objects, known); err != nil {
		return nil, explain("load drop counter (needs CAP_PERFMON, too)", err)
	}
	d.link, err = link.AttachTracing(link.TracingOptions{Program: d.objects.Drop})
	if err != nil {
		return nil, errors.Join(explain("attach to tracepoint kfree_skb (needs CAP_PERFMON, too)", err), d.objects.Close())
	}
	return d, nil
}

func (f *DropFilter) encode() dropFilter {
	out := dropFilter{Namespace: f.Namespace, Port: f.To.Port(), Ports: uint16(max(f.Ports, 1)), Magic: f.Magic}
	if f.Magic == 0 {
		out.AnyPayload = 1
	}
	if bits.UintSize == 64 {
		out.Offsets = 1 // NET_SKBUFF_DATA_USES_OFFSET of linux/skbuff.h
	}
	addr := f.To.Addr()
	if !addr.IsValid() || addr.Unmap().IsUnspecified() {
		out.AnyAddress = 1
		return out
	}
	as16 := addr.As16()
	for i := range out.Addr {
		out.Addr[i] = binary.NativeEndian.Uint32(as16[4*i:])
	}
	return out
}

// dropReasons are the running kernel's names: their numbers differ from one
// version to the next.
func dropReasons(kernel *btf.Spec) (map[uint32]string, error) {
	var enum *btf.Enum
	if err := kernel.TypeByName("skb_drop_reason", &enum); err != nil {
		return nil, fmt.Errorf("bpf: this kernel tells no reason for a drop (Linux 5.17): %w", err)
	}
	names := make(map[uint32]string, len(enum.Values))
	for _, v := range enum.Values {
		names[uint32(v.Value)] = strings.TrimPrefix(strings.TrimPrefix(v.Name, "SKB_DROP_REASON_"), "SKB_")
	}
	return names, nil
}

// Load returns how many packets were dropped so far for each reason, by the
// kernel's names without SKB_DROP_REASON_.
func (d *Drops) Load() (map[string]uint64, error) {
	counts := map[string]uint64{}
	var reason uint32
	var packets uint64
	all := d.objects.Reasons.Iterate()
	for all.Next(&reason, &packets) {
		name, known := d.names[reason]
		if !known { // of a module: its number has the subsystem's in the high half
			name = fmt.Sprintf("reason %#x", reason)
		}
		counts[name] += packets
	}
	if err := all.Err(); err != nil {
		return nil, fmt.Errorf("bpf: read drop counter: %w", err)
	}
	return counts, nil
}

// Close ends the count.
func (d *Drops) Close() error {
	return errors.Join(d.link.Close(), d.objects.Close())
}
