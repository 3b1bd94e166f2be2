//go:build !linux

package lab

import (
	"errors"
	"os/exec"
	"time"
)

var errUnsupported = errors.New("lab: needs Linux: network namespaces, veth and eBPF")

type (
	namespace struct{}
	middle    struct{}
)

// New fails: a lab needs Linux.
func New(Config) (*Lab, error) { return nil, errUnsupported }

// Close fails: a lab needs Linux.
func (l *Lab) Close() error { return errUnsupported }

// Impaired fails: a lab needs Linux.
func (l *Lab) Impaired() (forward, reverse ImpairCounts, err error) {
	return forward, reverse, errUnsupported
}

// ShapeDrops fails: a lab needs Linux.
func (l *Lab) ShapeDrops() (forward, reverse uint64, err error) { return 0, 0, errUnsupported }

// SetOutage fails: a lab needs Linux.
func (l *Lab) SetOutage(bool) error { return errUnsupported }

// Do fails: a lab needs Linux.
func (h *Host) Do(func() error) error { return errUnsupported }

// Start fails: a lab needs Linux.
func (h *Host) Start(*exec.Cmd) error { return errUnsupported }

// Run fails: a lab needs Linux.
func (h *Host) Run(*exec.Cmd) error { return errUnsupported }

// SetUp fails: a lab needs Linux.
func (h *Host) SetUp(name string, up bool) error { return errUnsupported }

// SetMTU fails: a lab needs Linux.
func (h *Host) SetMTU(name string, mtu int) error { return errUnsupported }

// SetFeatures fails: a lab needs Linux.
func (h *Host) SetFeatures(name string, features map[string]bool) error { return errUnsupported }

// Background fails: a lab needs Linux.
func (h *Host) Background(*exec.Cmd) (func(time.Duration), error) { return nil, errUnsupported }
