// Streams measures TCP streams of linerate beside iperf3's in one lab: payload
// that arrives a second and processor time of both ends for it, all interleaved,
// medians of several rounds. It prints a section of bench/RESULTS.md.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"time"

	"linerate/internal/lab"
)

const (
	duration = 2 * time.Second
	port     = 5201
)

func main() {
	rounds := flag.Int("rounds", 5, "rounds, each of every pair")
	end := flag.String("end", "", "be one end of a pair: send, sendfile, receive or verify")
	streams := flag.Int("streams", 1, "of that end")
	flag.Parse()
	run := func() error { return compare(*rounds) }
	if *end != "" {
		run = func() error { return serve(*end, *streams) }
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "streams:", err)
		os.Exit(1)
	}
}

// A pair is a program at both ends.
type pair struct {
	name                    string
	receiver, sender        func(to string, streams int) *exec.Cmd
	arrived                 func(receiverSaid, senderSaid []byte) (bytes float64, err error)
	rate, sending, perGByte []float64 // Gbit/s; s of processor time per GB at the sender, and at both ends
}

func pairs() []*pair {
	return []*pair{
		iperf3("iperf3"), iperf3("iperf3 -Z", "-Z"),
		ours("linerate", "send", "receive"),
		ours("linerate, zero copy", "sendfile", "receive"),
		ours("linerate, each byte checked", "send", "verify"),
	}
}

func compare(rounds int) error {
	l, err := lab.New(lab.Config{})
	if err != nil {
		return err
	}
	defer l.Close()
	fmt.Printf("## TCP streams\n\nMade by `go run ./bench/streams -rounds %d`: each pair for %v into a veth pair of MTU 1500, in turn.\n"+
		"Medians; of the ratio to iperf3 in the same round also the least and the most. iperf3's receiver copies\n"+
		"each byte out of the kernel; linerate's does so only to check it.\n", rounds, duration)
	for _, streams := range []int{1, 4} {
		all := pairs()
		for round := range rounds {
			for i := range all {
				p := all[(i+round)%len(all)]
				fmt.Fprintf(os.Stderr, "round %d of %d: %s, %d streams\n", round+1, rounds, p.name, streams)
				if err := p.measure(l, streams); err != nil {
					return fmt.Errorf("%s: %w", p.name, err)
				}
			}
		}
		fmt.Printf("\n### Streams: %d\n\n| pair | Gbit/s of payload | × iperf3 | processor s per GB: sender | both ends | × iperf3 |\n"+
			"|---|---:|---:|---:|---:|---:|\n", streams)
		for _, p := range all {
			fmt.Printf("| %s | %.2f | %s | %.2f | %.2f | %s |\n", p.name, middle(p.rate), ratio(p.rate, all[0].rate),
				middle(p.sending), middle(p.perGByte), ratio(p.perGByte, all[0].perGByte))
		}
	}
	return nil
}

// measure runs a pair once.
func (p *pair) measure(l *lab.Lab, streams int) error {
	to := l.B().Addr4.String()
	receiver, sender := p.receiver(to, streams), p.sender(to, streams)
	var received, sent output
	receiver.Stdout, sender.Stdout = &received, &sent
	receiver.Stderr, sender.Stderr = os.Stderr, os.Stderr
	if err := l.B().Start(receiver); err != nil {
		return err
	}
	time.Sleep(200 * time.Millisecond) // until it listens
	if err := l.A().Run(sender); err != nil {
		return err
	}
	if err := receiver.Wait(); err != nil {
		return err
	}
	bytes, err := p.arrived(received, sent)
	if err != nil {
		return err
	}
	sending := processor(sender)
	p.rate = append(p.rate, bytes*8/duration.Seconds()/1e9)
	p.sending = append(p.sending, sending/(bytes/1e9))
	p.perGByte = append(p.perGByte, (sending+processor(receiver))/(bytes/1e9))
	return nil
}

// output keeps what a program printed.
type output []byte

func (o *output) Write(b []byte) (int, error) {
	*o = append(*o, b...)
	return len(b), nil
}

// processor is the processor time in seconds that a program took.
func processor(cmd *exec.Cmd) float64 {
	return (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
}

func ratio(values, base []float64) string {
	var ratios []float64
	for i := range values {
		ratios = append(ratios, values[i]/base[i])
	}
	return fmt.Sprintf("%.2f (%.2f to %.2f)", middle(ratios), slices.Min(ratios), slices.Max(ratios))
}

func middle(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	return s[len(s)/2]
}

func seconds() string { return strconv.Itoa(int(duration / time.Second)) }
