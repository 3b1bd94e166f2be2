package plan

import (
	"math"
	"testing"
	"time"

	"linerate/gen/pace"
)

// drawn are the packets of each burst of a test of so many-byte datagrams, of which each
// takes its bits of payload.
func drawn(t *testing.T, text string, s pace.Schedule, size uint64) []uint64 {
	t.Helper()
	i, err := ParseIsochronous(text)
	if err != nil {
		t.Fatal(err)
	}
	s.Sizes, s.Costs, s.MicroRate, s.Flows, s.Burst = []int{int(size)}, []uint64{8 * size}, i.Mean.Micro, 1, 64
	if s.Isochronous, err = i.bursts(&s); err != nil {
		t.Fatal(err)
	}
	var packets []uint64
	p := pace.NewPacer(s, 0)
	now := int64(-1)
	for {
		b, at, ok := p.Next(now)
		if !ok {
			return packets
		}
		if at == now {
			packets[len(packets)-1] += uint64(b.N)
			p.Sent(b, b.N, at)
			continue
		}
		if want := int64(uint64(len(packets)) * 1e12 / (i.MicroRate / 1000)); at != want {
			t.Fatalf("%s: burst %d leaves at %d, want %d", text, len(packets), at, want)
		}
		now = at
		p.Sent(b, b.N, at)
		packets = append(packets, uint64(b.N))
	}
}

// There are FPS x duration bursts, each of as many whole packets as hold what was
// drawn, and the draws come to what was asked for.
func TestIsochronousBursts(t *testing.T) {
	for _, c := range []struct {
		text   string
		s      pace.Schedule
		size   uint64
		bursts int
		each   uint64
	}{
		{"60:10M,0", pace.Schedule{Duration: 10 * time.Second}, 1000, 600, 21}, // of 20833 bytes
		{"50:4M,0", pace.Schedule{Duration: time.Second}, 1000, 50, 10},
		{"29.97:8,0", pace.Schedule{Duration: time.Second}, 1000, 30, 1}, // no less than one
		{"100:8M,0", pace.Schedule{Count: 25}, 1000, 3, 10},
	} {
		packets := drawn(t, c.text, c.s, c.size)
		if len(packets) != c.bursts {
			t.Errorf("%s: %d bursts, want %d", c.text, len(packets), c.bursts)
		}
		left := c.s.Count
		for i, n := range packets {
			want := c.each
			if left > 0 {
				want = min(want, left)
				left -= want
			}
			if n != want {
				t.Errorf("%s: burst %d has %d packets, want %d", c.text, i, n, want)
			}
		}
	}
	const size, bursts = 100, 20_000
	packets := drawn(t, "1000:80M,20M", pace.Schedule{Duration: bursts * time.Millisecond}, size)
	var sum, squares float64
	for _, n := range packets {
		bytes := float64(n*size) - size/2 // rounded up by half a packet on average
		sum += bytes
		squares += bytes * bytes
	}
	mean := sum / bursts
	deviation := math.Sqrt(squares/bursts - mean*mean)
	if math.Abs(mean-10_000) > 100 || math.Abs(deviation-2500) > 100 {
		t.Errorf("bursts of %v bytes, deviation %v, want 10000 and 2500", mean, deviation)
	}
	again := drawn(t, "1000:80M,20M", pace.Schedule{Duration: time.Second}, size)
	for i := range again {
		if again[i] != packets[i] {
			t.Fatalf("burst %d has %d packets the second time, and had %d", i, again[i], packets[i])
		}
	}
}

func FuzzParseIsochronous(f *testing.F) {
	for _, s := range []string{"60:10M,1M", "29.97:1G@l1,0", "0:1,1", "NaN:1M,0", "60:10kpps,0", "60:1M", ":,", "1e300:1M,0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		i, err := ParseIsochronous(s)
		if err != nil {
			return
		}
		if i.MicroRate == 0 || i.Mean.Micro == 0 {
			t.Errorf("%q sends nothing: %+v", s, i)
		}
	})
}
