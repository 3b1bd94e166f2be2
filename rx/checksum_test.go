package rx

import (
	"math/rand/v2"
	"testing"
)

func TestChecksumRight(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, ends := range []testFrame{{src: client4, dst: server4}, {src: client6, dst: server6}} {
		for size := range 200 {
			f := ends
			f.payload = make([]byte, size)
			for i := range f.payload {
				f.payload[i] = byte(random.Uint32() | random.Uint32()) // many ones, many carries
			}
			frame := f.bytes()
			d, ok := parse(frame, len(frame))
			if !ok || !checksumRight(&d) {
				t.Fatalf("%v, %d bytes: wrong", f.src, size)
			}
			d.segment[random.IntN(len(d.segment))] ^= 1 << random.IntN(8)
			if checksumRight(&d) {
				t.Fatalf("%v, %d bytes: right with a bit changed", f.src, size)
			}
		}
	}
}

func TestChecksumAbsent(t *testing.T) {
	for _, c := range []struct {
		frame testFrame
		want  bool
	}{
		{testFrame{src: client4, dst: server4, noChecksum: true}, true},
		{testFrame{src: client6, dst: server6, noChecksum: true}, false},
	} {
		frame := c.frame.bytes()
		d, ok := parse(frame, len(frame))
		if !ok || checksumRight(&d) != c.want {
			t.Errorf("%v: right is %v, want %v", c.frame.src, !c.want, c.want)
		}
	}
}
