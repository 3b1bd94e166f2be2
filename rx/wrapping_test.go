package rx

import "testing"

func TestWrapping(t *testing.T) {
	var w wrapping
	for i, c := range []struct {
		n    uint32
		want uint64
	}{
		{0, 0}, {5, 5}, {5, 5}, {1<<32 - 1, 1<<32 - 1}, {0, 1 << 32}, {1<<32 - 2, 2<<32 - 2}, {7, 2<<32 + 7},
	} {
		if got := w.total(c.n); got != c.want {
			t.Errorf("%d: reads %d: %d, want %d", i, c.n, got, c.want)
		}
	}
}
