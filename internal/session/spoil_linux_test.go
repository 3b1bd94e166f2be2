package session

import (
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"linerate/internal/lab"
	"linerate/internal/probe"
)

func nft(rules string) func(*testing.T, *lab.Lab) {
	return func(t *testing.T, l *lab.Lab) { t.Helper(); shell(t, l.B(), "nft -f - <<'END'\n"+rules+"\nEND") }
}

func shell(t *testing.T, h *lab.Host, script string) {
	t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := h.Run(cmd); err != nil {
		t.Errorf("%s: %v\n%s", script, err, out.String())
	}
}

// sysctl sets variables of a host below /proc/sys/net.
func sysctl(t *testing.T, h *lab.Host, settings ...string) {
	t.Helper()
	check(t, h.Do(func() error {
		for _, s := range settings {
			name, value, _ := strings.Cut(s, "=")
			if err := os.WriteFile("/proc/sys/net/"+name, []byte(value), 0); err != nil {
				return err
			}
		}
		return nil
	}))
}

// tbf narrows the sender's own interface.
func tbf(t *testing.T, l *lab.Lab) {
	t.Helper()
	shell(t, l.A(), "tc qdisc replace dev eth0 root tbf rate 20mbit burst 5000 limit 20000")
}

// unheard says that datagrams like the test's, but of another port, fill a socket
// of the receiver that nobody reads, during the test.
func unheard(t *testing.T, l *lab.Lab) {
	t.Helper()
	fd := -1
	check(t, l.B().Do(func() (err error) {
		if fd, err = unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err != nil {
			return err
		}
		return unix.Bind(fd, &unix.SockaddrInet4{Port: 6000})
	}))
	defer unix.Close(fd)
	flood(t, l, netip.AddrPortFrom(l.B().Addr4, 6000), 2000)
}

// flood sends datagrams that look like the test's to another port.
func flood(t *testing.T, l *lab.Lab, to netip.AddrPort, n int) {
	t.Helper()
	check(t, l.A().Do(func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		payload := make([]byte, 500)
		payload[0], payload[1] = probe.MagicData>>8, probe.MagicData&0xff
		for range n {
			if err := unix.Sendto(fd, payload, 0, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}); err != nil {
				return err
			}
		}
		return nil
	}))
}

func badWire(i lab.Impairment) lab.Config {
	i.Port, i.Magic = 5201, magic
	return lab.Config{Impair: &i}
}
