package session

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/lab"
	"linerate/internal/plan"
	"linerate/internal/probe"
	"linerate/internal/result"
	"linerate/internal/units"
	"linerate/rx"
)

// counts are what an impairment leaves, by its definition.
type counts struct {
	Packets, Unique, Lost, Duplicates, Reordered, Gaps, LongestGap uint64
}

// expected plays an impairment on n packets of some flows in turn, the plain way:
// a list of arrivals and a set of numbers.
func expected(n, flows uint64, i *lab.Impairment) counts {
	var c counts
	seen := make([][]bool, flows)
	for f := range seen {
		seen[f] = make([]bool, n/flows)
	}
	next := make([]uint64, flows)
	arrive := func(flow, seq uint64) {
		c.Packets++
		if seen[flow][seq] {
			c.Duplicates++
			return
		}
		seen[flow][seq] = true
		c.Unique++
		if seq < next[flow] {
			c.Reordered++
		} else {
			next[flow] = seq + 1
		}
	}
	every := func(k, of uint64) bool { return of > 0 && k%of == of-1 }
	for k := range n {
		if every(k, i.DropEvery) || i.DropFrom <= k && k < i.DropTo {
			continue
		}
		flow, seq := k%flows, k/flows
		if i.SwapEvery > 0 {
			switch seq % i.SwapEvery {
			case i.SwapEvery - 2:
				seq++
			case i.SwapEvery - 1:
				seq--
			}
		}
		arrive(flow, seq)
		if every(k, i.DupEvery) {
			arrive(flow, seq)
		}
	}
	c.Lost = n - c.Unique
	for _, seen := range seen {
		var run uint64
		for _, s := range append(seen, true) {
			if !s {
				run++
			} else if run > 0 {
				c.Gaps++
				c.LongestGap = max(c.LongestGap, run)
				run = 0
			}
		}
	}
	return c
}

func got(r *result.Receiver) counts {
	c := counts{
		Packets: r.Packets, Unique: r.Unique, Lost: r.Lost, Duplicates: r.Duplicates,
		Reordered: r.Reordered, Gaps: r.Gaps,
	}
	if r.LossBurst != nil {
		c.LongestGap = r.LossBurst.Max
	}
	return c
}

// ears is a receiver of each path at host b, all listening to the same traffic.
type ears struct {
	t    *testing.T
	done chan ear
	open int
}

type ear struct {
	path string
	rep  *result.Report
	err  error
}

type started struct{ once chan struct{} }

func (s started) Started(*result.Report)                  { close(s.once) }
func (started) Interval(*result.Report, *result.Interval) {}
func (started) Progress(string)                           {}

type deaf struct{}

func (deaf) Started(*result.Report)                    {}
func (deaf) Interval(*result.Report, *result.Interval) {}
func (deaf) Progress(string)                           {}

// bystanders are the paths that leave others the traffic. Only one of them can
// have the port, and is the first: over IPv4 udp, over IPv6 gro.
func bystanders(v6 bool) (paths []string) {
	other := map[bool]string{false: "gro", true: "udp"}[v6]
	for _, p := range rx.Paths {
		if !p.Takes && p.Name != other {
			paths = append(paths, p.Name)
		}
	}
	return paths
}

// listen opens a receiver of each path at b, one after another; of all bystanders
// if none is named.
func listen(t *testing.T, l *lab.Lab, v6 bool, change func(*plan.RecvRequest), paths ...string) *ears {
	t.Helper()
	if paths == nil {
		paths = bystanders(v6)
	}
	e := &ears{t: t, done: make(chan ear, len(paths))}
	for _, name := range paths {
		open := started{make(chan struct{})}
		go func() {
			var rep *result.Report
			err := l.B().Do(func() error {
				r := plan.RecvRequest{
					Addr: addr(l.B(), v6), Port: 5201, RX: name, Window: 64 << 20, Iface: l.B().Interface,
					Silence: 20 * time.Second, Drain: 150 * time.Millisecond,
				}
				if change != nil {
					change(&r)
				}
				p, err := plan.ResolveReceive(context.Background(), r)
				if err != nil {
					return err
				}
				rep, err = Receive(context.Background(), p, "test", open)
				return err
			})
			e.done <- ear{name, rep, err}
		}()
		select {
		case <-open.once:
			e.open++
		case end := <-e.done:
			t.Fatalf("receiver %s: %v", end.path, end.err)
		}
	}
	return e
}

// hear waits until all receivers are done.
func (e *ears) hear() map[string]*result.Report {
	e.t.Helper()
	reports := map[string]*result.Report{}
	for range e.open {
		select {
		case end := <-e.done:
			if end.err != nil {
				e.t.Errorf("receiver %s: %v", end.path, end.err)
			}
			reports[end.path] = end.rep
		case <-time.After(60 * time.Second):
			e.t.Fatal("a receiver hangs")
		}
	}
	return reports
}

func addr(h *lab.Host, v6 bool) string {
	if v6 {
		return h.Addr6.String()
	}
	return h.Addr4.String()
}

// speak sends from a to b.
func speak(t *testing.T, l *lab.Lab, v6 bool, r plan.SendRequest) *result.Report {
	t.Helper()
	return speakTo(t, l, v6, r, deaf{})
}

func speakTo(t *testing.T, l *lab.Lab, v6 bool, r plan.SendRequest, o Observer) *result.Report {
	t.Helper()
	r.Host, r.Port, r.Window, r.Pattern = addr(l.B(), v6), 5201, 4<<20, pattern(t, "ramp")
	var rep *result.Report
	err := l.A().Do(func() error {
		p, err := plan.ResolveSend(context.Background(), r)
		if err != nil {
			return err
		}
		rep, err = Send(context.Background(), p, "test", o)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// magic spares end markers from what is done to datagrams.
const magic = probe.MagicData

func pattern(t *testing.T, name string) probe.Pattern {
	t.Helper()
	p, err := probe.ParsePattern(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func mustRate(t *testing.T, s string) units.Rate {
	t.Helper()
	r, err := units.ParseRate(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// packets is how many packets an exactness test sends: 1,000,000 in the long form.
func packets(t *testing.T) uint64 {
	if s := os.Getenv("LINERATE_EXACT_PACKETS"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return 30_000
}

// Whatever a wire does is reported to the packet: a duplicate makes up for no loss
// (BC-005), and what is lost at the end, or all that was sent, is lost (BC-007).
func TestImpairmentsAreReportedExactly(t *testing.T) {
	n := packets(t)
	together := lab.Impairment{DropEvery: 1000, DupEvery: 777, DropFrom: 10_000, DropTo: 15_000, SwapEvery: 100}
	impairments := []struct {
		name string
		lab.Impairment
	}{
		{"every 1000th dropped", lab.Impairment{DropEvery: 1000}},
		{"every 777th duplicated", lab.Impairment{DupEvery: 777}},
		{"a run of 5000 dropped", lab.Impairment{DropFrom: 10_000, DropTo: 15_000}},
		{"neighbours swapped", lab.Impairment{SwapEvery: 2}},
		{"together", together},
		{"the start dropped", lab.Impairment{DropTo: 5000, DupEvery: 777}},
		{"the end dropped", lab.Impairment{DropFrom: n - 5000, DropTo: math.MaxUint64, DupEvery: 777}},
		{"the end duplicated", lab.Impairment{DupEvery: n}},
		{"all dropped", lab.Impairment{DropTo: math.MaxUint64}},
	}
	for _, v6 := range []bool{false, true} {
		for _, frame := range []int{0, 1518, 9018} {
			for i, c := range impairments {
				if frame == 0 {
					frame = map[bool]int{false: 64, true: 84}[v6]
				}
				// Sockets and raw frames take different ways through the kernel.
				path := []string{"udp", "packet", "ring", "xdp"}[i%4]
				if path == "xdp" && frame == 9018 {
					path = "packet" // a page holds no such frame
				}
				t.Run(fmt.Sprintf("v6=%v/%d/%s by %s", v6, frame, c.name, path), func(t *testing.T) {
					exact(t, v6, n, c.Impairment, plan.SendRequest{Frame: frame, Path: path, Rate: mustRate(t, rateFor(frame))})
				})
			}
		}
	}
}

// A million packets of the smallest frame with everything at once.
func TestAMillionPacketsAreReportedExactly(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		t.Run(fmt.Sprintf("v6=%v", v6), func(t *testing.T) {
			exact(t, v6, 1_000_000,
				lab.Impairment{DropEvery: 1000, DupEvery: 777, DropFrom: 500_000, DropTo: 505_000, SwapEvery: 100},
				plan.SendRequest{Frame: map[bool]int{false: 64, true: 84}[v6], Path: "packet", Rate: mustRate(t, "120kpps")})
		})
	}
}

// rateFor leaves three receivers on two cores room to keep up.
func rateFor(frame int) string {
	if frame == 9018 {
		return "30kpps"
	}
	return "60kpps"
}

// exact sends n packets through an impairment and wants each receive path to
// report just what it did. On a busy machine a receiver may be taken away for
// longer than its ring or buffer lasts; it says so in its ledger, and then the
// wire was not the only one to lose packets and the run is made again.
func exact(t *testing.T, v6 bool, n uint64, i lab.Impairment, r plan.SendRequest, paths ...string) {
	t.Helper()
	i.Port, i.Magic = 5201, magic
	r.Flows = max(1, r.Flows)
	const tries = 4
	for try := 1; ; try++ {
		reports := impaired(t, v6, n, i, r, paths)
		overrun := ""
		for path, rep := range reports {
			for _, s := range rep.Ledger.Lost {
				overrun = fmt.Sprintf("%s lost %d of its own (%s)", path, s.Packets, s.Stage)
			}
		}
		if overrun != "" && try < tries {
			t.Logf("again: %s", overrun)
			continue
		}
		want := expected(n, uint64(r.Flows), &i)
		for path, rep := range reports {
			if diff := cmp.Diff(want, got(rep.Receiver)); diff != "" {
				t.Errorf("%s (-want +got):\n%s%+v", path, diff, rep.Ledger)
			}
			if r := rep.Receiver; r.LossIsLowerBound || r.Foreign != 0 || r.BeyondWindow != 0 ||
				r.LossRatio == nil || *r.LossRatio != float64(want.Lost)/float64(n) {
				t.Errorf("%s: %+v", path, r)
			}
		}
		return
	}
}

// impaired makes one run of exact and holds the wire to what it should do.
func impaired(t *testing.T, v6 bool, n uint64, i lab.Impairment, r plan.SendRequest, paths []string) map[string]*result.Report {
	t.Helper()
	l, err := lab.New(lab.Config{MTU: 9000, Impair: &i})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { t.Helper(); check(t, l.Close()) }()
	e := listen(t, l, v6, nil, paths...)
	r.Count = n
	sent := speak(t, l, v6, r)
	if sent.Sender.Packets != n {
		t.Fatalf("sent %d packets, want %d", sent.Sender.Packets, n)
	}
	reports := e.hear()
	want := expected(n, uint64(r.Flows), &i)
	done, _, err := l.Impaired()
	check(t, err)
	if done.Seen != n || done.Duplicated != want.Duplicates || done.Seen-done.Dropped != want.Unique || done.Superframes != 0 {
		t.Errorf("the wire did %+v, want %+v", done, want)
	}
	return reports
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
