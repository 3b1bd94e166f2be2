package echo

import "time"

// A Limit lets through Budget events a second, and after a pause as many at once.
// Its zero value is ready; one goroutine owns it.
type Limit struct {
	paid int64 // ns of CLOCK_MONOTONIC up to which the budget is spent
}

// Allow reports whether an event at a time, in ns of CLOCK_MONOTONIC, is within the
// budget, and takes it from there if it is.
func (l *Limit) Allow(at int64) bool {
	const each = int64(time.Second) / Budget
	l.paid = max(l.paid, at-int64(time.Second))
	if l.paid+each > at {
		return false
	}
	l.paid += each
	return true
}
