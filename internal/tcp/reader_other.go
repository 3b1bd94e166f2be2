//go:build !linux

package tcp

import (
	"net"

	"linerate/internal/probe"
)

func newReader(conn *net.TCPConn, verify *probe.Pattern) (reader, error) {
	return newVerifier(conn, verify), nil
}

// wakeRarely does nothing here.
func wakeRarely(*net.TCPConn) error { return nil }
