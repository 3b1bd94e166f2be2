package search

// A Buffer is what the longest burst without loss says of the buffer of what is
// tested (RFC 9004, section 6.4).
type Buffer struct {
	ImpliedS   float64 // as if nothing left while the burst came in
	CorrectedS float64 // less what was forwarded meanwhile
	Frames     float64 // that it holds
}

// BufferOf works the buffer out from the average length of a burst in frames, the
// most frames a second that the link carries, and the throughput.
func BufferOf(burst, maxFPS, throughput float64) Buffer {
	implied := burst / maxFPS
	corrected := implied * (1 - throughput/maxFPS)
	return Buffer{implied, corrected, corrected * maxFPS}
}

// TimeAt is how long the buffer lasts where frames come at the highest rate and
// leave at a rate of interest, in seconds.
func (b Buffer) TimeAt(fps float64) float64 { return b.Frames / fps }
