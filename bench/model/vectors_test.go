package model

import (
	"math"
	"slices"
	"testing"
	"time"

	"linerate/internal/vectors"
)

// near compares with what the vectors print: six decimals, or nine digits.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-6 || math.Abs(got-want) <= 1e-9*math.Abs(want)) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func us(n float64) time.Duration { return time.Duration(n * float64(time.Microsecond)) }
func ms(n float64) time.Duration { return us(n * 1000) }

// TestVectors checks the models against the shared vectors of the standards.
func TestVectors(t *testing.T) {
	vectors.Run(t, "capacity", vectors.Checks{
		"rate_table":          tableVector,
		"load_adjust_B":       adjustVector,
		"lost_status_backoff": backoffVector,
		"max_capacity":        capacityVector,
	})
	vectors.Run(t, "models", vectors.Checks{
		"tcp_metric":     tcpVector,
		"bdp":            bdpVector,
		"window_limit":   windowVector,
		"mbm_target":     targetVector,
		"burst_interval": burstVector,
		"y1564_rates":    serviceVector,
		"mef_profile":    profileVector,
	})
}

func tableVector(t *testing.T, v vectors.Vector) {
	var in struct{ Rows []int }
	var want struct {
		Mbps []float64
		Rows int `json:"rows_up_to_10g_excluding_0"`
	}
	v.Decode(t, &in, &want)
	for i, row := range in.Rows {
		near(t, "the rate", RateOf(row)/1e6, want.Mbps[i])
	}
	near(t, "the last row to 10 Gbit/s", RateOf(want.Rows), 10e9)
}

func adjustVector(t *testing.T, v vectors.Vector) {
	var in struct {
		Start   int     `json:"start_row"`
		High    int     `json:"high_speed_row"`
		Errors  uint64  `json:"seq_err_thresh"`
		Low     float64 `json:"low_ms"`
		Upper   float64 `json:"upper_ms"`
		Slow    int     `json:"slow_adj_thresh"`
		Fast    int     `json:"fast_delta"`
		Rows    int     `json:"max_rows"`
		Reports [][2]float64
	}
	var want struct {
		Trace [][2]int `json:"trace_row_slowcount"`
	}
	v.Decode(t, &in, &want)
	thresholds := Thresholds{HighSpeedRow: in.High, MaxRow: in.Rows, SeqErrors: in.Errors, Low: ms(in.Low), High: ms(in.Upper), SlowAdjust: in.Slow, FastDelta: in.Fast}
	load := Load{Row: in.Start}
	for i, r := range in.Reports {
		load = load.Adjust(uint64(r[0]), ms(r[1]), thresholds)
		if got := [2]int{load.Row, load.Slow}; got != want.Trace[i] {
			t.Errorf("after report %d: %v, want %v", i, got, want.Trace[i])
		}
	}
}

func backoffVector(t *testing.T, v vectors.Vector) {
	var in struct {
		Upper    float64 `json:"upper_ms"`
		Feedback float64 `json:"feedback_ms"`
		W        []int
	}
	var want struct {
		Timeout []float64 `json:"timeout_ms"`
	}
	v.Decode(t, &in, &want)
	for i, w := range in.W {
		near(t, "the timeout", LostStatus(ms(in.Upper), ms(in.Feedback), w).Seconds()*1000, want.Timeout[i])
	}
}

func capacityVector(t *testing.T, v vectors.Vector) {
	var in struct {
		DT       float64    `json:"dt_s"`
		Bits     []float64  `json:"ip_bits"`
		Lost     []uint64   `json:"lost"`
		Received []uint64   `json:"received"`
		Ratio    [2]float64 `json:"max_loss_ratio"`
	}
	var want struct {
		Eligible []bool
		Maximum  float64 `json:"maximum_mbps"`
	}
	v.Decode(t, &in, &want)
	var samples []Sample
	var eligible []bool
	ratio := in.Ratio[0] / in.Ratio[1]
	for i, bits := range in.Bits {
		samples = append(samples, Sample{bits, in.Lost[i], in.Received[i]})
		eligible = append(eligible, samples[i].Eligible(ratio))
	}
	if !slices.Equal(eligible, want.Eligible) {
		t.Errorf("eligible %v, want %v", eligible, want.Eligible)
	}
	near(t, "the capacity", Capacity(samples, us(in.DT*1e6), ratio)/1e6, want.Maximum)
}

func tcpVector(t *testing.T, v vectors.Vector) {
	var in struct {
		ActualS                    float64 `json:"actual_s"`
		IdealS                     float64 `json:"ideal_s"`
		Transmitted, Retransmitted uint64
		Base                       float64 `json:"baseline_rtt_ms"`
		Average                    float64 `json:"average_rtt_ms"`
	}
	var want struct {
		Ratio      *float64 `json:"transfer_time_ratio"`
		Efficiency *float64 `json:"efficiency_percent"`
		Delay      *float64 `json:"buffer_delay_percent"`
	}
	v.Decode(t, &in, &want)
	switch {
	case want.Ratio != nil:
		near(t, "the transfer time ratio", TransferTimeRatio(ms(in.ActualS*1000), ms(in.IdealS*1000)), *want.Ratio)
	case want.Efficiency != nil:
		near(t, "the efficiency", 100*Efficiency(in.Transmitted, in.Retransmitted), *want.Efficiency)
	case want.Delay != nil:
		near(t, "the buffer delay", 100*BufferDelay(ms(in.Base), ms(in.Average)), *want.Delay)
	default:
		t.Error("the vector expects nothing")
	}
}

func bdpVector(t *testing.T, v vectors.Vector) {
	var in struct{ Cases [][2]float64 }
	var want struct {
		Bytes []float64 `json:"bdp_bytes"`
	}
	v.Decode(t, &in, &want)
	for i, c := range in.Cases {
		near(t, "the product", BDP(c[0], us(c[1])), want.Bytes[i])
	}
}

func windowVector(t *testing.T, v vectors.Vector) {
	var in struct {
		Window float64   `json:"window_bytes"`
		RTT    []float64 `json:"rtt_us"`
	}
	var want struct{ Bps []float64 }
	v.Decode(t, &in, &want)
	for i, rtt := range in.RTT {
		near(t, "the rate", WindowLimit(in.Window, us(rtt)), want.Bps[i])
	}
}

func targetVector(t *testing.T, v vectors.Vector) {
	var in struct {
		Rate        float64 `json:"rate_bps"`
		RTT         float64 `json:"rtt_us"`
		MTU         int
		Headers     int `json:"header_overhead"`
		Alpha, Beta float64
	}
	var want struct {
		Window    int `json:"target_window_packets"`
		Run       int `json:"target_run_length"`
		H1, H2, S float64
		Accept    uint64 `json:"packets_to_accept_with_zero_loss"`
	}
	v.Decode(t, &in, &want)
	target := NewTarget(in.Rate, us(in.RTT), in.MTU, in.Headers, in.Alpha, in.Beta)
	if target.Window != want.Window || target.Run != want.Run {
		t.Errorf("%+v, want %+v", target, want)
	}
	near(t, "h1", target.h1, want.H1)
	near(t, "h2", target.h2, want.H2)
	near(t, "s", target.s, want.S)
	if pass, fail := target.Judge(want.Accept, 0); !pass || fail {
		t.Errorf("%d packets without loss do not pass", want.Accept)
	}
	if pass, _ := target.Judge(want.Accept-1, 0); pass {
		t.Errorf("%d packets without loss pass already", want.Accept-1)
	}
	if _, fail := target.Judge(10, 5); !fail {
		t.Error("5 of 10 lost do not fail")
	}
}

func burstVector(t *testing.T, v vectors.Vector) {
	var in struct {
		CBS  float64 `json:"cbs_bytes"`
		CIR  float64 `json:"cir_bps"`
		Link float64 `json:"link_bps"`
	}
	var want struct {
		Burst    float64 `json:"burst_time_us"`
		Interval float64 `json:"interval_us"`
	}
	v.Decode(t, &in, &want)
	burst, interval := BurstTimes(in.CBS, in.CIR, in.Link)
	near(t, "the burst", burst.Seconds()*1e6, want.Burst)
	near(t, "the interval", interval.Seconds()*1e6, want.Interval)
}

func serviceVector(t *testing.T, v vectors.Vector) {
	var in struct{ CIR, EIR float64 }
	var want struct {
		Steps     [4]float64 `json:"step_load"`
		CIRAndEIR float64    `json:"cir_eir"`
		Policing  float64    `json:"policing_noncolour"`
		Green     float64    `json:"policing_green"`
		Yellow    float64    `json:"policing_yellow"`
	}
	v.Decode(t, &in, &want)
	if got := ServiceRatesOf(in.CIR, in.EIR); got != ServiceRates(want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func profileVector(t *testing.T, v vectors.Vector) {
	var in struct {
		CIR      float64 `json:"cir_bps"`
		EIR      float64 `json:"eir_bps"`
		CBS, EBS float64
		Coupling int
		Frames   [][2]float64 `json:"frames_us_bytes"`
	}
	var want struct {
		Colours []string
		BC, BE  float64
	}
	v.Decode(t, &in, &want)
	p := Profile{CIR: in.CIR, EIR: in.EIR, CBS: in.CBS, EBS: in.EBS, Coupling: in.Coupling == 1}
	for i, f := range in.Frames {
		if got := string(p.Mark(us(f[0]), f[1])); got != want.Colours[i] {
			t.Errorf("frame %d is %s, want %s", i, got, want.Colours[i])
		}
	}
	green, yellow := p.Tokens()
	near(t, "the green bucket", green, want.BC)
	near(t, "the yellow bucket", yellow, want.BE)
}
