package session

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/lab"
	"linerate/internal/plan"
	"linerate/rx"
)

// Several threads that share the flows count exactly what a wire did, as one does.
func TestThreadsCountExactly(t *testing.T) {
	const flows, n = 64, 64 * 250
	for i := range rx.Paths {
		path := &rx.Paths[i]
		if !path.Spreads {
			continue
		}
		t.Run(path.Name, func(t *testing.T) {
			wire := lab.Impairment{Port: 5201, Magic: magic, DropEvery: 1000, DupEvery: 777, DropFrom: 3000, DropTo: 8000, SwapEvery: 10}
			l, err := lab.New(lab.Config{Impair: &wire})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			e := listen(t, l, false, func(r *plan.RecvRequest) { r.Threads = 3 }, path.Name)
			sent := speak(t, l, false, plan.SendRequest{Frame: 64, Path: "packet", Flows: flows, Burst: 1, Count: n, Rate: mustRate(t, "40kpps")})
			if sent.Sender.Packets != n {
				t.Fatalf("sent %d packets, want %d", sent.Sender.Packets, n)
			}
			rep := e.hear()[path.Name]
			if rep.Config.Threads != 3 || len(rep.Receiver.Flows) != flows {
				t.Errorf("%d threads, %d flows", rep.Config.Threads, len(rep.Receiver.Flows))
			}
			if diff := cmp.Diff(expected(n, flows, &wire), got(rep.Receiver)); diff != "" {
				t.Errorf("(-want +got):\n%s%+v", diff, rep.Ledger)
			}
		})
	}
}

// Several threads send a paced test exactly, at the rate of one (BC-015), and an odd
// number of flows share it evenly (BC-021).
func TestThreadsSendExactly(t *testing.T) {
	for _, path := range []string{"udp", "packet"} {
		l, err := lab.New(lab.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		e := listen(t, l, false, nil, "ring")
		const n = 20_000
		sent := speak(t, l, false, plan.SendRequest{Payload: 100, Path: path, Flows: 7, Threads: 3, Count: n, Rate: mustRate(t, "20kpps")})
		for _, rep := range e.hear() {
			r := rep.Receiver
			if sent.Sender.Packets != n || r.Unique != n || r.Duplicates+r.Reordered != 0 || len(r.Flows) != 7 {
				t.Errorf("%s: sent %d, %+v", path, sent.Sender.Packets, r)
			}
			for _, f := range r.Flows { // in turn, one packet each
				if want := uint64(n / 7); f.Unique != want && f.Unique != want+1 {
					t.Errorf("%s: %d packets of flow %d", path, f.Unique, *f.Flow)
				}
			}
		}
	}
}
