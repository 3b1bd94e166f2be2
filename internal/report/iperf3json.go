package report

import (
	"bytes"
	"encoding/json"
	"io"

	"linerate/internal/result"
)

// IPerf3JSON prints a test as iperf3's -J does. Where the report has an error and
// no configuration, no test came about: the object then is the error's alone, and
// says so in iperf3's way.
//
// Unlike iperf3's it has no key twice.
func IPerf3JSON(w io.Writer, r *result.Report, f *IPerf3) error {
	tree := iperf3Tree{
		Start:        f.jsonStart(r),
		Intervals:    []iperf3Interval{},
		Title:        f.Title,
		ExtraData:    f.ExtraData,
		ServerText:   r.ServerText,
		ServerOutput: r.ServerJSON,
		Error:        r.Error,
	}
	if r.Config != nil {
		for i := range r.Intervals {
			if f.seen(r, &r.Intervals[i]) {
				tree.Intervals = append(tree.Intervals, f.jsonInterval(r, &r.Intervals[i]))
			}
		}
		tree.End = f.jsonEnd(r)
	}
	var compact bytes.Buffer
	if err := encoder(&compact).Encode(tree); err != nil {
		return err
	}
	_, err := w.Write(tabbed(compact.Bytes()))
	return err
}

// IPerf3StreamStart prints what is known when a test starts, as the first line of
// iperf3's --json-stream.
func IPerf3StreamStart(w io.Writer, r *result.Report, f *IPerf3) error {
	return event(w, "start", f.jsonStart(r))
}

// IPerf3StreamInterval prints one interval as a line of iperf3's --json-stream.
func IPerf3StreamInterval(w io.Writer, r *result.Report, f *IPerf3, iv *result.Interval) error {
	if !f.seen(r, iv) {
		return nil
	}
	return event(w, "interval", f.jsonInterval(r, iv))
}

// IPerf3StreamEnd prints the last lines of iperf3's --json-stream: the server's
// output if there is any, the error if there is one, the end.
func IPerf3StreamEnd(w io.Writer, r *result.Report, f *IPerf3) error {
	if r.ServerJSON != nil {
		if err := event(w, "server_output_json", r.ServerJSON); err != nil {
			return err
		}
	}
	if r.ServerText != "" {
		if err := event(w, "server_output_text", r.ServerText); err != nil {
			return err
		}
	}
	if r.Error != "" {
		if err := event(w, "error", r.Error); err != nil {
			return err
		}
	}
	var end iperf3End
	if r.Config != nil {
		end = f.jsonEnd(r)
	}
	return event(w, "end", end)
}

func event(w io.Writer, name string, data any) error {
	return encoder(w).Encode(struct {
		Event string `json:"event"`
		Data  any    `json:"data"`
	}{name, data})
}

// iperf3Tree is the whole object, with its keys in iperf3's order.
type iperf3Tree struct {
	Start        iperf3Start      `json:"start"`
	Intervals    []iperf3Interval `json:"intervals"`
	End          iperf3End        `json:"end"`
	Title        string           `json:"title,omitempty"`
	ExtraData    string           `json:"extra_data,omitempty"`
	ServerOutput json.RawMessage  `json:"server_output_json,omitempty"`
	ServerText   string           `json:"server_output_text,omitempty"`
	Error        string           `json:"error,omitempty"`
}

// iperf3Interval is one interval: its streams and their sum in each direction.
type iperf3Interval struct {
	Streams         []iperf3Row `json:"streams"`
	Sum             iperf3Row   `json:"sum"`
	SumBidirReverse *iperf3Row  `json:"sum_bidir_reverse,omitempty"`
}

func (f *IPerf3) jsonInterval(r *result.Report, iv *result.Interval) iperf3Interval {
	out := iperf3Interval{Streams: []iperf3Row{}}
	for _, l := range f.lanes(r) {
		streams, sum := l.intervalRows(r, iv)
		out.Streams = append(out.Streams, streams...)
		if l.back {
			out.SumBidirReverse = &sum
		} else {
			out.Sum = sum
		}
	}
	return out
}
