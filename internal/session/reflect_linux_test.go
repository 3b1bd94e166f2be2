package session

import (
	"fmt"
	"testing"

	"linerate/internal/lab"
	"linerate/internal/plan"
	"linerate/internal/probe"
)

// The wire counts what comes back: each n-th probe of each flow, whichever path it
// left by, and nothing for end markers.
func TestReflectionsOnTheWire(t *testing.T) {
	const each, flows, every = 1000, 3, 10
	for _, v6 := range []bool{false, true} {
		for _, path := range []string{"udp", "packet"} {
			t.Run(fmt.Sprintf("%s/v6=%v", path, v6), func(t *testing.T) {
				l, err := lab.New(lab.Config{Reverse: &lab.Impairment{Magic: probe.MagicReflection}})
				check(t, err)
				defer func() { check(t, l.Close()) }()
				e := listen(t, l, v6, func(r *plan.RecvRequest) { r.Reflect = every }, "udp")
				speak(t, l, v6, plan.SendRequest{Path: path, Payload: 100, Flows: flows, Count: each * flows, Rate: mustRate(t, "10kpps")})
				rep := e.hear()["udp"]
				_, wire, err := l.Impaired()
				check(t, err)
				const want = flows * each / every
				if rep.Receiver.Reflected == nil || *rep.Receiver.Reflected != want || wire.Seen != want {
					t.Errorf("%v reflected, the wire saw %d, want %d", rep.Receiver.Reflected, wire.Seen, want)
				}
				if r := rep.Receiver; r.Unique != each*flows || r.Foreign != 0 {
					t.Errorf("%+v", r.ArrivedPackets)
				}
			})
		}
	}
}
