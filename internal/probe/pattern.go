package probe

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
)

// A Pattern fills the payload behind the header. Each byte depends on its
// offset in the payload alone, so a receiver can check it. ParsePattern makes
// one; copies share its bytes, which never change.
type Pattern struct {
	bytes []byte // PatternLen of them
}

// PatternLen covers every offset of a UDP payload.
const PatternLen = 1 << 16

// ParsePattern reads the name of a pattern: ramp (byte i is i modulo 256), zero,
// random (the same on every machine) or file:PATH (the file's first 64 KiB,
// repeated if it is shorter).
func ParsePattern(s string) (Pattern, error) {
	b := make([]byte, PatternLen)
	path, file := strings.CutPrefix(s, "file:")
	switch {
	case s == "ramp":
		for i := range b {
			b[i] = byte(i)
		}
	case s == "zero":
	case s == "random":
		// Sender and receiver need the same bytes: the seed is part of the format.
		rand.NewChaCha8([32]byte([]byte("linerate's random payload, v. 01"))).Read(b)
	case file:
		if err := readPattern(b, path); err != nil {
			return Pattern{}, fmt.Errorf("payload pattern: %w", err)
		}
	default:
		return Pattern{}, fmt.Errorf("unknown payload pattern %q: want ramp, zero, random or file:PATH", s)
	}
	return Pattern{b}, nil
}

// readPattern fills b from a file.
func readPattern(b []byte, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	n, err := io.ReadFull(f, b)
	if n == 0 && err == io.EOF {
		return fmt.Errorf("%s is empty: name a file with at least one byte", path)
	}
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	for filled := n; filled < len(b); filled += copy(b[filled:], b[:n]) {
	}
	return nil
}

// Fill writes the pattern of payload offsets offset and up into b.
func (p Pattern) Fill(b []byte, offset int) {
	copy(b, p.bytes[offset:offset+len(b)])
}

// Check reports whether b, found at the given offset of a payload, holds the
// pattern.
func (p Pattern) Check(b []byte, offset int) bool {
	return offset+len(b) <= len(p.bytes) && bytes.Equal(b, p.bytes[offset:offset+len(b)])
}
