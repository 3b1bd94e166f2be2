package stats

// MannWhitney tests whether two sets of values without ties differ: U of each, and
// the exact two-sided p.
func MannWhitney(a, b []float64) (ua, ub, p float64) {
	for _, x := range a {
		for _, y := range b {
			if x > y {
				ua++
			}
		}
	}
	ub = float64(len(a)*len(b)) - ua
	ways := arrangements(len(a), len(b))
	total, extreme := 0.0, 0.0
	for u, w := range ways {
		total += w
		if float64(u) <= min(ua, ub) {
			extreme += w
		}
	}
	return ua, ub, min(1, 2*extreme/total)
}

// arrangements counts by U in how many ways m and n values can be ranked: the
// coefficients of a Gaussian binomial.
func arrangements(m, n int) []float64 {
	ways := make([]float64, m*n+1)
	ways[0] = 1
	for i := 1; i <= m; i++ {
		for u := m * n; u >= n+i; u-- { // times 1 - q^(n+i)
			ways[u] -= ways[u-n-i]
		}
		for u := i; u <= m*n; u++ { // by 1 - q^i
			ways[u] += ways[u-i]
		}
	}
	return ways
}
