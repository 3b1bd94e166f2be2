package track

// Transit is an arrival's time less the time in its header, less that of the
// test's first packet: one-way delay up to a constant. It is what remains exact
// whatever the two clocks have to do with each other, as long as they run alike.

// A variation follows how the transit of one flow's first copies varies.
type variation struct {
	started   bool
	last      uint64 // number of the arrival before
	transit   int64  // and its transit, ns
	jitter    int64  // 16 times RFC 3550's estimate, ns
	undefined uint64 // first copies without an IPDV
}

// next takes the arrival of a first copy. It returns the packet's IPDV, its
// delay less that of the packet sent before it (RFC 3393), if that one was the
// arrival before; other packets have none or would need a memory of delays.
func (v *variation) next(seq uint64, transit int64) (ipdv int64, ok bool) {
	if !v.started {
		*v = variation{started: true, last: seq, transit: transit}
		return 0, false
	}
	d := transit - v.transit
	v.jitter += abs(d) - (v.jitter+8)>>4 // RFC 3550, appendix A.8
	ok = seq == v.last+1
	if !ok {
		v.undefined++
	}
	v.last, v.transit = seq, transit
	return d, ok
}

func abs(v int64) int64 { return max(v, -v) }

// delays are the distributions of a flow's times.
type delays struct {
	transit *spread
	ipdv    *spread // of its absolute value
}

func newDelays() *delays { return &delays{newSpread(), newSpread()} }

func (d *delays) merge(o *delays) {
	d.transit.merge(o.transit)
	d.ipdv.merge(o.ipdv)
}
