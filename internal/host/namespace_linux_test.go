package host

import (
	"os"
	"runtime"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"linerate/internal/lab"
)

// enterLab makes a lab and moves the test's goroutine into its host a: 10.77.0.1
// and fd77::1 on eth0, with b at 10.77.0.2 and fd77::2. The goroutine's thread
// is never given back: it ends with the test.
func enterLab(t *testing.T) *lab.Lab {
	t.Helper()
	l, err := lab.New(lab.Config{})
	must(t, err)
	t.Cleanup(func() { must(t, l.Close()) })
	var ns netns.NsHandle
	must(t, l.A().Do(func() (err error) {
		ns, err = netns.Get()
		return err
	}))
	defer ns.Close()
	runtime.LockOSThread()
	must(t, netns.Set(ns))
	return l
}

func eth0(t *testing.T) *Link {
	t.Helper()
	l, err := LinkByName("eth0")
	must(t, err)
	return l
}

// addAddr gives eth0 an address that is usable at once.
func addAddr(t *testing.T, cidr string, flags int) {
	t.Helper()
	addr, err := netlink.ParseAddr(cidr)
	must(t, err)
	addr.Flags = flags | unix.IFA_F_NODAD
	if flags&unix.IFA_F_DEPRECATED != 0 {
		addr.ValidLft = 3600 // with a preferred lifetime of 0
	}
	must(t, netlink.AddrAdd(&netlink.Device{LinkAttrs: netlink.LinkAttrs{Name: "eth0", Index: eth0(t).Index}}, addr))
}

// sysctl sets a value of the thread's namespace.
func sysctl(t *testing.T, name, value string) {
	t.Helper()
	must(t, os.WriteFile("/proc/sys/net/"+name, []byte(value), 0))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
