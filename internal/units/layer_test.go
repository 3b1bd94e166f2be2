package units

import (
	"math/rand/v2"
	"testing"
)

func TestLayer(t *testing.T) {
	for l := L1; l <= L4; l++ {
		if got, err := ParseLayer(l.String()); err != nil || got != l {
			t.Errorf("ParseLayer(%q) = %v, %v", l, got, err)
		}
	}
	for _, s := range []string{"", "l", "l0", "l5", "l10", "1", "x1", "l1 "} {
		if got, err := ParseLayer(s); err == nil {
			t.Errorf("ParseLayer(%q) = %v, want an error", s, got)
		}
	}
}

func TestFigureOfALayer(t *testing.T) {
	for l, want := range []float64{4, 1, 2, 3, 4} {
		if got := Layer(l).Of(1, 2, 3, 4); got != want {
			t.Errorf("layer %d: %v, want %v", l, got, want)
		}
	}
}

// The smallest frames that hold linerate's probe header of 18 bytes.
func TestSmallestProbeFrames(t *testing.T) {
	for _, tt := range []struct {
		stack Stack
		want  int
	}{
		{Stack{}, 64},
		{Stack{VLANTags: 1}, 68},
		{Stack{IPv6: true}, 84},
		{Stack{VLANTags: 1, IPv6: true}, 88},
	} {
		if got := tt.stack.FrameBytes(18); got != tt.want {
			t.Errorf("%+v: %d bytes, want %d", tt.stack, got, tt.want)
		}
	}
	if got := (Stack{IPv6: true}).PayloadBytes(64); got != -2 {
		t.Errorf("payload of a 64-byte frame over IPv6: %d, want -2", got)
	}
}

// A payload goes into a frame and comes out again unless the frame is padded,
// and every layer holds the one above.
func TestStackInverse(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		s := Stack{VLANTags: r.IntN(3), IPv6: r.IntN(2) == 1, TCP: r.IntN(2) == 1, TCPTimestamps: r.IntN(2) == 1}
		payload := r.IntN(9000)
		frame := s.FrameBytes(payload)
		if got := s.PayloadBytes(frame); frame > MinFrameBytes && got != payload || got < payload {
			t.Fatalf("%+v: payload %d in a frame of %d comes out as %d", s, payload, frame, got)
		}
		for l := L1; l < L4; l++ {
			if s.BytesAt(l, payload) <= s.BytesAt(l+1, payload) {
				t.Fatalf("%+v, payload %d: %v is not larger than %v", s, payload, l, l+1)
			}
		}
	}
}

func FuzzParseLayer(f *testing.F) {
	for _, seed := range []string{"l1", "L4", "l5", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		l, err := ParseLayer(s)
		if err != nil {
			return
		}
		if again, err := ParseLayer(l.String()); err != nil || again != l {
			t.Errorf("ParseLayer(%q) = %v, which parses to %v, %v", s, l, again, err)
		}
	})
}
