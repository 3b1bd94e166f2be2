package bpf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/ringbuf"
	"golang.org/x/sys/unix"
)

// A Hook is where in the kernel a Tracker sees frames.
type Hook uint8

const (
	// DriverXDP is the fastest and, on a veth, splits super-frames. It takes
	// frames that fit in one page.
	DriverXDP Hook = iota
	DriverXDPFragments
	GenericXDP // for any driver, once the kernel has made a buffer of the frame
	TC         // where XDP can't be; by TCX (Linux 6.6)
)

// String is the name of the hook in reports.
func (h Hook) String() string {
	return [...]string{"driver XDP", "driver XDP with fragments", "generic XDP", "tc"}[h]
}

// program is the name of the hook's program in the object.
func (h Hook) program() string {
	if h == TC {
		return trackProgTrackTc
	}
	return trackProgTrackXdp
}

// multiBuffer reports whether the program may get a frame in several buffers.
func (h Hook) multiBuffer() bool { return h == DriverXDPFragments || h == GenericXDP }

// A TrackerConfig says which datagrams a Tracker counts.
type TrackerConfig struct {
	Local     netip.Addr // they are for; an unspecified address for any
	MAC       net.HardwareAddr
	Selection Selection // of them
	Longest   int       // bytes of the longest frame that is one packet, without FCS
	Flows     int       // with a smaller number are counted, 12 KiB each
	Most      uint64    // packets to count; 0 for any number
}

// A Tracker counts probes inside the kernel, by the rules of rx/track, and takes
// the datagrams that it counts off the wire, all but fragments. What it says is
// exact once it is detached.
type Tracker struct {
	hook    Hook
	program *ebpf.Program
	objects trackerObjects
	events  *ringbuf.Reader
	link    link.Link // nil while detached
	own     int       // flows that have distributions of their own
	sample  int       // packets that each CPU draws
	record  ringbuf.Record
	keys    []uint32
}

type trackerObjects struct {
	trackMaps
	trackVariables
}

// NewTracker loads a tracker for a hook. It counts nothing before Attach.
func NewTracker(hook Hook, c TrackerConfig) (*Tracker, error) {
	spec, err := loadTrack()
	if err != nil {
		return nil, fmt.Errorf("bpf: read tracker: %w", err)
	}
	cpus, err := ebpf.PossibleCPU()
	if err != nil {
		return nil, fmt.Errorf("bpf: count CPUs: %w", err)
	}
	for _, name := range []string{trackMapFlows, trackMapWindows, trackMapLimits} {
		spec.Maps[name].MaxEntries = uint32(c.Flows)
	}
	t := &Tracker{
		hook:   hook,
		own:    int(spec.Maps[trackMapDelays].MaxEntries) - 1,
		sample: int(spec.Maps[trackMapSamples].MaxEntries),
	}
	spec.Maps[trackMapLanes].MaxEntries = uint32(cpus)
	spec.Maps[trackMapSamples].MaxEntries = uint32(cpus * t.sample)
	spec.Maps[trackMapDelays].MaxEntries = uint32(t.own + cpus)
	if err := spec.Variables[trackVarConfig].Set(c.encode(hook)); err != nil {
		return nil, fmt.Errorf("bpf: configure tracker: %w", err)
	}
	if !hook.multiBuffer() {
		spec.Programs[hook.program()].Flags &^= unix.BPF_F_XDP_HAS_FRAGS
	}
	for name := range spec.Programs {
		if name != hook.program() { // it would take as long to verify
			delete(spec.Programs, name)
		}
	}
	all, err := ebpf.NewCollection(spec)
	if err != nil {
		return nil, explain("load tracker (Linux 5.18 or later)", err)
	}
	defer all.Close()
	if err := all.Assign(&t.objects); err != nil {
		return nil, fmt.Errorf("bpf: tracker: %w", err)
	}
	t.program = all.DetachProgram(hook.program())
	if t.events, err = ringbuf.NewReader(t.objects.Events); err != nil {
		return nil, errors.Join(fmt.Errorf("bpf: tracker's events: %w", err), t.Close())
	}
	return t, nil
}

func (c *TrackerConfig) encode(hook Hook) trackConfig {
	out := trackConfig{Most: c.Most, Longest: uint32(c.Longest), Selection: trackSelection(c.Selection.encode())}
	if hook.multiBuffer() {
		out.MultiBuffer = 1
	}
	addr := c.Local
	if !addr.IsValid() || addr.IsUnspecified() || addr.Unmap().IsUnspecified() {
		out.Any = 1
	}
	as16 := addr.As16()
	for i := range out.Addr {
		out.Addr[i] = binary.NativeEndian.Uint32(as16[4*i:])
	}
	for i := range out.Mac {
		out.Mac[i] = binary.NativeEndian.Uint16(c.MAC[2*i:])
	}
	return out
}

// Attach starts to count at an interface. The error is EBUSY where there is
// another XDP program, which stays.
func (t *Tracker) Attach(ifindex int) (err error) {
	switch t.hook {
	case TC:
		t.link, err = link.AttachTCX(link.TCXOptions{Interface: ifindex, Program: t.program, Attach: ebpf.AttachTCXIngress})
	case GenericXDP:
		t.link, err = attachXDP(ifindex, t.program, link.XDPGenericMode)
	default:
		t.link, err = attachXDP(ifindex, t.program, link.XDPDriverMode)
	}
	if err != nil {
		return explain("attach tracker by "+t.hook.String(), err)
	}
	return nil
}

// Attached reports whether the tracker is still where it was attached: it goes
// with the interface.
func (t *Tracker) Attached() (bool, error) {
	if t.link == nil {
		return false, nil
	}
	info, err := t.link.Info()
	if err != nil {
		return false, fmt.Errorf("bpf: tracker's link: %w", err)
	}
	if t.hook == TC {
		return info.TCX().Ifindex != 0, nil
	}
	return info.XDP().Ifindex != 0, nil
}

// Detach ends the count and waits until the program runs on no CPU any more.
func (t *Tracker) Detach() error {
	if t.link == nil {
		return nil
	}
	err := t.link.Close()
	t.link = nil
	// The program runs in a read-side critical section of RCU.
	const global = 1 // MEMBARRIER_CMD_GLOBAL of linux/membarrier.h, which waits for those
	if _, _, errno := unix.Syscall(unix.SYS_MEMBARRIER, global, 0, 0); errno != 0 {
		time.Sleep(10 * time.Millisecond) // far longer than the program ever takes
	}
	if err != nil {
		return fmt.Errorf("bpf: detach tracker: %w", err)
	}
	return nil
}

// Close detaches the tracker and forgets what it counted.
func (t *Tracker) Close() error {
	err := t.Detach()
	if t.events != nil {
		err = errors.Join(err, t.events.Close())
	}
	return errors.Join(err, t.program.Close(), t.objects.trackMaps.Close())
}
