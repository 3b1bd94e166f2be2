// Shaped searches links of a known rate, kept by tbf and by htb, for the highest rate
// that loses nothing, and holds what is found against what the kernel counts that the
// link carries. It prints a section of bench/RESULTS.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"time"

	"linerate/bench"
	"linerate/internal/host"
	"linerate/internal/result"
	"linerate/internal/units"
)

// Settings say which links to search, and how.
type settings struct {
	shapers, paths []string
	mbps, frames   []int
	trial          time.Duration
}

const (
	near   = 0.005 // what is found may be off by so much of what the link carries
	agree  = 0.01  // two searches of one link may differ by so much
	driven = 0.98  // of its shape: a link that carries less is held up by this machine
)

func main() {
	var s settings
	shapers := flag.String("shapers", "tbf,htb", "queueing disciplines that keep the rate")
	mbps := flag.String("mbps", "10,100,500", "rates of links in Mbit/s of frames without FCS")
	frames := flag.String("frames", "64,512,1518,9018", "frame sizes in bytes with FCS")
	paths := flag.String("paths", "udp,packet", "transmit paths")
	flag.DurationVar(&s.trial, "trial", 500*time.Millisecond, "length of a trial")
	flag.Parse()
	s.shapers, s.paths = strings.Split(*shapers, ","), strings.Split(*paths, ",")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if s.mbps, err = numbers(*mbps); err == nil {
		if s.frames, err = numbers(*frames); err == nil {
			err = s.run(ctx)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "shaped:", err)
		os.Exit(1)
	}
}

// numbers parses a list.
func numbers(s string) (all []int, err error) {
	for _, field := range strings.Split(s, ",") {
		n, err := strconv.Atoi(field)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q: want whole numbers with commas between", s)
		}
		all = append(all, n)
	}
	return all, nil
}

func (s *settings) run(ctx context.Context) error {
	fmt.Printf("## Search of shaped links\n\nMade by `make bench-search` on %s, %s, %d processors, %s; trials of %v.\n\n",
		time.Now().UTC().Format("2006-01-02"), host.Kernel(), runtime.NumCPU(), runtime.Version(), s.trial)
	fmt.Printf("Each link carries so many Mbit/s of frames without FCS. What it carries in fact is the median of what\n"+
		"the kernel counts at its end in windows of %v while it is overloaded by %.1f times, before the\n"+
		"searches; after them it is counted again. Each path searches twice. A link that carries less than\n"+
		"%.0f %% of its shape is held up by this machine and is not searched. Nor is a path held against a\n"+
		"link that it can't fill: where no trial below what the link carries lost a packet, but the sender\n"+
		"fell short of the rate.\n\n", window, overload, 100*driven)
	fmt.Printf("| shaper | Mbit/s | frame | carried pps | of the shape | counted again | path | found, both times | apart | trials | within %.1f %% and %.0f %% |\n"+
		"|---|---:|---:|---:|---:|---:|---|---:|---:|---:|---|\n", 100*near, 100*agree)
	for _, shaper := range s.shapers {
		for _, mbps := range s.mbps {
			for _, frame := range s.frames {
				if err := s.link(ctx, shaper, mbps, frame); err != nil {
					return fmt.Errorf("%s, %d Mbit/s, %d-byte frames: %w", shaper, mbps, frame, err)
				}
			}
		}
	}
	return nil
}

// link searches one link by all paths, and prints a row for each.
func (s *settings) link(ctx context.Context, shaper string, mbps, frame int) error {
	k, err := newLink(shaper, mbps, frame)
	if err != nil {
		return err
	}
	defer k.Close()
	carries, err := k.carried(ctx)
	if err != nil {
		return err
	}
	head := fmt.Sprintf("| %s | %d | %d | %.1f | %.2f %%", shaper, mbps, frame, carries, 100*carries/k.shape)
	if carries < driven*k.shape {
		fmt.Printf("%s | - | - | this machine drives it no faster | - | - | - |\n", head)
		return nil
	}
	var rows []string
	for _, path := range s.paths {
		var found [2]float64
		trials, slow := 0, false
		for i := range found {
			row, err := s.search(ctx, k, path)
			if err != nil {
				return fmt.Errorf("path %s: %w", path, err)
			}
			found[i] = row.Receiver.Rate.PPS/carries - 1
			trials += len(row.Trials)
			slow = slow || outrun(row, carries)
		}
		apart := math.Abs(found[1] - found[0])
		holds := "yes"
		switch {
		case max(math.Abs(found[0]), math.Abs(found[1])) <= near && apart <= agree:
		case slow:
			holds = "this machine sends no faster by it"
		default:
			holds = "no"
		}
		rows = append(rows, fmt.Sprintf("%s | %+.2f %%, %+.2f %% | %.2f %% | %d | %s |", path, 100*found[0], 100*found[1], 100*apart, trials, holds))
	}
	again, err := k.carried(ctx)
	if err != nil {
		return err
	}
	for _, row := range rows {
		fmt.Printf("%s | %+.2f %% | %s\n", head, 100*(again/carries-1), row)
	}
	return nil
}

// outrun says whether it was the sender alone that failed, in every trial that failed
// between what was found and what the link carries.
func outrun(row *result.Row, carries float64) bool {
	found, fell := row.Receiver.Rate.PPS, false
	for _, t := range row.Trials {
		if t.Again || t.Offered.PPS <= found || t.Offered.PPS > carries {
			continue
		}
		if t.Lost > 0 {
			return false
		}
		fell = fell || t.Shortfall > 0
	}
	return fell
}

// search finds the highest rate by which nothing is lost.
func (s *settings) search(ctx context.Context, k *link, path string) (*result.Row, error) {
	c := &bench.Search{
		Run: bench.LabRunner(k.Lab, false, path), Frames: []int{k.frame}, Method: bench.MLRsearch, Trial: s.trial,
		Most:    units.Rate{Unit: units.Packets, Micro: uint64(overload * k.shape * units.MicrosPerUnit)},
		Started: func(*result.Report, time.Duration) {}, Progress: func(string) {},
	}
	rep, err := c.Search(ctx)
	if err != nil {
		return nil, err
	}
	row := &rep.Results[0]
	switch {
	case row.Receiver == nil:
		return nil, fmt.Errorf("nothing was found: %s", row.Found.Reason)
	case row.Receiver.Lost != 0:
		return nil, fmt.Errorf("what was found lost %d packets", row.Receiver.Lost)
	}
	return row, nil
}
