package iperf3

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
)

var errNoNumber = errors.New("not a number")

// integer reads a JSON number as every release writes them: 3.12 and 3.13 print
// negative ones as unsigned 64-bit, 3.5 to 3.11 large ones through a double. A
// fraction is cut off, and what is out of range becomes the nearest int64.
func integer(raw json.RawMessage) (int64, error) {
	if signed, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return signed, nil
	}
	if unsigned, err := strconv.ParseUint(string(raw), 10, 64); err == nil {
		return int64(unsigned), nil
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		return 0, errNoNumber
	case f == 1<<64: // what a double makes of 2^64-1, which is -1
		return -1, nil
	case f > 1<<64:
		return math.MaxInt64, nil
	case f >= 1<<63:
		return int64(uint64(f)), nil
	case f < math.MinInt64:
		return math.MinInt64, nil
	}
	return int64(f), nil
}

// float reads a JSON number that a double can hold.
func float(raw json.RawMessage) (float64, error) {
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil {
		return 0, errNoNumber
	}
	return f, nil
}
