package linux

import (
	"bytes"
	"encoding/hex"
)

// parseBootID reads a UUID as the kernel prints it (RFC 9562, section 4):
// "8-4-4-4-12" hexadecimal digits and a newline.
func parseBootID(text []byte) (id [16]byte, ok bool) {
	text = bytes.TrimSuffix(text, []byte("\n"))
	if len(text) != 36 {
		return id, false
	}
	digits := make([]byte, 0, 32)
	for i, c := range text {
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return id, false
			}
		default:
			digits = append(digits, c)
		}
	}
	if _, err := hex.Decode(id[:], digits); err != nil {
		return [16]byte{}, false
	}
	return id, true
}
