package report

import (
	"encoding/csv"
	"io"
	"strconv"

	"linerate/internal/result"
)

// A field is one column of CSV rows; empty where a row does not know it.
type field struct {
	head string
	of   func(*result.Row) string
}

func integer[T int | uint64](v T) string { return strconv.FormatInt(int64(v), 10) }

func decimal(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', -1, 64)
}

func whole(v *int) string {
	if v == nil {
		return ""
	}
	return strconv.Itoa(*v)
}

// arrived takes a figure of what arrived.
func arrived(of func(*result.Receiver) string) func(*result.Row) string {
	return func(row *result.Row) string {
		if row.Receiver == nil || row.Receiver.ArrivedPackets == nil {
			return ""
		}
		return of(row.Receiver)
	}
}

// The columns of each table, named as the keys of the JSON report.
var rowFields = map[string][]field{
	"search": {
		{"frame_bytes", func(r *result.Row) string { return integer(r.Config.FrameBytes) }},
		{"goal", func(r *result.Row) string { return r.Found.Goal }},
		{"loss_ratio", func(r *result.Row) string { return decimal(&r.Found.LossRatio) }},
		{"method", func(r *result.Row) string { return r.Found.Method }},
		{"pps", func(r *result.Row) string { return decimal(r.Found.PPS) }},
		{"l2_bps", func(r *result.Row) string { return decimal(l2Of(r)) }},
		{"upper_pps", func(r *result.Row) string { return decimal(r.Found.UpperPPS) }},
		{"line_ratio", func(r *result.Row) string { return decimal(r.Found.LineRatio) }},
		{"delay_p50_ns", delayField(func(d *result.Delay) int64 { return d.P50 })},
		{"delay_p99_ns", delayField(func(d *result.Delay) int64 { return d.P99 })},
		{"trials", func(r *result.Row) string { return integer(len(r.Trials)) }},
		{"reason", func(r *result.Row) string { return r.Found.Reason }},
	},
	"sweep": {
		{"frame_bytes", func(r *result.Row) string { return integer(r.Config.FrameBytes) }},
		{"offered_pps", func(r *result.Row) string { return decimal(&r.Trials[0].Offered.PPS) }},
		{"pps", func(r *result.Row) string { return decimal(&r.PPS) }},
		{"l2_bps", func(r *result.Row) string { return decimal(&r.L2Bps) }},
		{"unique", arrived(func(r *result.Receiver) string { return integer(r.Unique) })},
		{"lost", arrived(func(r *result.Receiver) string { return integer(r.Lost) })},
		{"loss_ratio", arrived(func(r *result.Receiver) string { return decimal(r.LossRatio) })},
		{"delay_p50_ns", delayField(func(d *result.Delay) int64 { return d.P50 })},
		{"delay_p99_ns", delayField(func(d *result.Delay) int64 { return d.P99 })},
	},
	"mtu": {
		{"peer_address", func(r *result.Row) string { return r.Peer }},
		{"forward_mtu", func(r *result.Row) string { return whole(r.Forward) }},
		{"reverse_mtu", func(r *result.Row) string { return whole(r.Reverse) }},
		{"local_mtu", func(r *result.Row) string { return integer(r.Local) }},
		{"path_mtu", func(r *result.Row) string { return integer(r.Path) }},
		{"refused_by", func(r *result.Row) string { return r.RefusedBy }},
		{"refused_from", func(r *result.Row) string { return r.RefusedFrom }},
		{"fragmented", func(r *result.Row) string { return strconv.FormatBool(r.Fragmented) }},
	},
}

func delayField(of func(*result.Delay) int64) func(*result.Row) string {
	return arrived(func(r *result.Receiver) string {
		if r.DelayNS == nil {
			return ""
		}
		return strconv.FormatInt(of(r.DelayNS), 10)
	})
}

// RowsCSV prints the table of a report as CSV (RFC 4180), a head first.
func RowsCSV(w io.Writer, r *result.Report) error {
	fields := rowFields[r.Command]
	c := csv.NewWriter(w)
	line := make([]string, len(fields))
	for i, f := range fields {
		line[i] = f.head
	}
	_ = c.Write(line) // Error tells at the end
	for i := range r.Results {
		for k, f := range fields {
			line[k] = f.of(&r.Results[i])
		}
		_ = c.Write(line)
	}
	c.Flush()
	return c.Error()
}
