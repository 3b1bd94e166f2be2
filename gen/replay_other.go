//go:build !linux

package gen

import (
	"errors"
	"fmt"
)

// OpenFrames opens a sender of whole frames; only Linux has one.
func OpenFrames(*Config) (FrameSender, error) {
	return nil, fmt.Errorf("path packet: %w here: it needs Linux", errors.ErrUnsupported)
}
