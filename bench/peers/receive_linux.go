package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"time"

	"linerate/bench/peer"
	"linerate/internal/lab"
	"linerate/internal/result"
	"linerate/rx"
)

// pair is a sender that sends 64-byte frames as fast as it can and a receiver that
// counts all that it can, on this machine's processors.
type pair struct {
	name     string
	run      func(l *lab.Lab, binary string) (*received, error)
	received []*received
	failed   error
}

// received is what one run of a pair came to.
type received struct {
	pps, lost   float64  // lost is a share of what was sent
	nsPerPacket *float64 // of the receiver's threads; nil if unknown
}

// receive measures all pairs.
func receive(l *lab.Lab, rounds int, binary string) ([]*pair, error) {
	pairs := []*pair{{name: "iperf3 -u -b 0", run: iperf3Pair}}
	for _, path := range rx.Names() {
		pairs = append(pairs, linerate("packet", path))
	}
	for _, path := range []string{"udp", "afxdp", "ebpf"} {
		pairs = append(pairs, linerate("xdp", path))
	}
	for round := range rounds {
		for i := range pairs {
			p := pairs[(i+round)%len(pairs)]
			if p.failed != nil {
				continue
			}
			fmt.Fprintf(os.Stderr, "round %d of %d: %s\n", round+1, rounds, p.name)
			r, err := p.run(l, binary)
			if err != nil {
				p.failed = err
				continue
			}
			p.received = append(p.received, r)
		}
	}
	return pairs, nil
}

// together runs a receiver in host b and a sender in host a until the sender ends,
// and returns what each printed.
func together(l *lab.Lab, receiver, sender *exec.Cmd) (received, sent []byte, err error) {
	var in, out bytes.Buffer
	receiver.Stdout, sender.Stdout = &in, &out
	end, err := l.B().Background(receiver)
	if err != nil {
		return nil, nil, err
	}
	time.Sleep(warmUp)
	err = l.A().Run(sender)
	end(2 * time.Second)
	return in.Bytes(), out.Bytes(), err
}

// linerate is a pair of our paths.
func linerate(path, rxPath string) *pair {
	return &pair{name: "linerate " + path + " to " + rxPath, run: func(l *lab.Lab, binary string) (*received, error) {
		to := fmt.Sprintf("%s:%d", l.B().Addr4, peer.Port)
		out, _, err := together(l, exec.Command(binary, "recv", to, "--rx", rxPath, "--json"),
			exec.Command(binary, "send", to, "--path", path, "--rate", "max", "--frame", "64", "-t", fmt.Sprint(2*window)))
		if err != nil {
			return nil, err
		}
		var rep result.Report
		if err := json.Unmarshal(out, &rep); err != nil {
			return nil, err
		}
		r := rep.Receiver
		if r == nil || r.ArrivedPackets == nil || r.LossRatio == nil || r.Unique == 0 {
			return nil, fmt.Errorf("counted nothing%s", complaint("linerate: "+rep.Error))
		}
		return &received{pps: float64(r.Unique) / r.Seconds, lost: *r.LossRatio, nsPerPacket: r.NSPerPacket}, nil
	}}
}

// iperf3Pair is iperf3 at both ends.
func iperf3Pair(l *lab.Lab, _ string) (*received, error) {
	port := fmt.Sprint(peer.Port)
	_, out, err := together(l, exec.Command("iperf3", "-s", "-1", "-p", port),
		exec.Command("iperf3", "-c", l.B().Addr4.String(), "-p", port, "-u", "-b", "0", "-l", "18", "-t", fmt.Sprint((2*window).Seconds()), "-J"))
	if err != nil {
		return nil, err
	}
	var said struct {
		End struct {
			Sum struct {
				Seconds float64
				Packets uint64
				Lost    uint64 `json:"lost_packets"`
			}
		}
	}
	if err := json.Unmarshal(out, &said); err != nil {
		return nil, err
	}
	s := said.End.Sum
	if s.Packets == 0 || s.Seconds == 0 {
		return nil, fmt.Errorf("counted nothing")
	}
	return &received{pps: float64(s.Packets-s.Lost) / s.Seconds, lost: float64(s.Lost) / float64(s.Packets)}, nil
}

// documentPairs prints what was received.
func documentPairs(pairs []*pair, rounds int) {
	fmt.Printf("\n## Receiving 64-byte frames\n\n")
	fmt.Printf("Packets a second that were counted while a sender sent all it could for %v; medians of %d interleaved\n"+
		"rounds. ns per packet is the processor time of the receiver's own threads; what the kernel does before them,\n"+
		"and so the program of `ebpf`, is not in it. `packet` sends less than `afxdp` and `ebpf` can take: what is sent\n"+
		"by `xdp` shows the most of those, and of `udp` beside them.\n\n", 2*window, rounds)
	fmt.Printf("| pair | kpps counted | lost | ns per packet | × iperf3 |\n|---|---:|---:|---:|---:|\n")
	var base float64
	for _, p := range pairs {
		if len(p.received) == 0 {
			fmt.Printf("| %s | %v | - | - | - |\n", p.name, p.failed)
			continue
		}
		var pps, lost, ns []float64
		for _, r := range p.received {
			pps, lost = append(pps, r.pps), append(lost, r.lost)
			if r.nsPerPacket != nil {
				ns = append(ns, *r.nsPerPacket)
			}
		}
		if base == 0 && p == pairs[0] {
			base = middle(pps)
		}
		ratio, cost := "-", "-"
		if base > 0 {
			ratio = fmt.Sprintf("%.2f", middle(pps)/base)
		}
		if len(ns) == len(pps) {
			cost = fmt.Sprintf("%.0f", middle(ns))
		}
		fmt.Printf("| %s | %.0f | %.2f %% | %s | %s |\n", p.name, middle(pps)/1e3, 100*middle(lost), cost, ratio)
	}
}
