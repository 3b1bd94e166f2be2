package session

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"linerate/gen"
	"linerate/internal/lab"
	"linerate/internal/plan"
	"linerate/internal/result"
)

// BC-039: a payload that was changed on the way. With a stale checksum the host
// refuses it, and the ledger says so; with a mended one --verify finds it, and it
// is no loss.
func TestCorruptionIsNotLoss(t *testing.T) {
	for _, mended := range []bool{false, true} {
		for _, v6 := range []bool{false, true} {
			for _, payload := range []int{60, 1000} { // the kernel checks small ones on arrival, others when they are read
				const n = 2000
				l, err := lab.New(lab.Config{Impair: &lab.Impairment{Port: 5201, DropEvery: 0, CorruptEvery: 10, MendChecksum: mended, Magic: magic}})
				if err != nil {
					t.Fatal(err)
				}
				e := listen(t, l, v6, func(r *plan.RecvRequest) { r.Verify, r.Pattern = true, pattern(t, "ramp") })
				speak(t, l, v6, plan.SendRequest{Payload: payload, Path: "udp", Count: n, Rate: mustRate(t, "10kpps")})
				for path, rep := range e.hear() {
					r, led := rep.Receiver, rep.Ledger
					if mended {
						if r.Unique != n || r.Lost != 0 || *r.Corrupt != n/10 {
							t.Errorf("v6=%v %s: %d arrived, %d lost, %d corrupt; want %d arrived, %d of them corrupt", v6, path, r.Unique, r.Lost, *r.Corrupt, n, n/10)
						}
						continue
					}
					if r.Unique != n-n/10 || r.Lost != n/10 || *r.Corrupt != 0 {
						t.Errorf("v6=%v %s: %d arrived, %d lost, %d corrupt; want %d lost", v6, path, r.Unique, r.Lost, *r.Corrupt, n/10)
					}
					if (path == "udp" || path == "gro") && (led.Unexplained != 0 || len(led.Lost) != 1 || led.Lost[0].Stage != "receiver_filter" || led.Lost[0].Packets != n/10) {
						t.Errorf("v6=%v payload %d: ledger %+v, want %d at receiver_filter", v6, payload, led, n/10)
					}
				}
				check(t, l.Close())
			}
		}
	}
}

// BC-013: the right average in bursts loses packets at a small queue. Sent one by
// one, nothing is lost that the queue could have held.
func TestPacingSparesASmallQueue(t *testing.T) {
	for _, path := range gen.Names() {
		l, err := lab.New(lab.Config{Shape: lab.Shape{Rate: 50_000_000, Burst: 3 * 1514, Limit: 5 * 1514}})
		if err != nil {
			t.Fatal(err)
		}
		e := listen(t, l, false, nil)
		sent := speak(t, l, false, plan.SendRequest{Payload: 1472, Path: path, Duration: time.Second, Rate: mustRate(t, "20M")})
		for name, rep := range e.hear() {
			// A stall of this machine is repaid at 25 Mbit/s, which the link carries.
			if rep.Receiver.Lost != 0 {
				t.Errorf("%s by %s: lost %d; sender %+v", name, path, rep.Receiver.Lost, sent.Sender)
			}
		}
		check(t, l.Close())
	}
}

// BC-017: a rate that no path reaches ends on time, and the report says what was
// asked and what was given up.
func TestAnImpossibleRateEndsOnTime(t *testing.T) {
	l, err := lab.New(lab.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, path := range gen.Names() {
		begun := time.Now()
		rep := speak(t, l, false, plan.SendRequest{Frame: 64, Path: path, Duration: 500 * time.Millisecond, Rate: mustRate(t, "1T@l1")})
		if d := time.Since(begun); d > 2*time.Second {
			t.Errorf("%s: took %v", path, d)
		}
		const asked = 1e12 / 8 / 84 / 2
		if s := rep.Sender; s.Shortfall == 0 || float64(s.Packets+s.Shortfall) < asked-1 || float64(s.Packets+s.Shortfall) > asked+1 {
			t.Errorf("%s: %d sent and %d given up, want %.0f in all", path, s.Packets, s.Shortfall, asked)
		}
	}
}

// BC-057: intervals add up to the total.
func TestIntervalsAddUp(t *testing.T) {
	l, err := lab.New(lab.Config{Impair: &lab.Impairment{Port: 5201, Magic: magic, DropEvery: 100, DupEvery: 77, SwapEvery: 50}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	reports := make(chan *result.Report, 1)
	open := started{make(chan struct{})}
	go func() {
		var rep *result.Report
		check(t, l.B().Do(func() error {
			p, err := plan.ResolveReceive(context.Background(), plan.RecvRequest{
				Addr: l.B().Addr4.String(), Port: 5201, RX: "udp", Window: 32 << 20, Silence: time.Minute, Drain: 200 * time.Millisecond,
			})
			if err != nil {
				return err
			}
			p.Interval = 50 * time.Millisecond
			rep, err = Receive(context.Background(), p, "test", open)
			return err
		}))
		reports <- rep
	}()
	<-open.once
	speak(t, l, false, plan.SendRequest{Payload: 100, Path: "udp", Count: 20_000, Rate: mustRate(t, "20kpps")})
	rep := <-reports
	if rep == nil {
		t.Fatal("no report")
	}
	sum := result.Receiver{ArrivedPackets: &result.ArrivedPackets{}, Arrivals: &result.Arrivals{}}
	end := 0.0
	for _, iv := range rep.Intervals {
		if iv.StartS != end {
			t.Errorf("an interval begins at %v, the one before ended at %v", iv.StartS, end)
		}
		end = iv.EndS
		sum.Packets += iv.Receiver.Packets
		sum.PayloadBytes += iv.Receiver.PayloadBytes
		sum.Unique += iv.Receiver.Unique
		sum.Duplicates += iv.Receiver.Duplicates
		sum.Reordered += iv.Receiver.Reordered
		sum.Lost += iv.Receiver.Lost
	}
	r := rep.Receiver
	if n := len(rep.Intervals); n < 19 || n > 60 {
		t.Errorf("%d intervals of 50 ms in a second or a little more", n)
	}
	if sum.Packets != r.Packets || sum.PayloadBytes != r.PayloadBytes || sum.Unique != r.Unique ||
		sum.Duplicates != r.Duplicates || sum.Reordered != r.Reordered {
		t.Errorf("intervals sum to %+v, the total is %+v", sum, r)
	}
	// The last packet is lost, which only the end marker tells.
	if r.Lost != 200 || sum.Lost < 199 || sum.Lost > r.Lost {
		t.Errorf("intervals lost %d, the total %d", sum.Lost, r.Lost)
	}
}

// BC-079: a router that prohibits the way for a while. The test goes on and says so,
// and what came of it has one gap.
func TestARouterThatProhibits(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		t.Run(fmt.Sprintf("v6=%v", v6), func(t *testing.T) {
			t.Parallel() // it waits most of the time
			l, err := lab.New(lab.Config{Router: true})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { check(t, l.Close()) }()
			e := listen(t, l, v6, nil, "udp")
			sending, over := started{make(chan struct{})}, make(chan struct{})
			go func() {
				defer close(over)
				<-sending.once
				time.Sleep(100 * time.Millisecond)
				family := map[bool]string{false: "-4", true: "-6"}[v6]
				shell(t, l.Middle(), "ip "+family+" route add prohibit "+addr(l.B(), v6)+"; sleep 0.1; ip "+family+" route del prohibit "+addr(l.B(), v6))
			}()
			const n = 1000
			sent := speakTo(t, l, v6, plan.SendRequest{Path: "udp", Payload: 100, Count: n, Rate: mustRate(t, "1kpps")}, sending)
			<-over
			if sent.Sender.Packets != n || len(sent.Warnings) != 1 || !strings.Contains(sent.Warnings[0], "prohibited (ICMP)") {
				t.Errorf("sent %d, warned of %q, want %d and an ICMP error", sent.Sender.Packets, sent.Warnings, n)
			}
			if r := e.hear()["udp"].Receiver; r.Unique == 0 || r.Lost == 0 || r.Unique+r.Lost != n || r.Gaps != 1 || r.LossIsLowerBound {
				t.Errorf("%+v, want one gap", r)
			}
		})
	}
}
