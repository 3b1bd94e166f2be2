//go:build !linux

package tcp

import (
	"net"

	"linerate/internal/probe"
)

func newReader(conn *net.TCPConn, verify *probe.Pattern) (reader, error) {
	return newVerifier(conn, verify), nil
}

// wakeRarely and wakeAtOnce do nothing here.
func wakeRarely(*net.TCPConn) error { return nil }
func wakeAtOnce(*net.TCPConn) error { return nil }
