package track

import (
	"testing"

	"pgregory.net/rapid"
)

// Every value is in one bucket, and the buckets lie in order.
func TestHistogramHoldsEveryValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(-3*reach, 3*reach), 0, 200).Draw(t, "values")
		offset := rapid.Int64Range(-1000, 1000).Draw(t, "offset")
		s := newSpread()
		for _, v := range values {
			s.record(v)
		}
		buckets := s.histogram(offset)
		if len(values) == 0 {
			if buckets != nil {
				t.Fatalf("%v without values", buckets)
			}
			return
		}
		if first, last := buckets[0].From, buckets[len(buckets)-1].To; first != s.min+offset || last != s.max+offset {
			t.Fatalf("from %d to %d, want %d to %d", first, last, s.min+offset, s.max+offset)
		}
		for i, b := range buckets {
			var n uint64
			for _, v := range values {
				// What lies beyond reach is in the outermost buckets.
				if v += offset; b.From <= v && v <= b.To {
					n++
				}
			}
			if b.N == 0 || b.N != n || b.From > b.To || i > 0 && buckets[i-1].To >= b.From {
				t.Fatalf("bucket %d is %+v, holds %d of %v", i, b, n, values)
			}
		}
	})
}
