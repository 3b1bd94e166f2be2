// Peers measures linerate's transmit paths beside other programs in one lab: the
// packets a second that an XDP program counts and drops at the receiving
// interface; and then its receive paths, and what iperf3 receives. All are
// interleaved, with medians of several rounds. It prints a Markdown document, which
// is recorded as bench/RESULTS.md.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"linerate/bench/peer"
	"linerate/bpf"
	"linerate/gen"
	"linerate/internal/host"
	"linerate/internal/lab"
)

const (
	warmUp = 700 * time.Millisecond // a program may first shake hands with its server
	settle = 100 * time.Millisecond // of the counter
	window = time.Second
)

func main() {
	rounds := flag.Int("rounds", 5, "rounds, each of every program at every size")
	binary := flag.String("linerate", "bin/linerate", "the binary to measure")
	flag.Parse()
	if err := run(*rounds, *binary); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// cell is one program at one frame size.
type cell struct {
	program peer.Program
	frame   int
	pps     []float64
	failed  error
}

func run(rounds int, binary string) error {
	binary, err := filepath.Abs(binary)
	if err != nil {
		return err
	}
	programs := peer.Programs()
	for _, path := range gen.Names() {
		programs = append(programs, peer.Linerate(path))
	}
	for _, path := range []string{"packet", "ring"} {
		programs = append(programs, peer.Linerate(path, "--no-gso"))
	}
	labs := map[int]*lab.Lab{}
	for _, mtu := range []int{ordinary, jumbo} {
		l, err := lab.New(lab.Config{MTU: mtu})
		if err != nil {
			return err
		}
		defer l.Close()
		labs[mtu] = l
	}
	dir, err := os.MkdirTemp("", "peers")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)

	sizes := []int{64, 1518, 9018}
	var cells []*cell
	for _, frame := range sizes {
		for _, p := range programs {
			cells = append(cells, &cell{program: p, frame: frame})
		}
	}
	for round := range rounds {
		for i := range cells {
			c := cells[(i+round)%len(cells)]
			if c.failed != nil {
				continue
			}
			fmt.Fprintf(os.Stderr, "round %d of %d: %s, %d bytes\n", round+1, rounds, c.program.Name, c.frame)
			pps, err := measure(labs[mtuFor(c.frame)], c, dir, binary)
			if err != nil {
				c.failed = err
				continue
			}
			c.pps = append(c.pps, pps)
		}
	}
	pairs, err := receive(labs[ordinary], rounds, binary)
	if err != nil {
		return err
	}
	document(sizes, cells, rounds)
	documentPairs(pairs, rounds)
	versions()
	return nil
}

// Some programs attach XDP programs that take no jumbo frames, whatever they send:
// smaller ones cross a wire of an ordinary MTU.
const ordinary, jumbo = 1500, 9000

func mtuFor(frame int) int {
	if frame > ordinary+18 {
		return jumbo
	}
	return ordinary
}

// measure runs one program for a while and counts what arrives from it.
func measure(l *lab.Lab, c *cell, dir, binary string) (pps float64, err error) {
	target := &peer.Target{
		Interface: l.A().Interface, Source: l.A().Addr4, Addr: l.B().Addr4,
		SrcMAC: l.A().MAC, DstMAC: l.B().MAC, Frame: c.frame, Dir: dir, Linerate: binary,
	}
	if c.program.Server != nil {
		end, err := l.B().Background(c.program.Server())
		if err != nil {
			return 0, err
		}
		defer end(0)
		time.Sleep(200 * time.Millisecond)
	}
	send, err := c.program.Send(target)
	if err != nil {
		return 0, err
	}
	var said strings.Builder
	send.Stdout, send.Stderr = &said, &said
	end, err := l.A().Background(send)
	if err != nil {
		return 0, err
	}
	defer end(0)
	time.Sleep(warmUp)

	var counter *bpf.Counter
	err = l.B().Do(func() error {
		link, err := host.LinkByName(l.B().Interface)
		if err != nil {
			return err
		}
		counter, err = bpf.AttachCounter(link.Index, bpf.Filter{Port: peer.Port, Drop: true})
		return err
	})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, counter.Close()) }()
	time.Sleep(settle)
	before, errBefore := counter.Load()
	begun := time.Now()
	time.Sleep(window)
	after, errAfter := counter.Load()
	elapsed := time.Since(begun).Seconds()
	if err := errors.Join(errBefore, errAfter); err != nil {
		return 0, err
	}
	n := after.Data + after.Other - before.Data - before.Other
	if n == 0 {
		end(0) // and with it what it still has to say
		return 0, fmt.Errorf("sent nothing at %d bytes%s", c.frame, complaint(said.String()))
	}
	return float64(n) / elapsed, nil
}

// complaint is the line in which a program seems to say what is wrong.
func complaint(said string) string {
	for line := range strings.Lines(said) {
		low := strings.ToLower(line)
		if strings.Contains(low, "error") || strings.Contains(low, "fail") || strings.HasPrefix(low, "linerate:") {
			return ": " + strings.ReplaceAll(strings.TrimSpace(line), "|", "/")
		}
	}
	return ""
}

// document prints what was measured, with what it was measured on.
func document(sizes []int, cells []*cell, rounds int) {
	fmt.Printf("# Transmit rates of linerate and its peers\n\n")
	fmt.Printf("Made by `go run ./bench/peers -rounds %d` on %s, %s, %d processors, %s.\n\n",
		rounds, time.Now().UTC().Format("2006-01-02"), host.Kernel(), runtime.NumCPU(), runtime.Version())
	fmt.Printf("One sending thread into a veth pair of MTU 1500, for 9018-byte frames of 9000; packets a second as\n"+
		"an XDP program on the receiving interface counts and drops them, which on a veth runs on the\n"+
		"sender's processor. Medians of %d interleaved rounds of %v, least and most in brackets. Load of\n"+
		"the machine over the last 15 minutes: %s. Read ratios: they were measured side by side.\n", rounds, window, load())
	for _, frame := range sizes {
		fmt.Printf("\n## %d-byte frames\n\n| program | kpps | Gbit/s L2 | × iperf3 |\n|---|---:|---:|---:|\n", frame)
		var base float64
		for _, c := range cells {
			if c.frame == frame && strings.HasPrefix(c.program.Name, "iperf3") && len(c.pps) > 0 {
				base = middle(c.pps)
			}
		}
		for _, c := range cells {
			if c.frame != frame {
				continue
			}
			if len(c.pps) == 0 {
				fmt.Printf("| %s | %v | - | - |\n", c.program.Name, c.failed)
				continue
			}
			pps, ratio := middle(c.pps), "-"
			if base > 0 {
				ratio = fmt.Sprintf("%.2f", pps/base)
			}
			fmt.Printf("| %s | %.0f (%.0f to %.0f) | %.3g | %s |\n", c.program.Name,
				pps/1e3, slices.Min(c.pps)/1e3, slices.Max(c.pps)/1e3, pps*float64(frame)*8/1e9, ratio)
		}
	}
}

// versions prints those of the peers.
func versions() {
	fmt.Printf("\n## Versions\n\n")
	for _, p := range peer.Programs() {
		out, err := exec.Command(p.Version[0], p.Version[1:]...).CombinedOutput()
		line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		if line == "" {
			line = fmt.Sprint(err)
		}
		fmt.Printf("- %s: %s\n", p.Name, line)
	}
}

// load is the 15 minutes' load average of /proc/loadavg.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 3 {
		return "unknown"
	}
	return fields[2]
}

func middle(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	return s[len(s)/2]
}
