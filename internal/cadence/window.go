package cadence

import "time"

// A window counts what comes in windows of time that follow one another.
type window struct {
	length int64 // ns
	end    int64 // ns, of the window that is open
	open   Load
	ended  Window
}

func newWindow(start int64, length time.Duration) window {
	return window{length: int64(length), end: start + int64(length)}
}

// A Window is the extremes, by bytes, of windows of one length. Least and Most mean
// nothing without N.
type Window struct {
	N           uint64 // windows that were over
	Least, Most Load
}

func (w *window) add(at int64, l Load) {
	if at >= w.end {
		w.close(at)
	}
	w.open.add(l)
}

// close ends the windows that are over at a time in ns.
func (w *window) close(at int64) {
	w.ended.take(w.open, 1)
	if silent := (at - w.end) / w.length; silent > 0 {
		w.ended.take(Load{}, uint64(silent))
		w.end += silent * w.length
	}
	w.end += w.length
	w.open = Load{}
}

// take counts n windows that were alike.
func (w *Window) take(l Load, n uint64) {
	if w.N == 0 || l.Bytes < w.Least.Bytes {
		w.Least = l
	}
	if w.N == 0 || l.Bytes > w.Most.Bytes {
		w.Most = l
	}
	w.N += n
}

func (w *window) result(until int64) Window {
	if until >= w.end {
		w.close(until)
	}
	return w.ended
}
