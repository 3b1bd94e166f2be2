package search

import "time"

// LossRatio is the share of frames that did not come out (RFC 2544, section 26.3).
func LossRatio(in, out uint64) float64 {
	if in == 0 {
		return 0
	}
	return 1 - float64(out)/float64(in)
}

// ResetTime is how long a device was down that lost so many frames at a rate, by
// the frame-loss method of RFC 6201, section 1.3.
func ResetTime(lost uint64, fps float64) time.Duration {
	return seconds(float64(lost) / fps)
}
