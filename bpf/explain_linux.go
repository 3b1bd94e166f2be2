package bpf

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// explain says in one line what could not be done, and what a refusal is for.
func explain(what string, err error) error {
	switch {
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("bpf: %s: %w (needs CAP_BPF and CAP_NET_ADMIN, or root)", what, err)
	case errors.Is(err, unix.EBUSY):
		return fmt.Errorf("bpf: %s: %w (another program holds the interface; see bpftool net)", what, err)
	}
	return fmt.Errorf("bpf: %s: %w", what, err)
}
