package tcp

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"linerate/internal/lab"
	"linerate/internal/probe"
)

func TestBothEndsCountTheSameBytes(t *testing.T) {
	l := newLab(t, lab.Config{})
	pattern := ramp(t)
	for _, to := range []netip.Addr{l.B().Addr4, l.B().Addr6} {
		for _, zeroCopy := range []bool{false, true} {
			for _, verify := range []*probe.Pattern{nil, &pattern} {
				for _, bytes := range []uint64{1, 1000, DefaultLen, 3*DefaultLen + 1, 20<<20 + 7} {
					name := fmt.Sprintf("%v zerocopy=%v verify=%v %d", to, zeroCopy, verify != nil, bytes)
					t.Run(name, func(t *testing.T) {
						c := connect(t, l, to, Options{}, Options{})
						done := receive(&Receiver{Conn: c.server, Verify: verify})
						s := Sender{Conn: c.client, Pattern: pattern, Bytes: bytes, ZeroCopy: zeroCopy}
						check(t, s.Run(t.Context()))
						check(t, c.client.CloseWrite())
						r := <-done
						if s.Sent() != bytes || r.Received() != bytes || r.Corrupt() != 0 || !r.ended || r.err != nil {
							t.Errorf("sent %d, received %d of which %d corrupt, ended %v, %v",
								s.Sent(), r.Received(), r.Corrupt(), r.ended, r.err)
						}
					})
				}
			}
		}
	}
}

func TestCorruptBytesAreCounted(t *testing.T) {
	c := newLine(t, Options{}, Options{})
	pattern := ramp(t)
	b := make([]byte, 3*probe.PatternLen/2)
	for i := range b {
		b[i] = byte(i)
	}
	b[0], b[probe.PatternLen], b[len(b)-1] = b[0]+1, 1, 0
	done := receive(&Receiver{Conn: c.server, Verify: &pattern})
	_, err := c.client.Write(b)
	check(t, err)
	check(t, c.client.CloseWrite())
	if r := <-done; r.Corrupt() != 3 || r.Received() != uint64(len(b)) {
		t.Errorf("%d of %d bytes corrupt, want 3 of %d", r.Corrupt(), r.Received(), len(b))
	}
}

// A busy machine may have to give some of the rate up, but it is known how much.
func TestRateIsKept(t *testing.T) {
	for _, c := range []struct {
		rate uint64
		len  int
		want uint64 // bytes in a quarter of a second, whole blocks
	}{
		{rate: 80_000_000, want: 2_500_000},
		{rate: 2_000_000_000, want: 62_500_000 / DefaultLen * DefaultLen},
		{rate: 8_000_000, len: 3000, want: 249_000},
		{rate: 6000, want: 128},
	} {
		l := newLine(t, Options{}, Options{})
		done := receive(&Receiver{Conn: l.server})
		s := Sender{Conn: l.client, Pattern: ramp(t), Rate: c.rate, Len: c.len, Duration: 250 * time.Millisecond}
		check(t, s.Run(t.Context()))
		check(t, l.client.CloseWrite())
		if r := <-done; r.Received() != s.Sent() || r.err != nil {
			t.Errorf("received %d, %v; want the %d sent", r.Received(), r.err, s.Sent())
		}
		if s.Sent() == 0 || s.Sent()+s.Shortfall() != c.want {
			t.Errorf("%d bit/s: %d sent and %d given up, want %d", c.rate, s.Sent(), s.Shortfall(), c.want)
		}
	}
}

func TestARateIsNeverExceeded(t *testing.T) {
	const rate, bytes = 80_000_000, 4_000_000
	l := newLine(t, Options{}, Options{})
	done := receive(&Receiver{Conn: l.server})
	s := Sender{Conn: l.client, Pattern: ramp(t), Rate: rate, Bytes: bytes}
	begun := time.Now()
	check(t, s.Run(t.Context()))
	// The last block of 100 kB is due 10 ms before the end.
	if took := time.Since(begun); s.Sent() != bytes || took < 390*time.Millisecond {
		t.Errorf("%d bytes in %v, want %d in no less than 390 ms", s.Sent(), took, bytes)
	}
	check(t, l.client.CloseWrite())
	<-done
}

func TestASlowStreamIsCountedAsItArrives(t *testing.T) {
	c := newLine(t, Options{}, Options{})
	r := &Receiver{Conn: c.server}
	done := receive(r)
	for want := uint64(1); want <= 3; want++ {
		_, err := c.client.Write([]byte{0})
		check(t, err)
		for deadline := time.Now().Add(5 * time.Second); r.Received() != want; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%d of %d bytes counted after 5 s", r.Received(), want)
			}
		}
	}
	check(t, c.client.CloseWrite())
	<-done
}

func TestDurationEndsAStreamThatNobodyReads(t *testing.T) {
	for _, rate := range []uint64{0, 1e12} {
		c := newLine(t, Options{}, Options{})
		s := Sender{Conn: c.client, Pattern: ramp(t), Rate: rate, Duration: 200 * time.Millisecond}
		check(t, s.Run(t.Context()))
		check(t, c.client.CloseWrite())
		r := <-receive(&Receiver{Conn: c.server})
		if s.Sent() == 0 || r.Received() != s.Sent() || !r.ended {
			t.Errorf("rate %d: received %d, ended %v; want the %d sent", rate, r.Received(), r.ended, s.Sent())
		}
		if want := rate / 8 / 5 / DefaultLen * DefaultLen; rate > 0 && s.Sent()+s.Shortfall() != want || rate == 0 && s.Shortfall() != 0 {
			t.Errorf("rate %d: %d sent and %d given up, want %d", rate, s.Sent(), s.Shortfall(), want)
		}
	}
}

func TestDrainCountsWhatIsStillOnItsWay(t *testing.T) {
	c := newLine(t, Options{}, Options{})
	const bytes = 1 << 20
	s := Sender{Conn: c.client, Pattern: ramp(t), Bytes: bytes}
	sent := make(chan error, 1)
	go func() { sent <- s.Run(context.Background()) }()
	r := &Receiver{Conn: c.server}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ended, err := r.Run(ctx)
	if ended || err != nil {
		t.Errorf("Run = %v, %v; want false, nil of a context that ended", ended, err)
	}
	if low, err := number(c.server, unix.SOL_SOCKET, unix.SO_RCVLOWAT, "SO_RCVLOWAT"); low != 1 || err != nil {
		t.Errorf("SO_RCVLOWAT is left at %d, %v; want 1", low, err)
	}
	ended, err = r.Drain(t.Context(), time.Second)
	check(t, <-sent)
	if r.Received() != bytes || ended || err != nil {
		t.Errorf("drained %d bytes, ended %v, %v; want %d of an open stream", r.Received(), ended, err, bytes)
	}
	check(t, c.client.CloseWrite())
	if ended, err = r.Drain(t.Context(), 5*time.Second); !ended || err != nil || r.Received() != bytes {
		t.Errorf("Drain = %v, %v after %d bytes; want the end", ended, err, r.Received())
	}
}

func TestContextEndsABlockedWrite(t *testing.T) {
	for _, zeroCopy := range []bool{false, true} {
		c := newLine(t, Options{}, Options{})
		s := Sender{Conn: c.client, Pattern: ramp(t), ZeroCopy: zeroCopy}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		untilStill(t, s.Sent)
		cancel()
		begun := time.Now()
		check(t, <-done)
		// At once on an idle machine; a busy one may be taken away meanwhile.
		if took := time.Since(begun); took > 500*time.Millisecond {
			t.Errorf("zero copy %v: the end took %v", zeroCopy, took)
		}
		check(t, c.client.CloseWrite())
		if r := <-receive(&Receiver{Conn: c.server}); r.Received() != s.Sent() {
			t.Errorf("zero copy %v: received %d of %d bytes", zeroCopy, r.Received(), s.Sent())
		}
	}
}

// untilStill waits until a count has moved and then not for 100 ms.
func untilStill(t *testing.T, count func() uint64) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for last := uint64(0); ; time.Sleep(100 * time.Millisecond) {
		now := count()
		if now > 0 && now == last {
			return
		}
		if last = now; time.Now().After(deadline) {
			t.Fatalf("still moving at %d", now)
		}
	}
}

func TestPeerThatClosesBreaksTheSender(t *testing.T) {
	for _, zeroCopy := range []bool{false, true} {
		c := newLine(t, Options{}, Options{})
		s := Sender{Conn: c.client, Pattern: ramp(t), ZeroCopy: zeroCopy}
		done := make(chan error, 1)
		go func() { done <- s.Run(context.Background()) }()
		untilStill(t, s.Sent)
		check(t, c.server.Close())
		err := <-done
		if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
			t.Errorf("zero copy %v: %v, want a reset or a broken pipe", zeroCopy, err)
		}
		if s.Sent() == 0 {
			t.Errorf("zero copy %v: what was sent before is not counted", zeroCopy)
		}
	}
}

func TestPeerThatResetsBreaksTheReceiver(t *testing.T) {
	pattern := ramp(t)
	for _, verify := range []*probe.Pattern{nil, &pattern} {
		c := newLine(t, Options{}, Options{})
		r := &Receiver{Conn: c.server, Verify: verify}
		done := receive(r)
		_, err := c.client.Write(make([]byte, 1000))
		check(t, err)
		untilStill(t, r.Received)
		check(t, c.client.SetLinger(0))
		check(t, c.client.Close())
		if a := <-done; !errors.Is(a.err, syscall.ECONNRESET) || a.ended || a.Received() != 1000 {
			t.Errorf("verify %v: %v, ended %v after %d bytes; want a reset after 1000", verify != nil, a.err, a.ended, a.Received())
		}
	}
}
