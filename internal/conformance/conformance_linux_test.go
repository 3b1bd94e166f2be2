// Package conformance holds each transmit path against each receive path, as the
// tables of gen and rx have them: a path is tested by being there.
package conformance

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"linerate/gen"
	"linerate/internal/lab"
	"linerate/internal/plan"
	"linerate/internal/probe"
	"linerate/internal/result"
	"linerate/internal/session"
	"linerate/internal/units"
	"linerate/rx"
)

const packets = 300

// wires are the MTUs, and the frames with FCS that are sent over each.
var wires = []struct {
	mtu    int
	frames []int
}{
	{1500, []int{smallest, 1518}},
	{9000, []int{9018}},
}

// smallest stands for the smallest frame of an IP version.
const smallest = 0

// tagBlind are the receive paths that get what the host's IP takes: no tagged frame
// without a VLAN interface.
var tagBlind = []string{"udp", "gro"}

func TestEveryPathIntoEveryPath(t *testing.T) {
	before := descriptors(t)
	var running sync.WaitGroup // most of the time is waiting, for end markers and stragglers
	for _, wire := range wires {
		for i := range rx.Paths {
			receive := &rx.Paths[i]
			running.Go(func() {
				t.Run(fmt.Sprintf("%d/%s", wire.mtu, receive.Name), func(t *testing.T) {
					s := newStand(t, wire.mtu, receive)
					for j := range gen.Paths {
						s.receiveFrom(&gen.Paths[j], wire.frames)
					}
					s.end()
				})
			})
		}
	}
	running.Wait()
	if after := descriptors(t); after != before {
		t.Errorf("left open: %+v, before there were %+v", after, before)
	}
}

// A stand is a lab with one receive path at b.
type stand struct {
	t       *testing.T
	lab     *lab.Lab
	receive *rx.Path
	state   state
}

func newStand(t *testing.T, mtu int, receive *rx.Path) *stand {
	l, err := lab.New(lab.Config{MTU: mtu, FinishedChecksums: true})
	must(t, err)
	return &stand{t: t, lab: l, receive: receive, state: stateOf(t, l)}
}

// end wants both hosts as they were, and takes down the lab.
func (s *stand) end() {
	s.state.check(s.t, s.lab)
	must(s.t, s.lab.Close())
}

// receiveFrom sends by a path over IPv4 and IPv6, in one flow and in many, which
// are spread over threads where both paths can, tagged and untagged.
func (s *stand) receiveFrom(path *gen.Path, frames []int) {
	for _, v6 := range []bool{false, true} {
		for _, frame := range frames {
			frame = s.fitting(path, frame, v6)
			for _, flows := range []int{1, 64} {
				s.exact(path, v6, plan.SendRequest{Frame: frame, Flows: flows})
			}
			if vlan := uint16(100); path.Family == gen.Raw && !slices.Contains(tagBlind, s.receive.Name) {
				s.exact(path, v6, plan.SendRequest{Frame: frame + 4, Flows: 3, VLAN: &vlan})
			}
		}
	}
}

var limit = regexp.MustCompile(`frames up to (\d+) bytes here`)

// fitting is the frame, or the largest of a path that says that it takes no such,
// less the tag that it may get.
func (s *stand) fitting(path *gen.Path, frame int, v6 bool) int {
	if frame == smallest {
		return map[bool]int{false: 64, true: 84}[v6]
	}
	err := s.lab.A().Do(func() error {
		_, err := plan.ResolveSend(context.Background(), s.request(path, v6, plan.SendRequest{Frame: frame}))
		return err
	})
	if err == nil {
		return frame
	}
	says := limit.FindStringSubmatch(err.Error())
	if says == nil {
		s.t.Fatalf("%s, %d bytes: %v", path.Name, frame, err)
	}
	most, err := strconv.Atoi(says[1])
	must(s.t, err)
	return most - 4
}

// request completes what is to be sent.
func (s *stand) request(path *gen.Path, v6 bool, r plan.SendRequest) plan.SendRequest {
	var err error
	r.Pattern, err = probe.ParsePattern("ramp")
	must(s.t, err)
	r.Host, r.Port, r.Path, r.Window = s.listensOn(v6), 5201, path.Name, 4<<20
	r.Rate, r.Count = units.Rate{Unit: units.Max}, packets
	if r.Flows > 1 {
		r.Burst = 2
		if !path.Queue { // a veth has one
			r.Threads = 2
		}
	}
	return r
}

func (s *stand) listensOn(v6 bool) string {
	if v6 {
		return s.lab.B().Addr6.String()
	}
	return s.lab.B().Addr4.String()
}

// exact wants each packet to arrive once, in order and whole.
func (s *stand) exact(path *gen.Path, v6 bool, r plan.SendRequest) {
	t := s.t
	name := fmt.Sprintf("%s/v6=%v/%d bytes/%d flows/tag=%v", path.Name, v6, r.Frame, r.Flows, r.VLAN != nil)
	received := s.listen(v6, r.Flows)
	var sent *result.Report
	err := s.lab.A().Do(func() error {
		p, err := plan.ResolveSend(context.Background(), s.request(path, v6, r))
		if err != nil {
			return err
		}
		sent, err = session.Send(context.Background(), p, "test", observer{})
		return err
	})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	got := <-received
	if got.err != nil {
		t.Fatalf("%s: %v", name, got.err)
	}
	c := got.rep.Receiver
	if sent.Sender.Packets != packets || c.Packets != packets || c.Unique != packets || c.Lost+c.Duplicates+c.Reordered+c.BeyondWindow+c.Foreign != 0 ||
		c.LossIsLowerBound || c.PayloadBytes != sent.Sender.PayloadBytes || c.Corrupt != nil && *c.Corrupt != 0 ||
		r.Flows > 1 && len(c.Flows) != r.Flows {
		t.Errorf("%s: sent %+v, received %+v, ledger %+v", name, *sent.Sender, *c, *got.rep.Ledger)
	}
	for _, w := range got.rep.Warnings {
		if r.VLAN == nil || !tagged.MatchString(w) {
			t.Errorf("%s: %s", name, w)
		}
	}
}

var tagged = regexp.MustCompile(`^\d+ frames had a VLAN tag: id 100, priority 0$`)

type ear struct {
	rep *result.Report
	err error
}

// listen counts at b, and returns when it does.
func (s *stand) listen(v6 bool, flows int) <-chan ear {
	listening, done := make(chan struct{}), make(chan ear, 1)
	r := plan.RecvRequest{
		Addr: s.listensOn(v6), Port: 5201, RX: s.receive.Name, Iface: s.lab.B().Interface, Window: 16 << 20,
		Verify: !s.receive.InKernel, Silence: 20 * time.Second, Drain: time.Second,
	}
	var err error
	r.Pattern, err = probe.ParsePattern("ramp")
	must(s.t, err)
	if flows > 1 && s.receive.Spreads {
		r.Threads = 2
	}
	go func() {
		var rep *result.Report
		err := s.lab.B().Do(func() error {
			p, err := plan.ResolveReceive(context.Background(), r)
			if err != nil {
				return err
			}
			rep, err = session.Receive(context.Background(), p, "test", observer{listening})
			return err
		})
		done <- ear{rep, err}
	}()
	select {
	case <-listening:
	case end := <-done:
		s.t.Fatalf("%s: %v", s.receive.Name, end.err)
	}
	return done
}

// An observer tells when a test has begun.
type observer struct{ begun chan struct{} }

func (o observer) Started(*result.Report) {
	if o.begun != nil {
		close(o.begun)
	}
}
func (observer) Interval(*result.Report, *result.Interval) {}
func (observer) Progress(string)                           {}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
