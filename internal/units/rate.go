package units

import (
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// A RateUnit says what a Rate counts.
type RateUnit uint8

const (
	Bits    RateUnit = iota // bits per second at the Rate's layer
	Packets                 // packets per second
	Percent                 // of the link's speed at L1
	Max                     // as fast as the path can; it has no number
)

// MicrosPerUnit is the resolution of a Rate: millionths of its unit.
const MicrosPerUnit = 1_000_000

// maxBits is the highest rate in bits per second, 10 Tbit/s: in millionths it
// still fits 64 bits.
const maxBits = 10_000_000_000_000

// rateUnits is what may follow the number and its prefix, and what it counts.
var rateUnits = map[string]struct {
	unit   RateUnit
	factor int64
}{
	"": {Bits, 1}, "b": {Bits, 1}, "bit": {Bits, 1}, "bps": {Bits, 1}, "b/s": {Bits, 1}, "bit/s": {Bits, 1},
	"B": {Bits, 8}, "Bps": {Bits, 8}, "B/s": {Bits, 8},
	"pps": {Packets, 1},
	"%":   {Percent, 1},
}

// rateLimits is the highest rate in each unit, how it is written, and the name
// of one unit.
var rateLimits = [...]struct {
	whole     uint64
	text, one string
}{
	Bits:    {maxBits, "10T", "bit per second"},
	Packets: {10_000_000_000, "10Gpps", "packet per second"},
	Percent: {100, "100%", "percent"},
}

// A Rate is what --rate says.
type Rate struct {
	Unit  RateUnit
	Micro uint64 // millionths of a bit (packet, percent) per second; exact; 0 only for Max
	Layer Layer  // of Bits, and L1 of Percent; 0 where no @layer was written
}

const rateExample = "500M, 9.4G@l1, 1.5Mpps, 95% or max"

// ParseRate parses a rate: a decimal number, a decimal prefix k, M, G or T (or a
// binary one: Ki, Mi, Gi, Ti), a unit and, for bits, a layer. The unit is bits
// unless it says bytes (B, B/s, Bps), pps or %: 500M, 1Mbit, 1MB, 9.4G@l1,
// 1.5Mpps, 95%. The word max is as fast as the path can.
func ParseRate(s string) (Rate, error) {
	text, layer, at := strings.Cut(s, "@")
	r, err := parseAmount(s, text)
	if err != nil || !at {
		return r, err
	}
	if r.Layer, err = ParseLayer(layer); err != nil {
		return Rate{}, err
	}
	switch {
	case r.Unit == Percent && r.Layer != L1:
		return Rate{}, fmt.Errorf("%q: a percentage is of the link at l1; write 95%% or 95%%@l1", s)
	case r.Unit == Packets || r.Unit == Max:
		return Rate{}, fmt.Errorf("%q: only a rate in bits has a layer; leave out @%s", s, layer)
	}
	return r, nil
}

// parseAmount parses a rate without its layer; s is what errors quote.
func parseAmount(s, text string) (Rate, error) {
	if text == "max" {
		return Rate{Unit: Max}, nil
	}
	n, rest, ok := number(text)
	factor, name := prefix(rest, 1000)
	unit, known := rateUnits[name]
	percentWithPrefix := unit.unit == Percent && name != rest
	if !ok || !known || percentWithPrefix {
		return Rate{}, fmt.Errorf("%q is not a rate; write %s", s, rateExample)
	}
	limit := rateLimits[unit.unit]
	micro, err := whole(n, factor*unit.factor*MicrosPerUnit, limit.whole*MicrosPerUnit)
	switch {
	case errors.Is(err, errTooLarge):
		return Rate{}, fmt.Errorf("%q is above the limit; write at most %s, or max for as fast as the path can", s, limit.text)
	case errors.Is(err, errTooFine):
		return Rate{}, fmt.Errorf("%q is finer than a millionth of a %s; write fewer decimals", s, limit.one)
	case micro == 0:
		return Rate{}, fmt.Errorf("%q would send nothing; say max for as fast as the path can", s)
	}
	return Rate{Unit: unit.unit, Micro: micro}, nil
}

// String returns the rate as ParseRate reads it, in its largest decimal prefix:
// "500M", "9.4G@l1", "1.5Mpps", "95%", "max".
func (r Rate) String() string {
	if r.Unit == Max {
		return "max"
	}
	unit := uint64(MicrosPerUnit)
	letters := "kMGT"
	if r.Unit == Percent {
		letters = ""
	}
	letter := ""
	for letters != "" && r.Micro/unit >= 1000 {
		unit *= 1000
		letter, letters = letters[:1], letters[1:]
	}
	s := strconv.FormatUint(r.Micro/unit, 10)
	if rest := r.Micro % unit; rest != 0 {
		// unit is a power of ten: its zeros are the places behind the point.
		places := len(strconv.FormatUint(unit, 10)) - 1
		s += "." + strings.TrimRight(fmt.Sprintf("%0*d", places, rest), "0")
	}
	s += letter + [...]string{Bits: "", Packets: "pps", Percent: "%"}[r.Unit]
	if r.Layer != 0 {
		s += "@" + r.Layer.String()
	}
	return s
}

// OfLink returns a percentage as bits at L1 of a link of so many bit/s, rounded
// down to a millionth of a bit; other rates it returns as they are.
func (r Rate) OfLink(bps uint64) (Rate, error) {
	if r.Unit != Percent {
		return r, nil
	}
	if bps == 0 || bps > maxBits {
		return Rate{}, fmt.Errorf("%s of a link of %d bit/s is no rate; write it in bits, such as 9.5G@l1", r, bps)
	}
	// Micro is millionths of a percent, the result millionths of a bit. With
	// the limits of both, the high word is below 55.
	hi, lo := bits.Mul64(bps, r.Micro)
	micro, _ := bits.Div64(hi, lo, 100)
	return Rate{Unit: Bits, Micro: micro, Layer: L1}, nil
}
