package cli

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"linerate/internal/iperf2"
)

// check refuses what contradicts itself.
func (a *iperfArgs) check(f *pflag.FlagSet) error {
	modes := 0
	for _, set := range []bool{a.dual, a.tradeoff, a.reverse, a.fullDuplex} {
		if set {
			modes++
		}
	}
	switch {
	case a.server:
		if a.enhanced && !a.udp {
			return errEnhancedTCP
		}
		return nil
	case modes > 1:
		return errors.New("ERROR: options of --full-duplex, --reverse, -d and -r are mutually exclusive")
	case a.compatible && (modes > 0 || a.tripTimes):
		return errors.New("ERROR: compatibility mode not supported with the requested with options")
	case a.multicast() && a.ask.Flows > 1:
		return errors.New("ERROR: client option of -P greater than 1 not supported with multicast address")
	case a.multicast() && modes > 0:
		return errors.New("ERROR: options of --full-duplex, --reverse, -d and -r not supported with multicast addresses")
	case a.udp:
		return a.checkUDP(f)
	}
	return a.checkTCP()
}

func (a *iperfArgs) checkUDP(f *pflag.FlagSet) error {
	if a.ask.PeerDetect {
		return errors.New("ERROR: option of -X or --peer-detect not supported with -u UDP")
	}
	size := a.size()
	if a.tripTimes && size < iperf2.SmallestTimes {
		return fmt.Errorf("ERROR: payload (-l) size of %d too small for --trip-times, must be %d or greater", size, iperf2.SmallestTimes)
	}
	if f.Changed("bandwidth") {
		const longest = 60
		if a.rate.pps+a.rate.bps == 0 {
			return fmt.Errorf("ERROR: IPG delay target of inf secs too large (max value is %d secs)", longest)
		}
		gap := 1 / float64(a.rate.pps)
		if a.rate.bps > 0 {
			gap = 8 * float64(size) / float64(a.rate.bps)
		}
		if gap > longest {
			return fmt.Errorf("ERROR: IPG delay target of %.1f secs too large (max value is %d secs)", gap, longest)
		}
	}
	return nil
}

func (a *iperfArgs) checkTCP() error {
	switch {
	case a.enhanced:
		return errEnhancedTCP
	case a.rate.pps > 0:
		return errors.New("ERROR: units of pps not supported with TCP")
	case a.rate.bps > 0 && a.rate.bps/8 < uint64(a.size()):
		return fmt.Errorf("ERROR: option -b and -l of %d are incompatible, consider setting -l to %d or lower", a.size(), a.rate.bps/8)
	}
	return nil
}

// complete fills in defaults.
func (a *iperfArgs) complete() {
	if a.server {
		return
	}
	a.ask.Flows = max(a.ask.Flows, 1)
	if !a.limited {
		a.ask.Duration = iperfSeconds * time.Second
	}
	if a.ask.Port == 0 {
		a.ask.Port = a.port
	}
	if a.udp && a.rate == (iperfRate{}) {
		a.rate.bps = iperfUDPRate
	}
	if a.window > 0 && a.window < 2048 {
		a.warnings = append(a.warnings, fmt.Sprintf("WARNING: TCP window size set to %d bytes. A small window size\n"+
			"will give poor performance. See the Iperf documentation.", a.window))
	}
}

func (a *iperfArgs) mode() iperf2.Mode {
	switch {
	case a.dual:
		return iperf2.Dual
	case a.tradeoff:
		return iperf2.Tradeoff
	case a.reverse:
		return iperf2.Reverse
	case a.fullDuplex:
		return iperf2.FullDuplex
	}
	return iperf2.Forward
}

// size is the bytes of a datagram or of a write.
func (a *iperfArgs) size() int {
	switch {
	case a.ask.Size > 0:
		return a.ask.Size
	case !a.udp:
		return iperfWrite
	case a.v6:
		return iperfDatagram6
	}
	return iperfDatagram4
}

func (a *iperfArgs) multicast() bool {
	host, _, _ := strings.Cut(a.client, "%")
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsMulticast()
}

// hides says whether -x leaves a report out: C the connections, D the data, S the
// settings.
func (a *iperfArgs) hides(report string) bool {
	return strings.Contains(strings.ToUpper(a.exclude), report)
}
