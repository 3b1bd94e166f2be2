package bpf_test

import (
	"net"
	"net/netip"
	"slices"
	"testing"

	"linerate/bpf"
	"linerate/internal/lab"
)

// Of what comes, each so manieth arrival is kept, and of those each so manieth is followed
// by a trial of the core; both as far as there is room.
func TestCounterKeepsArrivalsAndTrials(t *testing.T) {
	const sent, stamps, trials = 100, 40, 12
	l := newLab(t, lab.Config{})
	var c *bpf.Counter
	inside(t, l.B(), func(index int) (err error) {
		c, err = bpf.AttachCounter(index, bpf.Filter{
			Port: testPort, EndMagic: endMagic, Drop: true, Stamps: stamps, Every: 2, Trials: trials, TrialEvery: 3,
		})
		return err
	})
	defer c.Close()
	var to *net.UDPConn
	inside(t, l.A(), func(int) (err error) {
		to, err = net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(l.B().Addr4, testPort)))
		return err
	})
	defer to.Close()
	for range sent {
		if _, err := to.Write(payload(dataMagic, 18)); err != nil {
			t.Fatal(err)
		}
	}
	at, err := c.Stamps()
	if err != nil {
		t.Fatal(err)
	}
	tried, err := c.Trials()
	if err != nil {
		t.Fatal(err)
	}
	if len(at) != stamps || !slices.IsSorted(at) || at[0] <= 0 {
		t.Errorf("%d arrivals %v, want %d", len(at), at, stamps)
	}
	if len(tried) != trials {
		t.Fatalf("%d trials, want %d", len(tried), trials)
	}
	for i, trial := range tried {
		if trial.Took <= 0 || trial.At < at[3*i] || trial.At > at[3*i+1] {
			t.Errorf("trial %d is %+v, want it between the arrivals at %d and %d", i, trial, at[3*i], at[3*i+1])
		}
	}
}
