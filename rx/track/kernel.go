package track

import (
	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"linerate/internal/cadence"
	"linerate/internal/probe"
)

// A Kernel is what the eBPF tracker has counted in place of Datagram, which gets
// the end markers alone.
type Kernel struct {
	Started bool   // a packet counted; the three that follow are the test's then
	Run     uint16 // of the sender
	Base    int64  // transit that stands for 0, ns modulo 2^48
	IPv6    bool   // the first packet that counted came over it
	Foreign uint64
	// OtherRuns is how many of the foreign were probes of another run.
	OtherRuns uint64
	Flows     []KernelFlow // those that count, in the order in which they began to
}

// A KernelFlow is the state of one flow.
type KernelFlow struct {
	Number           uint16
	Counts                  // without Lost and Corrupt
	Next             uint64 // the highest number that arrived, and one
	First, Last      int64  // arrivals, ns
	ReorderExtentMax uint64
	Jitter           int64 // 16 times RFC 3550's estimate, ns
	IPDVUndefined    uint64
}

// Load brings the tracker up to what the kernel has counted so far.
func (t *Tracker) Load(k *Kernel) {
	t.foreign += k.Foreign - t.kernel
	t.kernel, t.otherRuns = k.Foreign, k.OtherRuns
	if !k.Started || len(k.Flows) == 0 {
		return
	}
	if !t.started {
		t.source = probe.Source{}
		if !k.IPv6 {
			t.source.Addr[10], t.source.Addr[11] = 0xff, 0xff
		}
		first := k.Flows[0].First
		t.start(&arrival{run: k.Run, at: first, sent: first - k.Base})
	}
	for i := range k.Flows {
		n := &k.Flows[i]
		f := t.flow(n.Number, probe.Source{})
		if f.delays == nil {
			t.enter(f)
		}
		f.Counts, f.next = n.Counts, max(n.Next, n.Unique) // one may be read a packet before the other
		f.first, f.last, f.extent = n.First, n.Last, n.ReorderExtentMax
		f.vary.jitter, f.vary.undefined = n.Jitter, n.IPDVUndefined
		t.first, t.last = min(t.first, f.first), max(t.last, f.last)
	}
}

// LoadCadence takes how the first copies came, once that is final; nil if it is not
// known.
func (t *Tracker) LoadCadence(w *cadence.Watch) { t.watch = w }

// A KernelWindow is what a flow's loss periods are settled by.
type KernelWindow struct {
	Missing             [Window / 64]uint64 // number s is bit s modulo Window
	Run                 uint64              // length of the loss period that the final numbers end in
	Gaps, Lost, Longest uint64
	Bursts              [burstKinds]uint64
}

// LoadWindow takes a flow's, once its count is final.
func (t *Tracker) LoadWindow(number uint16, k *KernelWindow) {
	w := &t.numbered[number].window
	for i, missing := range k.Missing {
		w.seen[i] = ^missing
	}
	w.run = k.Run
	w.bursts = Bursts{Gaps: k.Gaps, Lost: k.Lost, Max: k.Longest, count: k.Bursts}
}

// KernelDelays are distributions of times, by bucket of a spread's histogram.
type KernelDelays struct{ Transit, IPDV KernelSpread }

// A KernelSpread is one of them. The extremes mean nothing without values.
type KernelSpread struct {
	Min, Max int64
	Up, Down []int64 // values of at least 0; sizes of those below
}

// LoadDelays adds distributions to those of a flow, once they are final. Flows
// that have none of their own share them.
func (t *Tracker) LoadDelays(number uint16, k *KernelDelays) {
	d := t.numbered[number].delays
	d.transit.load(&k.Transit)
	d.ipdv.load(&k.IPDV)
}

func (s *spread) load(k *KernelSpread) {
	counted := spread{buckets(k.Up), buckets(k.Down), k.Min, k.Max}
	if counted.count() > 0 {
		s.merge(&counted)
	}
}

// buckets makes a histogram of newSpread's layout.
func buckets(counts []int64) *hdr.Histogram {
	return hdr.Import(&hdr.Snapshot{
		LowestTrackableValue:  1,
		HighestTrackableValue: reach - 1,
		SignificantFigures:    digits,
		Counts:                counts,
	})
}

// A KernelPoint is a first copy: when it was sent and its transit, in ns.
type KernelPoint struct{ Sent, Transit int64 }

func (p KernelPoint) point() point { return point{p.Sent, p.Transit} }

// LoadStep takes the first copies of least and of greatest transit of those that
// were sent within skewStep.
func (t *Tracker) LoadStep(low, high KernelPoint) {
	s, l, h := &t.skew, low.point(), high.point()
	if s.step == 0 { // CLOCK_MONOTONIC began before any test
		s.first = l.sent
	} else {
		s.close()
	}
	// A hull grows in the order of sending, and steps come from several CPUs.
	l.sent, h.sent = max(l.sent, s.low.sent+1), max(h.sent, s.high.sent+1)
	s.step, s.low, s.high = l.sent, l, h
}

// A KernelSample is packets drawn at random from all that came, each as likely as
// any other.
type KernelSample struct {
	Points []KernelPoint
	Seen   uint64 // packets that they were drawn from
}

// LoadSamples takes several, once they are final.
func (t *Tracker) LoadSamples(samples []KernelSample) { t.skew.sample.load(samples) }

func (s *sample) load(samples []KernelSample) {
	for i := range samples {
		s.seen += samples[i].Seen
	}
	for _, k := range samples {
		if s.seen > sampleMost { // each sample yields its share
			s.random.Shuffle(len(k.Points), func(i, j int) { k.Points[i], k.Points[j] = k.Points[j], k.Points[i] })
			share := int(float64(k.Seen) / float64(s.seen) * sampleMost)
			k.Points = k.Points[:min(share, len(k.Points))]
		}
		for _, p := range k.Points {
			s.points = append(s.points, p.point())
		}
	}
}
