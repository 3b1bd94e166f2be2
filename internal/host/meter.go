package host

import (
	"maps"
	"net/netip"
	"runtime"
	"time"

	"linerate/internal/result"
)

// A Flow says which packets are a test's, to tell their drops from others'.
type Flow struct {
	// Unwatched leaves the kernel's drops uncounted: to count them costs much where a
	// path drops each packet by design, once it has counted it.
	Unwatched bool
	To        netip.AddrPort // where its datagrams go; an unspecified address for any
	Ports     int            // in a row from To's on; 0 for that one alone
	Magic     uint16         // first 16 bits of their payload; 0 for any
}

// A Meter reads what this host counts while a test runs. What it opens stays in
// the network namespace of the thread that opened it, so that any may read it.
// One goroutine at a time may use it.
type Meter struct {
	source      source
	first, last reading
	came        bool      // something of what is to be counted
	worked      *cpuTimes // when the work was done; nil until then
}

// reading is what a host had counted at one moment. What is unknown is nil.
type reading struct {
	at, wall int64 // CLOCK_MONOTONIC, and how far CLOCK_REALTIME is ahead of it, in ns
	cpu      cpuTimes
	net, nic map[string]uint64
	backlog  *uint64             // bytes in the root qdisc
	reasons  []map[string]uint64 // drops of each flow since the meter was opened
	quota    *quota
	speed    uint64 // of the interface in bit/s; 0 if it has none
}

// quota is what the control groups of this process had cost it.
type quota struct {
	cores   float64
	periods uint64
	time    time.Duration
}

// OpenMeter begins to count on this host and one of its interfaces; ifindex 0
// stands for none. Of a test's flows, one each direction, it counts the drops. What
// this host or this process's privileges do not let it read is absent from the
// result. Reading costs less than a millisecond.
func OpenMeter(ifindex int, flows ...Flow) *Meter {
	m := &Meter{source: open(ifindex, flows)}
	m.first = m.source.read()
	m.last = m.first
	return m
}

// Lap is what the host counted since the last Lap, or since the meter was opened:
// of its counters, those that rose.
func (m *Meter) Lap() *result.Host {
	before := m.last
	m.last = m.source.read()
	h := m.since(&before, &m.last)
	still := func(_ string, c result.Counter) bool { return c.After == c.Before }
	maps.DeleteFunc(h.Counters, still)
	if h.NIC != nil {
		maps.DeleteFunc(h.NIC.Counters, still)
	}
	return h
}

// Coming says whether what is to be counted comes. What the processor does before it
// first does is left out of the next lap and of the total; what it does after it last
// did, of the total.
func (m *Meter) Coming(now bool) {
	cpu, err := readCPU()
	if err != nil {
		return
	}
	if now && !m.came {
		m.first.cpu, m.last.cpu, m.came = cpu, cpu, true
	}
	if m.worked = nil; !now {
		m.worked = &cpu
	}
}

// Worked says that the test's work is done, unless it was before: what the processor
// does from now on, while the last packets are on their way, is left out of the total.
func (m *Meter) Worked() {
	if cpu, err := readCPU(); err == nil && m.worked == nil {
		m.worked = &cpu
	}
}

// Total is what the host counted since the meter was opened.
func (m *Meter) Total() *result.Host {
	now := m.source.read()
	if m.worked != nil {
		now.cpu = *m.worked
	}
	return m.since(&m.first, &now)
}

// Close ends the count.
func (m *Meter) Close() { m.source.close() }

func (m *Meter) since(before, after *reading) *result.Host {
	h := &result.Host{
		CPU:      after.cpu.since(before.cpu),
		Counters: pair(before.net, after.net),
		Kernel:   Kernel(),
		Arch:     runtime.GOARCH,
	}
	h.ClockStepNS = step(before, after)
	h.InterruptsPerS, h.ContextSwitchesPerS = after.cpu.rates(before.cpu)
	for i, reasons := range after.reasons {
		drops := risen(before.reasons[i], reasons)
		if i == 0 {
			h.DropReasons = drops
		} else {
			h.Reverse = &result.Passage{DropReasons: drops}
		}
	}
	if nic := m.source.nic; nic.Interface != "" {
		nic.Counters, nic.QdiscBacklogBytes = pair(before.nic, after.nic), after.backlog
		if nic.SpeedBps != 0 && after.speed != 0 && after.speed != nic.SpeedBps {
			nic.SpeedEndBps = after.speed
		}
		h.NIC = &nic
	}
	if before.quota != nil && after.quota != nil && after.quota.periods >= before.quota.periods {
		h.Quota = &result.Quota{
			Cores:            after.quota.cores,
			ThrottledPeriods: after.quota.periods - before.quota.periods,
			ThrottledS:       (after.quota.time - before.quota.time).Seconds(),
		}
	}
	return h
}

// risen is by how much drops rose; nil if they are unknown.
func risen(before, after map[string]uint64) map[string]uint64 {
	if after == nil {
		return nil
	}
	rose := map[string]uint64{}
	for reason, n := range after {
		if n > before[reason] {
			rose[reason] = n - before[reason]
		}
	}
	return rose
}

// step is by how much the wall clock was set between two readings; nil if it only
// ran, or was slewed as adjtime(3) does: at most 500 ppm, and a little for reading.
func step(before, after *reading) *int64 {
	moved := after.wall - before.wall
	const reading = int64(time.Millisecond)
	if allowed := (after.at-before.at)/2000 + reading; moved > allowed || moved < -allowed {
		return &moved
	}
	return nil
}

// pair puts counters side by side. One that fell was reset, and is left out.
func pair(before, after map[string]uint64) map[string]result.Counter {
	if before == nil || after == nil {
		return nil
	}
	both := make(map[string]result.Counter, len(after))
	for name, n := range after {
		if was, known := before[name]; known && n >= was {
			both[name] = result.Counter{Before: was, After: n}
		}
	}
	return both
}
