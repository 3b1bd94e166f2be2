// Package plan turns what was asked for and what this host has into one
// validated plan of a test: route, source, neighbour, sizes, schedule and path.
// It sends nothing to the port under test.
//
// Routes, neighbours and names are those of the calling thread's network
// namespace.
package plan

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// A UsageError is an argument that makes no sense, or not with the others, or
// not on this path.
type UsageError struct {
	Flag string // its long name without dashes; empty for a positional argument
	Msg  string
}

func (e *UsageError) Error() string {
	if e.Flag == "" {
		return e.Msg
	}
	return "--" + e.Flag + ": " + e.Msg
}

// A HostError is what this host lacks: a privilege, a kernel feature, an
// interface or a path.
type HostError struct{ Err error }

func (e *HostError) Error() string { return e.Err.Error() }
func (e *HostError) Unwrap() error { return e.Err }

// A PeerError is a peer whose name does not resolve, that can't be reached, or
// that refuses.
type PeerError struct{ Err error }

func (e *PeerError) Error() string { return e.Err.Error() }
func (e *PeerError) Unwrap() error { return e.Err }

// OpenError says whose fault it is that a path did not open. What is neither
// this host's nor the peer's, such as a port in use, it returns as it is.
func OpenError(err error) error {
	err = bindError(err)
	switch {
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return &PeerError{err}
	case errors.Is(err, fs.ErrPermission), errors.Is(err, errors.ErrUnsupported),
		errors.Is(err, syscall.ENODEV), errors.Is(err, syscall.ENXIO):
		return &HostError{err}
	}
	return err
}

// bindError adds to an error of bind(2) what to do about it.
func bindError(err error) error {
	var call *os.SyscallError
	if !errors.As(err, &call) || call.Syscall != "bind" {
		return err
	}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%w (ss -tuanp shows by whom)", err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w (a port below 1024 needs CAP_NET_BIND_SERVICE)", err)
	}
	return err
}
