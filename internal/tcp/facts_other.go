//go:build !linux

package tcp

import (
	"errors"
	"fmt"
	"net"
	"runtime"
)

// Window is unknown here.
func Window(*net.TCPConn) (send, receive int, err error) { return 0, 0, unknown("window") }

// MSS is unknown here.
func MSS(*net.TCPConn) (int, error) { return 0, unknown("MSS") }

// Congestion is unknown here.
func Congestion(*net.TCPConn) (string, error) { return "", unknown("congestion control") }

// ReadInfo is unknown here.
func ReadInfo(*net.TCPConn) (*Info, error) { return nil, unknown("TCP_INFO") }

func unknown(what string) error {
	return fmt.Errorf("%s of a connection on %s: %w", what, runtime.GOOS, errors.ErrUnsupported)
}
