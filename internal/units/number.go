// Package units parses, converts and prints the quantities of a test: rates and
// their layers, sizes, counts, durations and mixes of frame sizes. Parsing is
// exact decimal arithmetic; nothing passes through a float. Every error is one
// line that says what is wrong and shows what may be written; the caller adds
// the name of the flag.
package units

import (
	"errors"
	"math/big"
	"strings"
)

// number cuts an unsigned decimal number such as 9, 9.4 or .5 off the front of
// s. It knows no sign, exponent, infinity or NaN.
func number(s string) (n *big.Rat, rest string, ok bool) {
	end := strings.IndexFunc(s, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if end < 0 {
		end = len(s)
	}
	n, ok = new(big.Rat).SetString(s[:end])
	return n, s[end:], ok
}

// prefix cuts k, M, G or T, in either case, off the front of s, and returns the
// power of base that it stands for. Ki, Mi, Gi and Ti are powers of 1024
// whatever the base (IEC 80000-13).
func prefix(s string, base int64) (factor int64, rest string) {
	if s == "" {
		return 1, s
	}
	power := strings.IndexByte("kmgt", s[0]|0x20) + 1
	if power == 0 {
		return 1, s
	}
	rest, binary := strings.CutPrefix(s[1:], "i")
	if binary {
		base = 1024
	}
	factor = 1
	for range power {
		factor *= base
	}
	return factor, rest
}

// whole returns n x factor, which must be a whole number of at most limit.
// It fails with errTooLarge or errTooFine.
func whole(n *big.Rat, factor int64, limit uint64) (uint64, error) {
	n.Mul(n, new(big.Rat).SetInt64(factor))
	switch {
	case n.Cmp(new(big.Rat).SetUint64(limit)) > 0:
		return 0, errTooLarge
	case !n.IsInt():
		return 0, errTooFine
	}
	return n.Num().Uint64(), nil
}

var (
	errTooLarge = errors.New("too large")
	errTooFine  = errors.New("too fine")
)
