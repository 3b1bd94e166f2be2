package iperf2

// A Layout is where the releases put the parts of a server's report, and of
// the header that it answers.
type Layout uint8

const (
	Layout21   Layout = iota // 2.1 and later
	Layout2013               // 2.0.13: the header has its first 24 bytes only
	Layout2010               // 2.0.10 to 2.0.12: the same, and one more word in the report
	Layout205                // up to 2.0.9: a prefix of 12 bytes
)

// oldPrefix is the size of number and time up to 2.0.9.
const oldPrefix = 12

// LayoutOf tells from the first datagram of a flow which layout the client
// reads. A client of an old release that sends no header (-C) may be taken for
// a newer one. It takes any input.
func LayoutOf(b []byte) Layout {
	if len(b) < PrefixSize+4 {
		return Layout21
	}
	w12, w16 := be.Uint32(b[12:]), be.Uint32(b[16:])
	switch {
	case headerLength(b) != 0:
		return Layout21
	case w16&^(flagBack|flagNow) == flagSeq64:
		return Layout2013
	case w16 > 0 && w16 < 1<<16 && oldFlags(w12), w12 == filler("2345") && w16 == filler("6789"):
		return Layout205
	case w16 == 0 && be.Uint32(b) == 0:
		return Layout2010
	}
	return Layout21
}

// oldFlags says whether a word is the flags of a header up to 2.0.9.
func oldFlags(w uint32) bool { return w&^(flagBack|flagNow) == 0 }

// filler is a word of the digits with which clients fill their datagrams.
func filler(digits string) uint32 { return be.Uint32([]byte(digits)) }
