package rx

// wrapping follows a counter of the kernel that has 32 bits.
type wrapping struct {
	last uint32
	sum  uint64
}

// total is what the counter would be with 64 bits, now that it reads n.
func (w *wrapping) total(n uint32) uint64 {
	w.sum += uint64(n - w.last)
	w.last = n
	return w.sum
}
