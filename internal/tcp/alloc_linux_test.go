package tcp

import (
	"testing"
)

// TestAllocs holds the loops of both ends to no allocation a block.
func TestAllocs(t *testing.T) {
	pattern := ramp(t)
	for _, zeroCopy := range []bool{false, true} {
		for _, verify := range []bool{false, true} {
			c := newLine(t, Options{}, Options{})
			s := Sender{Conn: c.client, Pattern: pattern, Len: 10_000, ZeroCopy: zeroCopy}
			w, err := s.newWriter()
			check(t, err)
			var r reader
			if verify {
				r, err = newReader(c.server, &pattern)
			} else {
				r, err = newReader(c.server, nil)
			}
			check(t, err)
			allocs := testing.AllocsPerRun(100, func() {
				n, err := w.write(10_000)
				if n != 10_000 || err != nil {
					t.Errorf("write = %d, %v", n, err)
				}
				for got := 0; got < n; {
					more, corrupt, err := r.read()
					if corrupt != 0 || err != nil {
						t.Fatalf("read = %d, %v", corrupt, err)
					}
					got += more
				}
			})
			if allocs != 0 {
				t.Errorf("zero copy %v, verify %v: %v allocations a block", zeroCopy, verify, allocs)
			}
			check(t, w.close())
		}
	}
}
