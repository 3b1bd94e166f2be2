package iperf3

import (
	"encoding/json"
	"math"
	"testing"
)

func TestNumbersOfEveryRelease(t *testing.T) {
	for text, want := range map[string]int64{
		"0":                       0,
		"-1":                      -1,
		"1000.0":                  1000,
		"1e6":                     1000000,
		"2.5":                     2,
		"9223372036854775807":     math.MaxInt64,
		"-9223372036854775808":    math.MinInt64,
		"9223372036854775808":     math.MinInt64, // 2^63
		"18446744073709551615":    -1,            // of 3.12 and 3.13
		"18446744073708758687":    -792929,       // a wrapped counter
		"18446744073709551613":    -3,            // the "errors" of issue 1363
		"1.8446744073709552e+19":  -1,            // the same through a double
		"1.84467440737e+19":       -9551872,      // and with fewer digits
		"1.22804e+12":             1228040000000, // 3.5 to 3.11
		"9.223372036854775e+18":   9223372036854774784,
		"18446744073709551616":    -1,
		"36893488147419103232":    math.MaxInt64,
		"1e999":                   math.MaxInt64,
		"-1e999":                  math.MinInt64,
		"-1.8446744073709552e+19": math.MinInt64,
	} {
		if got, err := integer(json.RawMessage(text)); err != nil || got != want {
			t.Errorf("%s is %d (%v), want %d", text, got, err, want)
		}
	}
}

func TestWhatIsNoNumber(t *testing.T) {
	for _, text := range []string{`"5"`, `true`, `null`, `[1]`, `{}`} {
		if got, err := integer(json.RawMessage(text)); err == nil {
			t.Errorf("%s is the integer %d", text, got)
		}
		if got, err := float(json.RawMessage(text)); err == nil {
			t.Errorf("%s is the number %g", text, got)
		}
	}
	if got, err := float(json.RawMessage("1e999")); err == nil {
		t.Errorf("1e999 is the number %g", got)
	}
}

func FuzzInteger(f *testing.F) {
	for _, seed := range []string{"-1", "18446744073709551615", "1e6", "2.5", "1.8446744073709552e+19", "1e999"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) {
			return
		}
		got, err := integer(json.RawMessage(text))
		if err != nil {
			return
		}
		// Whole numbers that a double holds exactly come out as they are.
		f, err := float(json.RawMessage(text))
		if err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 && got != int64(f) {
			t.Errorf("%s is %d", text, got)
		}
	})
}
