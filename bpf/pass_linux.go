package bpf

import (
	"io"

	"github.com/cilium/ebpf/link"
)

// AttachPass attaches an XDP program in driver mode that lets every frame pass,
// with which a veth takes the frames that XDP sends to it. Closing the result
// detaches it.
func AttachPass(ifindex int) (io.Closer, error) {
	var objects passObjects
	if err := loadPassObjects(&objects, nil); err != nil {
		return nil, explain("load XDP pass program", err)
	}
	defer objects.Close() // the link holds the program
	l, err := attachXDP(ifindex, objects.Pass, link.XDPDriverMode)
	if err != nil {
		return nil, explain("attach XDP pass program in driver mode (Linux 5.18 or later)", err)
	}
	return l, nil
}
