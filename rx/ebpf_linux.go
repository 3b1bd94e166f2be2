package rx

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"linerate/bpf"
	"linerate/internal/probe"
	"linerate/rx/track"
)

const (
	// ebpfFlows is how many flows the path has room for, at 12 KiB each.
	ebpfFlows = 1024
	// ebpfEvery is how often it looks at what the kernel counted.
	ebpfEvery = 10 * time.Millisecond
)

// ebpf counts inside the kernel, by a program at the interface that takes the
// datagrams off the wire. An interface that is down is silence.
type ebpf struct {
	iface   *net.Interface
	manners manners
	program *bpf.Tracker
	note    string

	// What the kernel had counted at the last look.
	lanes   []bpf.TrackedLane // of each CPU
	flows   []bpf.TrackedFlow // by number, also those that do not count
	kernel  track.Kernel
	counted uint64           // datagrams
	limits  *probe.EndMarker // whose counts the program knows
	settled bool             // the count has ended, and the program is off
}

func probeEBPF(c *Config) error {
	r, err := newEBPF(c)
	if err != nil {
		return err
	}
	r.program, err = bpf.NewTracker(bpf.DriverXDPFragments, r.config(c))
	return errors.Join(r.explain(err), r.Close())
}

func openEBPF(c *Config) (Receiver, error) {
	r, err := newEBPF(c)
	if err != nil {
		return nil, err
	}
	if err := r.attach(c, bpf.DriverXDP, bpf.DriverXDPFragments, bpf.GenericXDP, bpf.TC); err != nil {
		return nil, errors.Join(r.explain(err), r.Close())
	}
	return r, nil
}

// newEBPF has everything but the program.
func newEBPF(c *Config) (*ebpf, error) {
	if err := c.bothVersions(); err != nil {
		return nil, fmt.Errorf("rx ebpf: %w", err)
	}
	iface, err := ethernet(c.Interface)
	if err != nil {
		return nil, fmt.Errorf("rx ebpf: %w", err)
	}
	r := &ebpf{iface: iface}
	if r.manners, err = openManners(c); err != nil {
		return nil, fmt.Errorf("rx ebpf: %w", err)
	}
	return r, nil
}

func (r *ebpf) config(c *Config) bpf.TrackerConfig {
	return bpf.TrackerConfig{
		Local:     c.Local.Addr(),
		MAC:       r.iface.HardwareAddr,
		Selection: c.selection(),
		Longest:   r.iface.MTU + ethernetLen + tagLen,
		Flows:     ebpfFlows,
		Most:      c.Most,
	}
}

// attach attaches the program by the first hook that takes it. What another
// program holds it leaves alone.
func (r *ebpf) attach(c *Config, hooks ...bpf.Hook) error {
	var failed error
	for _, hook := range hooks {
		program, err := bpf.NewTracker(hook, r.config(c))
		if err != nil {
			return err
		}
		err = program.Attach(r.iface.Index)
		if err == nil {
			r.program = program
			if hook == bpf.GenericXDP || hook == bpf.TC {
				r.note = fmt.Sprintf("rx ebpf counts by %v, which is slower than the driver's XDP", hook)
			}
			return nil
		}
		err = errors.Join(err, program.Close())
		if errors.Is(err, unix.EBUSY) || errors.Is(err, fs.ErrPermission) {
			return err
		}
		if failed != nil {
			err = fmt.Errorf("%w; %w", failed, err)
		}
		failed = err
	}
	return failed
}

// explain says what to do about a program that can't be had.
func (r *ebpf) explain(err error) error {
	if errors.Is(err, unix.EPERM) {
		err = unix.EPERM // the rest leads astray
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EACCES):
		return fmt.Errorf("rx ebpf: %w; --rx udp works without", err)
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("rx ebpf: %w (needs CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN: sudo setcap cap_bpf,cap_perfmon,cap_net_admin+ep %s, or --cap-add of these for a container; --rx udp works without)",
			err, executable())
	case errors.Is(err, unix.EBUSY):
		return fmt.Errorf("rx ebpf: %w: it stays; ip link set dev %s xdp off takes it off, and --rx ring works beside it", err, r.iface.Name)
	}
	return fmt.Errorf("rx ebpf: %w", err)
}

// Receive implements Receiver.
func (r *ebpf) Receive(t *track.Tracker, until time.Time) (int, error) {
	for {
		n, err := r.look(t, earlier(time.Now().Add(ebpfEvery), until))
		if n > 0 || err != nil || !time.Now().Before(until) {
			return n, r.wrap(err)
		}
	}
}

// look brings t up to date once the time has come, or an end marker before.
func (r *ebpf) look(t *track.Tracker, at time.Time) (int, error) {
	before := r.counted
	markers, err := r.events(t, at, batch)
	if err != nil {
		return markers, err
	}
	if err := r.load(t); err != nil {
		return markers, err
	}
	attached, err := r.program.Attached()
	if err == nil && !attached && !r.settled {
		err = fmt.Errorf("interface %s was removed: %w", r.iface.Name, unix.ENODEV)
	}
	return markers + int(r.counted-before), err
}

// Settle implements Counter.
func (r *ebpf) Settle(t *track.Tracker) error {
	err := r.program.Detach()
	r.settled = true
	if err == nil {
		_, err = r.events(t, time.Now(), math.MaxInt)
	}
	if err == nil {
		err = r.load(t)
	}
	if err == nil {
		err = r.loadRest(t)
	}
	return r.wrap(err)
}

// Note implements Noted.
func (r *ebpf) Note() string { return r.note }

// Frames implements Framed.
func (r *ebpf) Frames() Frames {
	var f Frames
	for i := range r.lanes {
		l := &r.lanes[i]
		f.Tagged += l.Tagged
		f.Fragments += l.Fragments
		f.Superframes += l.Superframes
		f.Malformed += l.Malformed
		f.BeyondFlows += l.BeyondFlows
		if l.Tagged > 0 {
			f.TCI = uint16(l.Tci)
		}
	}
	return f
}

// Drops implements Receiver.
func (r *ebpf) Drops() (Drops, error) {
	if r.program == nil {
		return Drops{}, fmt.Errorf("rx ebpf: %w", os.ErrClosed)
	}
	var d Drops
	for i := range r.lanes {
		d.Program += r.lanes[i].Contended
	}
	return d, nil
}

func (r *ebpf) wrap(err error) error {
	if err != nil {
		err = fmt.Errorf("rx ebpf: %w", err)
	}
	return err
}

// Close takes the program off the interface; it may be called again.
func (r *ebpf) Close() error {
	var err error
	if r.program != nil {
		err = r.program.Close()
		r.program = nil
	}
	return errors.Join(err, r.manners.close())
}
