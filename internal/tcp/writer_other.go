//go:build !linux

package tcp

import (
	"errors"
	"fmt"
	"net"
	"runtime"
)

func newFileWriter(*net.TCPConn, []byte) (writer, error) {
	return nil, fmt.Errorf("zero copy on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

// keepUnsent does nothing here.
func keepUnsent(*net.TCPConn) error { return nil }
