package bpf

import (
	"errors"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// attachXDP attaches a program to an interface in one mode. The error is EBUSY where
// there is another one, in whatever mode, which stays.
func attachXDP(ifindex int, p *ebpf.Program, mode link.XDPAttachFlags) (link.Link, error) {
	l, err := link.AttachXDP(link.XDPOptions{Program: p, Interface: ifindex, Flags: mode})
	if errors.Is(err, unix.EEXIST) { // it is there in the other mode
		err = unix.EBUSY
	}
	return l, err
}
