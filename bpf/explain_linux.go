package bpf

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// explain says in one line what could not be done, and what a refusal is for. The
// library's own account of one names every step on the way there.
func explain(what string, err error) error {
	var rejected *ebpf.VerifierError
	switch {
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("bpf: %s: %w (needs CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN, or root; a kernel in lockdown refuses root, too)", what, unix.EPERM)
	case errors.Is(err, unix.EACCES) && errors.As(err, &rejected):
		// The verifier allows less without it. It may have another reason: its last words.
		return fmt.Errorf("bpf: %s: %w: %s (needs CAP_PERFMON, or root)", what, unix.EACCES, lastWords(rejected))
	case errors.Is(err, unix.EBUSY):
		return fmt.Errorf("bpf: %s: %w (another program holds the interface; see bpftool net)", what, err)
	}
	return fmt.Errorf("bpf: %s: %w", what, err)
}

// lastWords is where the verifier says what it does not allow: before its sums.
func lastWords(e *ebpf.VerifierError) string {
	if n := len(e.Log); n > 1 {
		return e.Log[n-2]
	}
	return "no reason given"
}
