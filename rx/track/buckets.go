package track

import "slices"

// A Bucket is how many values of a distribution lie from From to To, ns, both
// included.
type Bucket struct {
	From, To int64
	N        uint64
}

// histogram is of the values, all moved by an offset, in ascending order, without
// empty buckets. The outer ends are the extremes themselves.
func (s *spread) histogram(offset int64) []Bucket {
	var all []Bucket
	for _, bar := range s.down.Distribution() {
		if bar.Count > 0 {
			all = append(all, Bucket{-bar.To, -bar.From, uint64(bar.Count)})
		}
	}
	slices.Reverse(all)
	for _, bar := range s.up.Distribution() {
		if bar.Count > 0 {
			all = append(all, Bucket{bar.From, bar.To, uint64(bar.Count)})
		}
	}
	if len(all) == 0 {
		return nil
	}
	all[0].From, all[len(all)-1].To = s.min, s.max
	for i := range all {
		all[i].From += offset
		all[i].To += offset
	}
	return all
}
