package pace

import (
	"math/bits"
	"slices"
	"time"
)

// A Rate of a Profile holds from a time after the start until the next one begins.
type Rate struct {
	From  time.Duration
	Micro uint64 // as Schedule.MicroRate, but 0 sends nothing
}

// A Profile is rates that follow one another.
type Profile []segment

// A segment is a rate and what all before it allow.
type segment struct {
	Rate
	before amount
}

// An amount is of cost units times 10^15, in 128 bits: a rate in millionths of
// units a second times ns.
type amount struct{ hi, lo uint64 }

func times(a, b uint64) amount {
	hi, lo := bits.Mul64(a, b)
	return amount{hi, lo}
}

func (a amount) plus(b amount) amount {
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	hi, _ := bits.Add64(a.hi, b.hi, carry)
	return amount{hi, lo}
}

func (a amount) minus(b amount) amount {
	lo, borrow := bits.Sub64(a.lo, b.lo, 0)
	hi, _ := bits.Sub64(a.hi, b.hi, borrow)
	return amount{hi, lo}
}

func (a amount) exceeds(b amount) bool { return a.hi > b.hi || a.hi == b.hi && a.lo > b.lo }

// after is how long a rate takes to allow the amount, rounded down to 1 ns.
func (a amount) after(micro uint64) time.Duration {
	if a.hi >= micro {
		return forever
	}
	ns, _ := bits.Div64(a.hi, a.lo, micro)
	return time.Duration(min(ns, uint64(forever)))
}

// NewProfile takes rates in the order of time, the first from 0 on.
func NewProfile(rates []Rate) Profile {
	p := make(Profile, len(rates))
	for i, r := range rates {
		p[i].Rate = r
		if i > 0 {
			before := p[i-1]
			p[i].before = before.before.plus(times(before.Micro, uint64(r.From-before.From)))
		}
	}
	return p
}

// due is when the profile has allowed an amount and allows more.
func (p Profile) due(a amount) time.Duration {
	after, _ := slices.BinarySearchFunc(p, a, func(s segment, a amount) int {
		if s.before.exceeds(a) {
			return 1
		}
		return -1
	})
	s := p[after-1] // the last that began with no more: a rate that sends nothing is passed over
	if s.Micro == 0 {
		return forever
	}
	return s.From + min(a.minus(s.before).after(s.Micro), forever-s.From)
}

// allowed is what the profile allows in a time.
func (p Profile) allowed(d time.Duration) amount {
	i := len(p) - 1
	for p[i].From > d {
		i--
	}
	return p[i].before.plus(times(p[i].Micro, uint64(d-p[i].From)))
}
