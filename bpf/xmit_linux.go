package bpf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"linerate/internal/cadence"
)

// XmitBatch is how many frames a run of a Transmitter's program may make before
// it gives them to the driver: DEV_MAP_BULK_SIZE of <net/xdp.h>. With more, a
// frame could leave behind one that was refused, whose number would be missing.
const XmitBatch = 16

// An XmitConfig says what a Transmitter does to the frames of its runs.
type XmitConfig struct {
	IfIndex    int   // egress interface
	UDP        int   // where the UDP header starts in a frame
	Format     uint8 // of the payload's header: a probe.Format
	WallOffset int64 // CLOCK_REALTIME - CLOCK_MONOTONIC in ns
}

// A Transmitter is the program that stamps the frames of BPF_PROG_RUN and sends
// them, and the account of what the driver took. One goroutine owns it.
type Transmitter struct {
	objects xmitObjects
	links   []link.Link
	idle    int // network namespace in which the program is attached; -1 before
	state   *ebpf.Memory

	departures *ebpf.Memory
}

// A Refusal is what the driver did not take of a run.
type Refusal struct {
	Frames uint64
	Err    unix.Errno // 0 for want of room
}

// NewTransmitter loads the program (Linux 5.18) and begins to account.
func NewTransmitter(c XmitConfig) (*Transmitter, error) {
	spec, err := loadXmit()
	if err != nil {
		return nil, fmt.Errorf("bpf: read transmitter: %w", err)
	}
	err = spec.Variables[xmitVarSettings].Set(xmitSettings{
		WallOffset: c.WallOffset,
		Udp:        uint32(c.UDP),
		Format:     uint32(c.Format),
	})
	if err != nil {
		return nil, fmt.Errorf("bpf: configure transmitter: %w", err)
	}
	t := &Transmitter{idle: -1}
	if err := spec.LoadAndAssign(&t.objects, nil); err != nil {
		return nil, explain("load transmitter", err)
	}
	if err := t.attach(c.IfIndex); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

func (t *Transmitter) attach(egress int) (err error) {
	if err := t.objects.Egress.Put(uint32(0), uint32(egress)); err != nil {
		return explain(fmt.Sprintf("choose interface %d", egress), err)
	}
	if t.state, err = t.objects.State.Memory(); err != nil {
		return explain("map the transmitter's state", err)
	}
	if t.departures, err = t.objects.Departures.Memory(); err != nil {
		return explain("map the transmitter's watch", err)
	}
	for _, tp := range []struct {
		name    string
		program *ebpf.Program
	}{{"xdp_devmap_xmit", t.objects.Transmitted}, {"xdp_redirect_err", t.objects.Rejected}} {
		l, err := link.AttachRawTracepoint(link.RawTracepointOptions{Name: tp.name, Program: tp.program})
		if err != nil {
			return explain("attach to tracepoint "+tp.name+" (needs CAP_PERFMON)", err)
		}
		t.links = append(t.links, l)
	}
	return t.keep()
}

// keep attaches the program where it meets no frame: to the loopback of a network
// namespace of its own. The kernel enters a program into its XDP dispatcher while
// it is attached or runs, and to enter it anew for every run takes 24 ms.
func (t *Transmitter) keep() (err error) {
	runtime.LockOSThread()
	here, err := openNamespace()
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	defer unix.Close(here)
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("bpf: make a network namespace to keep the transmitter in: %w (needs CAP_SYS_ADMIN, or root)", err)
	}
	errAttach := t.attachIdle()
	if err := unix.Setns(here, unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("bpf: return to the network namespace: %w", err) // and the thread stays locked
	}
	runtime.UnlockOSThread()
	return errAttach
}

// attachIdle attaches the program in the network namespace of this thread.
func (t *Transmitter) attachIdle() (err error) {
	if t.idle, err = openNamespace(); err != nil {
		return err
	}
	const loopback = 1
	l, err := link.AttachXDP(link.XDPOptions{Program: t.objects.Xmit, Interface: loopback, Flags: link.XDPGenericMode})
	if err != nil {
		return explain("attach transmitter to a loopback", err)
	}
	t.links = append(t.links, l)
	return nil
}

// openNamespace opens the network namespace of this thread, and so keeps it.
func openNamespace() (int, error) {
	const path = "/proc/thread-self/ns/net"
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("bpf: open %s: %w", path, err)
	}
	return fd, nil
}

// FD is the program, for BPF_PROG_RUN in batches of at most XmitBatch.
func (t *Transmitter) FD() int { return t.objects.Xmit.FD() }

// Offsets in struct state.
const (
	stateNext = 8 * iota
	stateSum
	stateStop
	stateRefused
	stateError
	stateOwner
	stateBulk
	stateFirst
	stateDue
	stateGap
	statePayload
	stateBegan
	stateBegun
	stateHeaders
	stateSize = stateHeaders + 72
)

// A Run is what a Transmitter is told of a run of copies of a frame.
type Run struct {
	Frame []byte // as it begins, headers and all
	First uint64 // number of the packet that its first frame becomes
	// Sum is that of the 16-bit words, as they lie in memory, under the UDP checksum
	// of the frame where the stamp's numbers are zero.
	Sum uint64

	// Gap is that between two packets in 2^-GapBits ns, and Due the CLOCK_MONOTONIC
	// time in ns at which the first is due. The program waits for each bulk's first,
	// no longer than some 300 µs; a frame that is farther off is not sent. A Gap of 0
	// sends all at once.
	Gap     uint64
	Due     int64
	Payload int // bytes of each packet, for the watch of those with a gap
}

// GapBits are those of a nanosecond's fractions in a Run's Gap.
const GapBits = 20

// Begin prepares a run.
func (t *Transmitter) Begin(r *Run) error {
	var s [stateSize]byte
	binary.NativeEndian.PutUint64(s[stateNext:], r.First)
	binary.NativeEndian.PutUint64(s[stateSum:], r.Sum)
	binary.NativeEndian.PutUint64(s[stateFirst:], r.First)
	binary.NativeEndian.PutUint64(s[stateGap:], r.Gap)
	binary.NativeEndian.PutUint64(s[stateDue:], uint64(r.Due))
	binary.NativeEndian.PutUint64(s[statePayload:], uint64(r.Payload))
	copy(s[stateHeaders:], r.Frame)
	_, err := t.state.WriteAt(s[:], 0)
	return err
}

// BeginNothing prepares a run none of whose frames leave.
func (t *Transmitter) BeginNothing() error {
	var s [stateSize]byte
	binary.NativeEndian.PutUint64(s[stateStop:], 1)
	_, err := t.state.WriteAt(s[:], 0)
	return err
}

// departures is struct departures.
type departures struct {
	Late    uint64
	Cadence trackCadence
}

// Late is how many packets of runs with a gap left late: more than the gaps of a
// bulk, and 10 µs, after they were due.
func (t *Transmitter) Late() (uint64, error) {
	var late [8]byte
	_, err := t.departures.ReadAt(late[:], 0)
	return binary.NativeEndian.Uint64(late[:]), err
}

// Departures is how the packets of runs with a gap left; nil if none did. Its windows
// begin when the first was due.
func (t *Transmitter) Departures() (*cadence.Watch, error) {
	d := new(departures)
	if err := t.objects.Departures.Lookup(uint32(0), d); err != nil {
		return nil, fmt.Errorf("bpf: read departures: %w", err)
	}
	return d.Cadence.watch(), nil
}

// Next is the number after the last packet that the driver took, and what of the
// run it did not take. After a refusal no frame leaves until Begin.
func (t *Transmitter) Next() (next uint64, r Refusal, err error) {
	var s [stateSize]byte
	if _, err := t.state.ReadAt(s[:], 0); err != nil {
		return 0, r, err
	}
	r.Frames = binary.NativeEndian.Uint64(s[stateRefused:])
	r.Err = unix.Errno(binary.NativeEndian.Uint64(s[stateError:]))
	return binary.NativeEndian.Uint64(s[stateNext:]), r, nil
}

// Close unloads the program.
func (t *Transmitter) Close() error {
	var err error
	for _, l := range t.links {
		err = errors.Join(err, l.Close())
	}
	if t.idle >= 0 {
		err = errors.Join(err, unix.Close(t.idle))
	}
	return errors.Join(err, t.objects.Close())
}
