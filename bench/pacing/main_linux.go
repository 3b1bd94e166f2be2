// Pacing measures how exactly linerate holds a rate, beside other programs, by when
// packets come to an XDP program on the receiving interface of a lab. It prints a
// section of bench/RESULTS.md.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"linerate/bench/peer"
	"linerate/internal/host"
	"linerate/internal/lab"
)

func main() {
	seconds := flag.Float64("seconds", 10, "length of a run")
	binary := flag.String("linerate", "bin/linerate", "the binary to measure")
	rates := flag.String("rates", "1000,100000", "packets a second at which each path is measured at each size, besides near its most; none leaves that out")
	frames := flag.String("frames", "64,1518,9018", "frame sizes in bytes with FCS")
	beside := flag.Bool("beside", true, "measure beside a busy process and a busy thread, too")
	flag.Parse()
	if err := run(*seconds, *binary, *rates, *frames, *beside); err != nil {
		fmt.Fprintln(os.Stderr, "pacing:", err)
		os.Exit(1)
	}
}

func run(seconds float64, binary, rates, frames string, beside bool) error {
	pps, err := numbers(rates)
	if err != nil {
		return err
	}
	sizes, err := numbers(frames)
	if err != nil {
		return err
	}
	b := bench{length: time.Duration(seconds * float64(time.Second))}
	if b.linerate, err = filepath.Abs(binary); err != nil {
		return err
	}
	if b.lab, err = lab.New(lab.Config{MTU: 9000}); err != nil {
		return err
	}
	defer b.lab.Close()
	if b.dir, err = os.MkdirTemp("", "pacing"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)

	b.head()
	if len(pps) > 0 {
		b.longRun(pps, sizes)
	}
	b.gaps()
	if !beside {
		return nil
	}
	return b.neighbours()
}

// head says what was measured on what, and how the machine treats an idle thread.
func (b *bench) head() {
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		load = []byte("unknown")
	}
	fmt.Printf("## Pacing\n\nMade by `make bench-pace` on %s, %s, %d processors, %s; runs of %v; load average before: %s.\n\n",
		time.Now().UTC().Format("2006-01-02"), host.Kernel(), runtime.NumCPU(), runtime.Version(), b.length, strings.TrimSpace(string(load)))
	fmt.Printf("Arrivals are stamped by an XDP program on the receiving end of a veth pair. Long-run errors are\n"+
		"slopes of the earliest arrivals between the first and the last part of a run. Each path is\n"+
		"measured at fixed rates, and at %.0f %% of the most that it sends at that size.\n\n"+
		"Beside the worst windows stand the worst of those in which the machine left the sender alone: in\n"+
		"which its thread had its processor whenever it was ready to run, but for 1/%.0f of the time, nothing was\n"+
		"stolen (which is told in steps of 10 ms: less goes unseen), and nothing of an earlier window was\n"+
		"left to be made up for. Near a path's most the core has to be as fast as usual, too: a hypervisor may\n"+
		"have another machine share it, as two hardware threads do, which no counter tells. So the XDP program,\n"+
		"which runs on the sender's core, times a fixed piece of work each ms, of which no more than 1 in %.0f\n"+
		"may take %.0f %% longer than usual. Unseen goes also what the Go runtime takes: it has a thread that never\n"+
		"sleeps give up its processor for a moment, again and again, and for longer where the thread that is to\n"+
		"hand it back has to wait for the other processor. The last column is for how long the sender's thread\n"+
		"was ready and others had the processor (on which the receiving end works, too), and\n"+
		"what the hypervisor gave to others of all processors.\n\n", 100*share, 1/littleWaited, 1/littleSlowed, 100*slowed-100)
	b.idle()
}

func (b *bench) idle() {
	r := spin(b.length)
	fmt.Printf("A thread that only looks at the clock was away %d times, for %.3g %% of the time, up to %v.\n\n",
		r.times, 100*r.away.Seconds()/r.length.Seconds(), r.longest.Round(time.Microsecond))
}

// share of the most that a path sends, at which it is measured besides.
const share = 0.8

// longRun measures each path at each size, at each rate and near its most.
func (b *bench) longRun(rates, sizes []int) {
	fmt.Printf("### Long-run rate error\n\n| path | frame | asked kpps | error ppm | worst 1 s | left alone | worst 100 ms | left alone | kept from the processor |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, path := range []string{"udp", "packet", "ring", "afxdp", "xdp"} {
		for _, frame := range sizes {
			for _, pps := range rates {
				b.longRunOf(path, frame, pps, 0)
			}
			most, err := b.most(path, frame)
			if err != nil {
				fmt.Printf("| %s | %d | - | %s | - | - | - | - | - |\n", path, frame, brief(err))
				continue
			}
			b.longRunOf(path, frame, 1000*int(share*most/1000), trialsMost)
		}
	}
	fmt.Println()
}

// most is how many packets a second come where a path sends all it can.
func (b *bench) most(path string, frame int) (pps float64, err error) {
	brief := *b
	brief.length = time.Second
	const above = 8e6 // what any path sends, for the memory of the stamps
	a, err := brief.measure(peer.LinerateAt(path, "max"), frame, above, 0)
	if err != nil {
		return 0, err
	}
	n := len(a.at)
	return float64((n-1)*a.every) * 1e9 / float64(a.at[n-1]-a.at[0]), nil
}

// longRunOf measures one, and with so many trials of the core, on which its speed depends
// near a path's most.
func (b *bench) longRunOf(path string, frame, pps, trials int) {
	row := fmt.Sprintf("| %s | %d | %g |", path, frame, float64(pps)/1e3)
	a, err := b.measure(peer.LinerateAt(path, fmt.Sprintf("%dpps", pps)), frame, float64(pps), trials)
	if err != nil {
		fmt.Printf("%s %s | - | - | - | - | - |\n", row, brief(err))
		return
	}
	nominal := 1e9 / float64(pps)
	seconds, tenths := a.windows(long, nominal), a.windows(short, nominal)
	fmt.Printf("%s %+.3f | %s | %s | %s | %s | %v |\n", row, a.slopeError(nominal),
		worst(seconds), worstAlone(seconds), worst(tenths), worstAlone(tenths), a.away())
}

// gaps measures those of single packets, beside other programs.
func (b *bench) gaps() {
	fmt.Printf("### Gaps\n\n| program | kpps | nominal µs | p50 | p99 | p99.9 | max | within 10 %% | median deviation | longest run |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	const paced = float64(peer.PacedBits) / (8 * peer.PacedPayload)
	for _, p := range append(peer.Paced(), peer.LinerateAt("packet", "100M"), peer.LinerateAt("udp", "100M")) {
		b.gapsOf(p, peer.PacedFrame, paced)
	}
	for _, path := range []string{"packet", "udp"} {
		b.gapsOf(peer.LinerateAt(path, "10kpps"), 1518, 10_000)
		b.gapsOf(peer.LinerateAt(path, "100kpps"), 64, 100_000)
	}
	b.gapsOf(peer.LinerateAt("xdp", "1Mpps"), 64, 1_000_000)
	fmt.Println()
}

func (b *bench) gapsOf(p peer.Program, frame int, pps float64) {
	nominal := 1e9 / pps
	row := fmt.Sprintf("| %s | %.4g | %.4g |", p.Name, pps/1e3, nominal/1e3)
	a, err := b.measure(p, frame, pps, 0)
	if err != nil {
		fmt.Printf("%s %s |\n", row, brief(err))
		return
	}
	s := a.gaps(nominal)
	us := func(ns int64) string { return fmt.Sprintf("%.3f", float64(ns)/1e3) }
	fmt.Printf("%s %s | %s | %s | %s | %.2f %% | %.3f | %d |\n", row,
		us(s.p50), us(s.p99), us(s.p999), us(s.most), 100*s.near, s.deviation/1e3, s.run)
}

// neighbours measures beside a process and a thread that keep both processors busy.
func (b *bench) neighbours() error {
	end, err := busy()
	if err != nil {
		return err
	}
	defer end()
	var stop atomic.Bool
	defer stop.Store(true)
	go func() {
		for !stop.Load() {
		}
	}()
	fmt.Printf("### Beside a busy process and a busy thread\n\n")
	b.idle()
	fmt.Printf("| path | frame | asked kpps | error ppm | worst 1 s | left alone | worst 100 ms | left alone | kept from the processor |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, path := range []string{"packet", "udp"} {
		b.longRunOf(path, 1518, 10_000, 0)
	}
	return nil
}

// numbers parses a list.
func numbers(s string) ([]int, error) {
	if s == "" {
		return nil, nil
	}
	var all []int
	for _, field := range strings.Split(s, ",") {
		n, err := strconv.Atoi(field)
		if err != nil || n < 1 {
			return nil, errors.New(strconv.Quote(s) + ": want whole numbers with commas between")
		}
		all = append(all, n)
	}
	return slices.Compact(all), nil
}

// brief is an error that fits a cell.
func brief(err error) string {
	s := strings.ReplaceAll(err.Error(), "|", "/")
	return s[:min(len(s), 120)]
}
