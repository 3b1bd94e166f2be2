package host

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"linerate/internal/result"
)

// A PathState is one transmit or receive path and why it can't run here, in an
// error that names the path; nil if it can.
type PathState struct {
	Name string
	Err  error
}

// setcap gives an unprivileged linerate what every path needs.
const setcap = "sudo setcap cap_net_raw,cap_net_admin,cap_bpf,cap_perfmon+ep $(command -v linerate)"

// Doctor finds what on this host would hold a test back, and the command that
// mends it: what the paths lack, what the kernel limits and, unless iface is
// empty, how that interface is set. The error wraps ErrNoInterface if there is
// no such interface. It changes nothing.
func Doctor(iface string, tx, rx []PathState) ([]result.Finding, error) {
	var link *Link
	if iface != "" {
		var err error
		if link, err = LinkByName(iface); err != nil {
			return nil, err
		}
	}
	findings := checkPaths("paths", tx)
	findings = append(findings, checkPaths("rx paths", rx)...)
	findings = append(findings, checkBuffer("receive", "rmem_max")...)
	findings = append(findings, checkBuffer("send", "wmem_max")...)
	findings = append(findings, readMachine().check()...)
	if link != nil {
		findings = append(findings, link.check()...)
		findings = append(findings, readDelivery(link.Name).check(link.Name)...)
	}
	return findings, nil
}

func ok(format string, args ...any) result.Finding {
	return result.Finding{Level: "ok", What: fmt.Sprintf(format, args...)}
}

func warn(mend, format string, args ...any) result.Finding {
	return result.Finding{Level: "warn", What: fmt.Sprintf(format, args...), Mend: mend}
}

// checkPaths lists the paths that work and says of each other one what it
// lacks. Only a missing privilege is a warning: what a kernel or a device does
// not have spoils no test, as another path runs it.
func checkPaths(what string, paths []PathState) []result.Finding {
	var here []string
	var lacking []result.Finding
	for _, p := range paths {
		switch {
		case p.Err == nil:
			here = append(here, p.Name)
		case errors.Is(p.Err, fs.ErrPermission):
			lacking = append(lacking, warn(setcap, "%v", p.Err))
		default:
			lacking = append(lacking, ok("%v", p.Err))
		}
	}
	if len(here) == 0 {
		return lacking
	}
	return append([]result.Finding{ok("%s: %s", what, strings.Join(here, " "))}, lacking...)
}

// Socket buffers in bytes: what a test asks for, and what doctor proposes.
const (
	bufferAsked    = 4 << 20
	bufferProposed = 32 << 20
)

// checkBuffer compares a limit of /proc/sys/net/core with what a test asks for.
func checkBuffer(what, limit string) []result.Finding {
	bytes, known := coreLimit(limit)
	if !known {
		return nil
	}
	const gigabit = 1e9
	text := fmt.Sprintf("%s buffer: net.core.%s is %d KiB; at 1 Gbit/s that is %.1f ms",
		what, limit, bytes>>10, float64(bytes)*8/gigabit*1e3)
	if bytes >= bufferAsked {
		return []result.Finding{ok("%s", text)}
	}
	return []result.Finding{warn(fmt.Sprintf("sysctl -w net.core.%s=%d", limit, bufferProposed), "%s", text)}
}

// check says how a link is set.
func (l *Link) check() []result.Finding {
	if !l.Up {
		return []result.Finding{warn("ip link set dev "+l.Name+" up", "%s is down", l.Name)}
	}
	if !l.Carrier {
		return []result.Finding{warn("", "%s has no carrier: nothing is plugged in, or the other end is down", l.Name)}
	}
	findings := []result.Finding{ok("%s is up%s", l.Name, l.speed())}
	if l.Loopback {
		return findings
	}
	findings = append(findings, l.expect()...)
	if l.HalfDuplex {
		findings = append(findings, warn("ethtool -s "+l.Name+" autoneg on", "%s runs at half duplex: the other end is set to another mode", l.Name))
	}
	findings = append(findings, l.checkMTU()...)
	findings = append(findings, l.checkRings()...)
	return append(findings, l.checkOffloads()...)
}

func (l *Link) speed() string {
	if l.SpeedBps == 0 {
		return ""
	}
	return fmt.Sprintf(" at %d Mbit/s", l.SpeedBps/1_000_000)
}

// expect says what the link carries at best: frames with FCS, preamble and gap.
func (l *Link) expect() []result.Finding {
	if l.SpeedBps == 0 {
		return nil
	}
	most := func(frame int) float64 { return float64(l.SpeedBps) / float64(8*(frame+20)) }
	return []result.Finding{ok("%s carries at most %.0f packets/s in 64-byte frames and %.0f in 1518-byte ones (%.1f Mbit/s of UDP payload)",
		l.Name, most(64), most(1518), most(1518)*1472*8/1e6)}
}

// jumbo is the MTU of the largest frame in common use, 9018 bytes.
const jumbo = 9000

func (l *Link) checkMTU() []result.Finding {
	f := ok("%s MTU %d", l.Name, l.MTU)
	if l.MaxMTU > l.MTU {
		f.What += fmt.Sprintf(" of %d", l.MaxMTU)
	}
	if l.MTU < jumbo && l.MaxMTU >= jumbo {
		f.Mend = fmt.Sprintf("ip link set dev %s mtu %d", l.Name, jumbo)
	}
	findings := []result.Finding{f}
	for _, p := range l.Peers {
		if p.MTU < l.MTU {
			findings = append(findings, warn(fmt.Sprintf("ip link set dev %s mtu %d", p.Name, l.MTU),
				"%s has MTU %d, but %s, which its frames go through, %d: longer ones are lost", l.Name, l.MTU, p.Name, p.MTU))
		}
	}
	return findings
}

func (l *Link) checkRings() []result.Finding {
	if l.Rings == nil {
		return nil
	}
	var findings []result.Finding
	for _, ring := range []struct {
		name      string
		size, max int
	}{{"rx", l.Rings.RX, l.Rings.RXMax}, {"tx", l.Rings.TX, l.Rings.TXMax}} {
		text := fmt.Sprintf("%s %s ring %d of %d", l.Name, ring.name, ring.size, ring.max)
		if ring.size < ring.max {
			findings = append(findings, warn(fmt.Sprintf("ethtool -G %s %s %d", l.Name, ring.name, ring.max), "%s", text))
		} else {
			findings = append(findings, ok("%s", text))
		}
	}
	return findings
}

// checkOffloads notes the offloads that make a capture show other packets than
// the wire had. linerate's own counts see through all but LRO, which forgets
// where one packet ended.
func (l *Link) checkOffloads() []result.Finding {
	var findings []result.Finding
	if l.Offloads["rx-lro"] {
		findings = append(findings, warn("ethtool -K "+l.Name+" lro off",
			"%s lro is on: the NIC merges packets, and counts come out short", l.Name))
	}
	if l.Offloads["rx-gro"] {
		f := ok("%s gro is on: a capture here may show several packets as one", l.Name)
		f.Mend = "ethtool -K " + l.Name + " gro off"
		findings = append(findings, f)
	}
	for _, feature := range []string{"tx-checksum-ip-generic", "tx-checksum-ipv4", "tx-checksum-ipv6"} {
		if l.Offloads[feature] {
			f := ok("%s tx checksums are offloaded: a capture here shows them unfinished", l.Name)
			f.Mend = "ethtool -K " + l.Name + " tx off"
			return append(findings, f)
		}
	}
	return findings
}
