package pace

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

// after is the flow of this share whose turn comes after a flow's, and how many
// turns of others are between.
func (s *Schedule) after(flow int) (next, between int) {
	n := max(s.Share.Workers, 1)
	if next = flow + n; next < s.Flows {
		return next, n - 1
	}
	return s.Share.Worker, s.Flows - 1 - flow + s.Share.Worker
}
