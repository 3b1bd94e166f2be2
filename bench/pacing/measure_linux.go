package main

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"linerate/bench/peer"
	"linerate/bpf"
	"linerate/internal/host"
	"linerate/internal/lab"
	"linerate/internal/linux"
	"linerate/internal/probe"
)

const (
	warmUp = 700 * time.Millisecond // a program may first shake hands with its server
	// stampsMost bounds the memory of a run: 8 bytes each.
	stampsMost = 1 << 24
	// The core is tried so often at the rate that is asked for, or at each packet.
	trialEach  = time.Millisecond
	trialsMost = 1 << 16
)

// A bench is the lab in which programs are measured.
type bench struct {
	lab      *lab.Lab
	dir      string // for files that a program needs
	linerate string
	length   time.Duration // of a run
}

// measure runs a program for a while and returns when its packets came, of which
// there ought to be so many a second, with up to so many trials of the core.
func (b *bench) measure(p peer.Program, frame int, pps float64, trials int) (a arrivals, err error) {
	l := b.lab
	target := &peer.Target{
		Interface: l.A().Interface, Source: l.A().Addr4, Addr: l.B().Addr4,
		SrcMAC: l.A().MAC, DstMAC: l.B().MAC, Frame: frame, Dir: b.dir, Linerate: b.linerate,
	}
	a.every = 1 + int(pps*(warmUp+b.length).Seconds()*1.2)/stampsMost
	var counter *bpf.Counter
	attach := func() error {
		link, err := host.LinkByName(l.B().Interface)
		if err != nil {
			return err
		}
		counter, err = bpf.AttachCounter(link.Index, bpf.Filter{
			Port: peer.Port, EndMagic: probe.MagicEnd, Drop: true, Stamps: stampsMost, Every: a.every,
			Trials: trials, TrialEvery: max(1, int(pps*trialEach.Seconds())/a.every),
		})
		return err
	}
	defer func() {
		if counter != nil {
			err = errors.Join(err, counter.Close())
		}
	}()
	if p.Server != nil {
		end, err := l.B().Background(p.Server())
		if err != nil {
			return a, err
		}
		defer end(0)
		time.Sleep(200 * time.Millisecond)
	} else if err := l.B().Do(attach); err != nil { // else a host that takes all packets holds up what ends in it
		return a, err
	}
	send, err := p.Send(target)
	if err != nil {
		return a, err
	}
	var said strings.Builder
	send.Stdout, send.Stderr = &said, &said
	end, err := l.A().Background(send)
	if err != nil {
		return a, err
	}
	defer end(0)
	time.Sleep(warmUp)
	if counter == nil { // the handshake had to pass
		if err := l.B().Do(attach); err != nil {
			return a, err
		}
	}
	var errWatch error // such as of a program that ended at once: what it said tells more
	a.begun, a.taken, errWatch = watch(send.Process.Pid, b.length)
	at, err := counter.Stamps()
	if err != nil {
		return a, err
	}
	first, _ := slices.BinarySearch(at, a.begun)
	a.at = at[first:]
	if a.trials, err = counter.Trials(); err != nil {
		return a, err
	}
	if len(a.at) == 0 {
		return a, fmt.Errorf("%s sent nothing at %d bytes: %s", p.Name, frame, strings.Join(strings.Fields(said.String()), " "))
	}
	return a, errWatch
}

// An idle is how the machine treats a thread that does nothing but look at the clock.
type idle struct {
	length  time.Duration
	away    time.Duration // in looks that took longer than 1 µs
	times   int
	longest time.Duration
}

// spin looks at the clock for a while.
func spin(length time.Duration) (r idle) {
	const look = time.Microsecond
	begun := linux.Monotonic()
	for last := begun; ; {
		now := linux.Monotonic()
		if d := time.Duration(now - last); d > look {
			r.away += d
			r.times++
			r.longest = max(r.longest, d)
		}
		if last = now; now-begun >= int64(length) {
			r.length = time.Duration(now - begun)
			return r
		}
	}
}

// busy keeps a processor busy with a process until it is ended.
func busy() (end func(), err error) {
	cmd := exec.Command("sh", "-c", "while :; do :; done")
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() {
		_ = cmd.Process.Kill() // it may be gone
		_ = cmd.Wait()         // killed
	}, nil
}
