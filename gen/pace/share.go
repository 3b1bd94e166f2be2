package pace

import "time"

// A Share says which part of a schedule one of several workers has. The zero value
// is all of it.
type Share struct{ Worker, Workers int }

// Split is the part that worker i of n has, from 0: the turns of every n-th flow.
// Its packets keep their places in the one schedule, so that n workers keep its
// rate and its count exactly without a word to each other. There are no more
// workers than flows.
func (s Schedule) Split(i, n int) Schedule {
	s.Share = Share{i, n}
	return s
}

// Has says whether a flow is of this share.
func (s *Schedule) Has(flow int) bool {
	return s.Share.Workers < 2 || flow%s.Share.Workers == s.Share.Worker
}

// own is how many of the first k packets of the schedule are of this share.
func (s *Schedule) own(k uint64) uint64 {
	if s.Share.Workers < 2 {
		return k
	}
	burst, flows := uint64(s.Burst), uint64(s.Flows)
	turns, rest := k/burst, k%burst
	rounds, flow := turns/flows, turns%flows
	n := (rounds*s.ownFlows(flows) + s.ownFlows(flow)) * burst
	if s.Has(int(flow)) {
		n += rest
	}
	return n
}

// ownFlows is how many of the first so many flows are of this share.
func (s *Schedule) ownFlows(flows uint64) uint64 {
	n := uint64(s.Share.Workers)
	return (flows + n - 1 - uint64(s.Share.Worker)) / n
}

// place is that of packet k of this share in the schedule: the inverse of own.
func (s *Schedule) place(k uint64) uint64 {
	if s.Share.Workers < 2 {
		return k
	}
	burst := uint64(s.Burst)
	turn, rest := k/burst, k%burst
	each := s.ownFlows(uint64(s.Flows)) // turns of this share in a round
	flow := uint64(s.Share.Worker) + turn%each*uint64(s.Share.Workers)
	return (turn/each*uint64(s.Flows)+flow)*burst + rest
}

// ownDue is when packet k of this share is due.
func (s *Schedule) ownDue(k uint64) time.Duration { return s.Due(s.place(k)) }

// inCycle is where in the cycle of sizes packet k of this share stands.
func (s *Schedule) inCycle(k uint64) uint64 {
	if len(s.Sizes) == 1 {
		return 0
	}
	return s.place(k) % uint64(len(s.Sizes))
}

// after is the flow of this share whose turn comes after a flow's.
func (s *Schedule) after(flow int) int {
	if flow += max(s.Share.Workers, 1); flow < s.Flows {
		return flow
	}
	return s.Share.Worker
}
