package peer

import (
	"fmt"
	"os/exec"
	"strconv"
)

// What the paced programs send: 100 Mbit/s of 1470-byte datagrams, as iperf counts.
const (
	PacedBits    = 100_000_000
	PacedPayload = 1470
	PacedFrame   = PacedPayload + 18 + 28
)

// PacedPPS is that in whole packets, for programs that take no other rate.
const PacedPPS = (PacedBits + PacedPayload*4) / (PacedPayload * 8)

// Paced are the peers, each sending at that rate.
func Paced() []Program {
	return []Program{
		{
			Name:   "iperf3 -b 100M",
			Server: func() *exec.Cmd { return exec.Command("iperf3", "-s", "-p", fmt.Sprint(Port)) },
			Send: func(t *Target) (*exec.Cmd, error) {
				return exec.Command("iperf3", "-c", t.Addr.String(), "-p", fmt.Sprint(Port), "-u", "-b", "100M", "-t", "60", "-l", t.payload()), nil
			},
		},
		{
			Name: "iperf -b 100m",
			Send: func(t *Target) (*exec.Cmd, error) {
				return exec.Command("iperf", "-c", t.Addr.String(), "-p", fmt.Sprint(Port), "-u", "-b", "100m", "-t", "60", "-l", t.payload()), nil
			},
		},
		{
			Name: fmt.Sprintf("trafgen -b %dpps", PacedPPS),
			Send: func(t *Target) (*exec.Cmd, error) {
				cmd, err := trafgen(t)
				if err == nil {
					cmd.Args = append(cmd.Args, "--rate", fmt.Sprintf("%dpps", PacedPPS))
				}
				return cmd, err
			},
		},
		{
			Name: fmt.Sprintf("tcpreplay --pps %d", PacedPPS),
			Send: func(t *Target) (*exec.Cmd, error) {
				file, err := capture(t)
				return exec.Command("tcpreplay", "-q", "-K", "--pps", strconv.Itoa(PacedPPS), "--loop", "1000000", "-i", t.Interface, file), err
			},
		},
	}
}

// LinerateAt is one of our paths at a rate.
func LinerateAt(path, rate string, more ...string) Program {
	return Program{
		Name: "linerate " + path,
		Send: func(t *Target) (*exec.Cmd, error) {
			args := append([]string{"send", fmt.Sprintf("%s:%d", t.Addr, Port), "--path", path, "--rate", rate,
				"--frame", strconv.Itoa(t.Frame), "-t", "60", "-i", "0"}, more...)
			return exec.Command(t.Linerate, args...), nil
		},
	}
}
