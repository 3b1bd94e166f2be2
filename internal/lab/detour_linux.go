package lab

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"linerate/bpf"
)

// A detour is a tap device of the middle host whose every frame comes back after
// a delay. An eBPF program can't hold a frame, and a token bucket holds none
// until it is overrun.
type detour struct {
	tap   *os.File
	delay time.Duration
	done  chan struct{}
	wait  sync.WaitGroup
}

// detourRoom is how many frames may wait for us to read them, and then for their time.
const detourRoom = 16384

// A late frame and when to send it back.
type late struct {
	due   time.Time
	frame []byte
}

// detour makes a tap device of that name and sends on to the interface with index
// out what comes back from it. It returns the tap's index.
func (l *Lab) detour(name string, out int, c Config) (index int, err error) {
	d := &detour{delay: c.Delay, done: make(chan struct{})}
	err = l.m.Do(func() (err error) {
		d.tap, err = openTap(name)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("lab: make tap %s in host %s: %w", name, l.m.Name, needs(err, "CAP_NET_ADMIN"))
	}
	l.closers = append(l.closers, d)
	// Room for a tag; frames redirected here are not held to the MTU otherwise. And for
	// what comes while a busy machine does not let us read.
	roomy := l.m.change(name, "set queue of", func(link netlink.Link) error {
		return l.m.nl.LinkSetTxQLen(link, detourRoom)
	})
	if err := errors.Join(roomy, l.m.SetMTU(name, c.MTU+4), l.m.quiet(name), l.m.SetUp(name, true)); err != nil {
		return 0, err
	}
	err = l.attach(name, func(i int) (io.Closer, error) {
		index = i
		return bpf.AttachImpairer(i, out, 0, Impairment{})
	})
	if err != nil {
		return 0, err
	}
	queue := make(chan late, detourRoom)
	d.wait.Go(func() { d.take(queue, c.MTU+etherHeader+4) })
	d.wait.Go(func() { d.give(queue) })
	return index, nil
}

func openTap(name string) (*os.File, error) {
	// Non-blocking for the runtime's poller, so that Close ends a Read.
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open /dev/net/tun (needs the kernel's tun driver): %w", err)
	}
	request, err := unix.NewIfreq(name)
	if err == nil {
		request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
	}
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), "/dev/net/tun"), nil
}

// take queues what the tap was sent.
func (d *detour) take(queue chan<- late, size int) {
	defer close(queue)
	for {
		frame := make([]byte, size)
		n, err := d.tap.Read(frame)
		if err != nil {
			return
		}
		queue <- late{time.Now().Add(d.delay), frame[:n]}
	}
}

// give sends it back when its time has come.
func (d *detour) give(queue <-chan late) {
	for l := range queue {
		select {
		case <-time.After(time.Until(l.due)):
			d.tap.Write(l.frame) // fails once closed
		case <-d.done:
		}
	}
}

func (d *detour) Close() error {
	close(d.done)
	err := d.tap.Close()
	d.wait.Wait()
	return err
}
