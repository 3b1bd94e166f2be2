package units

import (
	"fmt"
	"strconv"
	"strings"
)

// Bounds of a mix: the Ethernet minimum, the largest IP packet in a frame, and a
// cycle that is still cheap to walk.
const (
	maxFrameBytes = ethernetBytes + 65535 + FCSBytes
	maxCycle      = 4096
)

const imixExample = "simple, 64:7,594:4,1518:1 or a genome such as aaafg"

// genome is the frame size of each letter of an IMIX genome (RFC 6985 section 4).
// Its z, the MTU, and its capitals, custom sizes, say no size by themselves.
var genome = map[rune]int{
	'a': 64, 'b': 128, 'c': 256, 'd': 512, 'e': 1024, 'f': 1280, 'g': 1518, 'h': 2112, 'i': 9000, 'j': 16000,
}

// ParseIMIX parses a mix of frame sizes (FCS included) and returns its cycle in
// the order written, 4096 frames at most. It reads sizes with or without counts
// (64:7,594:4,1518:1 or 7x64,4x594,1518), a genome of RFC 6985 (aaafg or
// "IMIX - aaafg"), and the name simple, which is 64:7,594:4,1518:1.
func ParseIMIX(s string) ([]int, error) {
	mix := strings.TrimPrefix(s, "IMIX - ")
	if mix == "simple" {
		mix = "64:7,594:4,1518:1"
	}
	if strings.Trim(mix, "abcdefghij") == "" {
		return parseGenome(s, mix)
	}
	var cycle []int
	for part := range strings.SplitSeq(mix, ",") {
		size, count, err := parsePart(part)
		if err != nil {
			return nil, fmt.Errorf("%q is not a mix of frame sizes; write %s", s, imixExample)
		}
		if size < MinFrameBytes || size > maxFrameBytes {
			return nil, fmt.Errorf("%q: a frame has %d to %d bytes with its FCS, not %d", s, MinFrameBytes, maxFrameBytes, size)
		}
		if count == 0 || count > maxCycle-uint64(len(cycle)) {
			return nil, fmt.Errorf("%q: a mix has 1 to %d frames of each size and in all; write %s", s, maxCycle, imixExample)
		}
		for range count {
			cycle = append(cycle, int(size))
		}
	}
	return cycle, nil
}

// parsePart parses SIZE, SIZE:COUNT or COUNTxSIZE.
func parsePart(s string) (size, count uint64, err error) {
	sizeText, countText, counted := strings.Cut(s, ":")
	if !counted {
		countText, sizeText, counted = strings.Cut(s, "x")
	}
	if !counted {
		sizeText, countText = s, "1"
	}
	if size, err = strconv.ParseUint(sizeText, 10, 32); err != nil {
		return 0, 0, err
	}
	count, err = strconv.ParseUint(countText, 10, 32)
	return size, count, err
}

func parseGenome(s, letters string) ([]int, error) {
	if letters == "" || len(letters) > maxCycle {
		return nil, fmt.Errorf("%q: a mix has 1 to %d frames; write %s", s, maxCycle, imixExample)
	}
	cycle := make([]int, 0, len(letters))
	for _, letter := range letters {
		cycle = append(cycle, genome[letter])
	}
	return cycle, nil
}
