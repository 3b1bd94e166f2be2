package search

import (
	"math"
	"slices"
)

// MLR searches for several goals at once, tolerant of a rare bad trial: it follows
// draft-ietf-bmwg-mlrsearch-15, which leaves the choice of loads open; they are
// chosen much as FD.io CSIT does.
type MLR struct {
	Min, Max uint64 // loads
	Goals    []Goal
}

// A Bound is what a search by MLRsearch found for a goal.
type Bound struct {
	Lower, Upper uint64 // relevant bounds; 0 where there is none
	// Conditional is the conditional throughput of the lower bound.
	Conditional float64
	// Irregular says that not even the smallest load meets the goal.
	Irregular bool
}

// loads groups trials by their load.
type loads map[uint64][]Trial

func byLoad(history []Trial) loads {
	l := loads{}
	for _, t := range history {
		l[t.Load] = append(l[t.Load], t)
	}
	return l
}

// relevant are the relevant bounds of a goal: the smallest load that is an upper
// bound, and the largest below it that is a lower one; 0 where there is none.
func (l loads) relevant(g *Goal) (lower, upper uint64) {
	for load, trials := range l {
		if g.Classify(trials) == Upper && (upper == 0 || load < upper) {
			upper = load
		}
	}
	for load, trials := range l {
		if load > lower && (upper == 0 || load < upper) && g.Classify(trials) == Lower {
			lower = load
		}
	}
	return lower, upper
}

// Results are the bounds of each goal.
func (m *MLR) Results(history []Trial) []Bound {
	l := byLoad(history)
	bounds := make([]Bound, len(m.Goals))
	for i := range m.Goals {
		g, b := &m.Goals[i], &bounds[i]
		b.Lower, b.Upper = l.relevant(g)
		if b.Lower != 0 {
			b.Conditional = g.Conditional(b.Lower, l[b.Lower])
		}
		b.Irregular = b.Upper == m.Min
	}
	return bounds
}

// Next is the next trial: first the highest load, then twice what was forwarded,
// then of what the goals ask for the lowest load; of equal ones the longest trial.
func (m *MLR) Next(history []Trial) (Step, bool) {
	if n := len(history); n < 3 {
		if step, ok := m.initial(history); ok {
			return step, true
		}
	}
	l := byLoad(history)
	var best Step
	var found bool
	for i := range m.Goals {
		step, ok := m.nominate(l, m.Goals[i].targets())
		if ok && (!found || step.Load < best.Load || step.Load == best.Load && step.Duration > best.Duration) {
			best, found = step, true
		}
	}
	return best, found
}

// initial finds where the answer may be: what is forwarded of the highest load,
// and of that load in turn.
func (m *MLR) initial(history []Trial) (Step, bool) {
	load := m.Max
	if n := len(history); n > 0 {
		last := history[n-1]
		if last.Loss == 0 {
			return Step{}, false
		}
		load = m.clip(last.Forwarded())
		if load == last.Load {
			return Step{}, false
		}
	}
	shortest := m.Goals[0].targets()[0].FinalTrial
	for i := range m.Goals {
		shortest = min(shortest, m.Goals[i].targets()[0].FinalTrial)
	}
	return Step{load, shortest}, true
}

func (m *MLR) clip(load float64) uint64 {
	return uint64(math.Round(min(max(load, float64(m.Min)), float64(m.Max))))
}

// nominate is the trial that the first target of a chain asks for that is not
// reached yet.
func (m *MLR) nominate(l loads, chain []Goal) (Step, bool) {
	var before [2]uint64 // the bounds of the target before
	for i := range chain {
		g := &chain[i]
		lower, upper := l.relevant(g)
		if m.reached(g, lower, upper) {
			before = [2]uint64{lower, upper}
			continue
		}
		return Step{m.load(l, g, before, lower, upper), g.FinalTrial}, true
	}
	return Step{}, false
}

func (m *MLR) reached(g *Goal, lower, upper uint64) bool {
	switch {
	case upper == 0:
		return lower == m.Max
	case lower == 0:
		return upper == m.Min
	}
	return upper-lower <= 1 || float64(upper-lower) <= g.Width*float64(upper)
}

// load is the load that a target measures next, strictly between its bounds. One
// that was begun and is undecided is measured on; then come the bounds of the
// target before, steps outwards, and the middle.
func (m *MLR) load(l loads, g *Goal, before [2]uint64, lower, upper uint64) uint64 {
	inside := func(load uint64) bool {
		return load != 0 && load > lower && (upper == 0 || load < upper)
	}
	if load := l.begun(g, inside); load != 0 {
		return load
	}
	switch {
	case inside(before[0]): // refine its lower bound
		return before[0]
	case inside(before[1]): // and its upper one
		return before[1]
	case upper == 0:
		return m.extend(l, g, lower, true)
	case lower == 0:
		return m.extend(l, g, upper, false)
	}
	return between(g, lower, upper)
}

// begun is the smallest load within bounds that has full trials of a target and is
// undecided.
func (l loads) begun(g *Goal, inside func(uint64) bool) uint64 {
	var found uint64
	for load, trials := range l {
		full := slices.ContainsFunc(trials, func(t Trial) bool { return t.Duration >= g.FinalTrial })
		if full && inside(load) && (found == 0 || load < found) && g.Classify(trials) == Undecided {
			found = load
		}
	}
	return found
}

// extend steps from the only bound outwards: by the width, and by twice the last
// step after each that gave the same bound again.
func (m *MLR) extend(l loads, g *Goal, bound uint64, up bool) uint64 {
	if bound == 0 { // nothing is decided
		return m.Max
	}
	step := -math.Log(1 - g.Width)
	class := Upper
	if up {
		class = Lower
	}
	next := uint64(0) // the bound of the same kind that is nearest behind
	for load, trials := range l {
		behind := load > bound
		if up {
			behind = load < bound
		}
		if behind && g.Classify(trials) == class && (next == 0 || (load > next) == up) {
			next = load
		}
	}
	if next != 0 {
		step = max(step, 2*math.Abs(math.Log(float64(next)/float64(bound))))
	}
	if up {
		return max(bound+1, m.clip(float64(bound)*math.Exp(step)))
	}
	return min(bound-1, m.clip(float64(bound)*math.Exp(-step)))
}

// between splits the distance of two bounds on a logarithmic scale, so that the
// lower part is a power of two of widths.
func between(g *Goal, lower, upper uint64) uint64 {
	width := -math.Log(1 - g.Width)
	widths := math.Ceil(math.Log(float64(upper)/float64(lower)) / width)
	part := math.Exp2(math.Ceil(math.Log2(widths)) - 1)
	load := uint64(math.Round(float64(lower) * math.Exp(part*width)))
	if load <= lower || load >= upper {
		load = lower + (upper-lower)/2
	}
	return load
}
