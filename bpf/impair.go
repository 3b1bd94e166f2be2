package bpf

// An Impairment says what a bad wire does to UDP datagrams in one direction; the
// zero value does nothing. All other frames pass untouched, among them fragments
// and UDP behind IPv6 extension headers.
//
// The rules count with the datagram's index n, from 0 over all datagrams that
// match, dropped ones included. They are tried in the order of the fields; a
// dropped datagram goes no further. Each field's zero value turns its rule off.
type Impairment struct {
	// Port is the UDP destination port of the datagrams to impair; 0 is any.
	Port uint16
	// Magic spares a datagram that does not begin with this 16-bit number and
	// hold at least an 18-byte probe header; 0 impairs whatever goes to Port.
	Magic uint16

	// DropEvery drops where n % DropEvery == DropEvery-1.
	DropEvery uint64
	// DropFrom and DropTo drop where DropFrom <= n < DropTo. A DropTo of
	// math.MaxUint64 drops the whole tail.
	DropFrom, DropTo uint64
	// DropRandom is the ratio, 0..1, of datagrams dropped at random. Seed and n
	// alone decide which, so a repeated run drops the same ones.
	DropRandom float64
	Seed       uint64
	// DropAbove drops frames of more Ethernet bytes than this, tag and FCS
	// included.
	DropAbove uint32

	// SwapEvery exchanges the sequence numbers of probes SwapEvery-2 and
	// SwapEvery-1 of every SwapEvery of a flow, counted by sequence: to a
	// receiver, two neighbours that overtook each other. The checksum is mended.
	// It needs Magic and is 2 or more. A flow that ends between the two leaves
	// the first one with a number that was never sent.
	SwapEvery uint64
	// CorruptEvery inverts the last payload byte where n % CorruptEvery ==
	// CorruptEvery-1. The checksum is left wrong unless MendChecksum.
	CorruptEvery uint64
	MendChecksum bool
	// DupEvery sends a second copy ahead of the datagram where
	// n % DupEvery == DupEvery-1.
	DupEvery uint64
	// DelayEvery sends the datagram by the detour where
	// n % DelayEvery == DelayEvery-1; of a duplicated one the second copy.
	DelayEvery uint64
}

// ImpairCounts is what an impairer did in one direction, exactly.
type ImpairCounts struct {
	Seen          uint64 // datagrams that matched, whatever became of them
	Dropped       uint64 // of Seen, by any rule or outage
	DroppedRandom uint64 // of Dropped, by DropRandom
	DroppedAbove  uint64 // of Dropped, by DropAbove
	Swapped       uint64 // pairs of which both halves passed
	Duplicated    uint64 // copies made
	Corrupted     uint64
	Delayed       uint64
	// Superframes are matching datagrams still to be segmented (GSO), which
	// pass untouched and stand outside Seen: one verdict for many datagrams
	// would be wrong.
	Superframes uint64
	// Outage is frames of any kind dropped by an outage.
	Outage uint64
}
