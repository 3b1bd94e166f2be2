package track

import (
	"slices"
	"sort"
)

// hullMost is the most vertices of a hull. A straight drift leaves some tens.
const hullMost = 512

// A hull is the lower convex hull of points added in the order of sending.
type hull []point

func (h *hull) add(p point) {
	n := len(*h)
	for n >= 2 && slope((*h)[n-2], (*h)[n-1]) >= slope((*h)[n-1], p) {
		n--
	}
	*h = append((*h)[:n], p)
	if len(*h) > hullMost {
		h.simplify()
	}
}

// simplify drops the vertex that is closest to the line between its neighbours.
func (h *hull) simplify() {
	least, height := 1, depth((*h)[0], (*h)[1], (*h)[2])
	for i := 2; i < len(*h)-1; i++ {
		if d := depth((*h)[i-1], (*h)[i], (*h)[i+1]); d < height {
			least, height = i, d
		}
	}
	*h = slices.Delete(*h, least, least+1)
}

// depth is how far b lies below the line from a to c.
func depth(a, b, c point) float64 {
	return float64(a.transit-b.transit) + slope(a, c)*float64(b.sent-a.sent)
}

func slope(a, b point) float64 {
	return float64(b.transit-a.transit) / float64(b.sent-a.sent)
}

// edge is the line through the edge that spans a time between the hull's first
// point and its last.
func (h hull) edge(sent int64) line {
	i := max(1, sort.Search(len(h), func(i int) bool { return h[i].sent >= sent }))
	return line{slope(h[i-1], h[i]), h[i-1]}
}
