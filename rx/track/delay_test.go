package track

import (
	"math/big"
	"slices"
	"testing"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"linerate/internal/vectors"
)

func TestDelayVectors(t *testing.T) {
	vectors.Run(t, "delay", vectors.Checks{
		"rfc3550_jitter":      jitterVector,
		"rfc3550_jitter_long": longJitterVector,
		"ipdv_pdv":            variationVector,
		"edf_percentile":      percentileVector,
		"delay_percentiles":   delayVector,
		"skew_lp":             skewVector,
		"skew_budget":         skewBudgetVector,
	}, "four_timestamps", "min_rtt_offset") // internal/clock has these
}

func TestHistogramVectors(t *testing.T) {
	vectors.Run(t, "histogram", vectors.Checks{
		"hdr_layout":     layoutVector,
		"hdr_equivalent": equivalentVector,
		"co_correct":     correctedVector,
	})
}

// jitterOf feeds packets at 10^6 ns for each unit of a vector, and returns
// the jitter after each in such units.
func jitterOf(t *testing.T, sent, received []int64) (jitter []float64) {
	const unit = 1_000_000
	tracker := New(Config{})
	for i := range sent {
		feed(tracker, packet{seq: uint64(i), sent: sent[i] * unit, at: received[i] * unit, size: 18})
		ns := tracker.Totals().JitterNS
		if (ns == nil) != (i == 0) {
			t.Fatalf("after %d packets jitter is %v", i+1, ns)
		}
		if ns == nil {
			jitter = append(jitter, 0)
			continue
		}
		jitter = append(jitter, float64(*ns)/unit)
	}
	return jitter
}

// The tracker's integers in ns settle up to 1 ns below the floating-point
// definition, and the vectors have 9 decimals.
var nearJitter = cmpopts.EquateApprox(0, 2e-6)

func jitterVector(t *testing.T, v vectors.Vector) {
	var in struct {
		Send []int64 `json:"send"`
		Recv []int64 `json:"recv"`
	}
	var want struct {
		Float       []float64 `json:"jitter_float"`
		Int         []int64   `json:"jitter_int_reported"`
		FinalFloat  float64   `json:"final_float"`
		FinalInt    int64     `json:"final_int"`
		IPerf3Final later     `json:"iperf3_final"` // folds the sign of the transit
	}
	v.Decode(t, &in, &want)
	jitter := jitterOf(t, in.Send, in.Recv)
	if diff := cmp.Diff(want.Float, jitter, nearJitter); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(want.FinalFloat, jitter[len(jitter)-1], nearJitter); diff != "" {
		t.Errorf("final (-want +got):\n%s", diff)
	}
	var vary variation
	var ints []int64
	for i := range in.Send {
		vary.next(uint64(i), in.Recv[i]-in.Send[i])
		ints = append(ints, vary.jitter>>4)
	}
	if diff := cmp.Diff(want.Int, ints); diff != "" || ints[len(ints)-1] != want.FinalInt {
		t.Errorf("integers (-want +got):\n%s", diff)
	}
}

func longJitterVector(t *testing.T, v vectors.Vector) {
	var in struct {
		N    int   `json:"n"`
		Base int64 `json:"base"`
		Step int64 `json:"step"`
		Rule later `json:"rule"` // as below
	}
	var want struct {
		FinalInt   int64   `json:"final_int"`
		FinalFloat float64 `json:"final_float"`
	}
	v.Decode(t, &in, &want)
	var sent, received []int64
	var vary variation
	transit := in.Base
	for i := range in.N {
		if i%2 == 1 {
			transit += in.Step
		} else {
			transit -= in.Step
		}
		at := int64(i) * 1000
		sent, received = append(sent, at), append(received, at+transit)
		vary.next(uint64(i), transit)
	}
	if got := vary.jitter >> 4; got != want.FinalInt {
		t.Errorf("integer jitter %d, want %d", got, want.FinalInt)
	}
	jitter := jitterOf(t, sent, received)
	if diff := cmp.Diff(want.FinalFloat, jitter[in.N-1], nearJitter); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// mean is exact: a fraction, as the vectors write it.
func mean(values []int64) *[2]int64 {
	var sum int64
	for _, v := range values {
		sum += v
	}
	f := big.NewRat(sum, int64(len(values)))
	return &[2]int64{f.Num().Int64(), f.Denom().Int64()}
}

// sorted is all that a spread has, in ascending order.
func sorted(s *spread) (values []int64) {
	for i := range s.count() {
		values = append(values, s.at(i+1))
	}
	return values
}

// median is the mean of the middle two, or the one in the middle.
func median(ascending []int64) float64 {
	n := len(ascending)
	return float64(ascending[(n-1)/2]+ascending[n/2]) / 2
}

func variationVector(t *testing.T, v vectors.Vector) {
	var in struct {
		Delays []*int64 `json:"delays_by_send_order"`
	}
	type result struct {
		IPDV        []*int64  `json:"ipdv"`
		PDV         []*int64  `json:"pdv"`
		IPDVMin     *int64    `json:"ipdv_min"`
		IPDVMedian  *float64  `json:"ipdv_median"`
		IPDVMax     *int64    `json:"ipdv_max"`
		IPDVMean    *[2]int64 `json:"ipdv_mean_exact"`
		IPDVMeanAbs *[2]int64 `json:"ipdv_mean_abs_exact"`
		PDVMax      int64     `json:"pdv_max"`
		IPDVCount   uint64    `json:"ipdv_count"`
		PDVCount    uint64    `json:"pdv_count"`
	}
	var want result
	v.Decode(t, &in, &want)

	tracker := New(Config{})
	var vary variation
	var got result
	var all, sizes []int64
	for i, delay := range in.Delays {
		got.IPDV = append(got.IPDV, nil)
		if delay == nil {
			continue
		}
		sent := int64(i) * 1000 // far enough apart to stay in order
		feed(tracker, packet{seq: uint64(i), sent: sent, at: sent + *delay, size: 18})
		if d, ok := vary.next(uint64(i), *delay); ok {
			got.IPDV[i] = &d
			all, sizes = append(all, d), append(sizes, abs(d))
		}
	}
	transits := tracker.flows[0].delays.transit
	if len(all) > 0 {
		slices.Sort(all)
		middle := median(all)
		got.IPDVMin, got.IPDVMedian, got.IPDVMax = &all[0], &middle, &all[len(all)-1]
		got.IPDVMean, got.IPDVMeanAbs = mean(all), mean(sizes)
	}
	slices.Sort(sizes)
	if diff := cmp.Diff(sizes, sorted(tracker.flows[0].delays.ipdv)); diff != "" {
		t.Errorf("sizes of ipdv (-want +got):\n%s", diff)
	}

	variation := sorted(transits)
	r, err := tracker.Finish(Settlement{})
	if err != nil {
		t.Fatal(err)
	}
	got.PDVMax, got.PDVCount = r.Delay.Max, r.Delay.N
	if r.IPDV != nil {
		got.IPDVCount = r.IPDV.N
	}
	if undefined := r.Unique - 1 - got.IPDVCount; r.IPDVUndefined != undefined {
		t.Errorf("%d packets without ipdv, want %d", r.IPDVUndefined, undefined)
	}
	var pdv []int64
	for _, p := range want.PDV {
		if p != nil {
			pdv = append(pdv, *p)
		}
	}
	slices.Sort(pdv)
	for i := range variation {
		variation[i] -= transits.min
	}
	if diff := cmp.Diff(pdv, variation); diff != "" {
		t.Errorf("pdv (-want +got):\n%s", diff)
	}
	got.PDV = want.PDV // compared in order above
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func percentileVector(t *testing.T, v vectors.Vector) {
	var in struct {
		Values  []int64  `json:"values"`
		Percent []uint64 `json:"percent"`
	}
	type result struct {
		Percentiles []int64 `json:"percentiles"`
		Median      float64 `json:"median"`
	}
	var want, got result
	v.Decode(t, &in, &want)
	s := newSpread()
	for _, value := range in.Values {
		s.record(value)
	}
	for _, p := range in.Percent {
		got.Percentiles = append(got.Percentiles, s.at(rank(s.count(), p*10_000)))
	}
	got.Median = median(sorted(s))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func delayVector(t *testing.T, v vectors.Vector) {
	var in struct {
		Count int64 `json:"count"`
		Rule  later `json:"rule"` // as below
		Base  int64 `json:"base"`
		Mul   int64 `json:"mul"`
		Mod   int64 `json:"mod"`
	}
	type result struct {
		Min       int64   `json:"min"`
		Max       int64   `json:"max"`
		Mean      later   `json:"mean_exact"` // not reported
		Median    float64 `json:"median"`
		P50       int64   `json:"p50"`
		P90       int64   `json:"p90"`
		P99       int64   `json:"p99"`
		P999      int64   `json:"p99_9"`
		P9999     int64   `json:"p99_99"`
		PDVP999   int64   `json:"pdv_p99_9"`
		WorstCase int64   `json:"worst_case_latency"` // the 99.9th percentile by RFC 8219
	}
	var want result
	v.Decode(t, &in, &want)
	got := result{Mean: want.Mean}
	for _, clock := range []Clock{Same, Relative} {
		tracker := New(Config{})
		for i := range in.Count {
			sent := i * 10_000
			feed(tracker, packet{seq: uint64(i), sent: sent, at: sent + in.Base + i*in.Mul%in.Mod, size: 18})
		}
		s := tracker.flows[0].delays.transit
		got.P90 = s.at(rank(s.count(), 900_000)) + in.Base
		got.P9999 = s.at(rank(s.count(), 999_900)) + in.Base
		got.Median = median(sorted(s)) + float64(in.Base)
		r, err := tracker.Finish(Settlement{Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		if clock == Relative {
			got.PDVP999 = r.Delay.P999
			continue
		}
		d := r.Delay
		got.Min, got.Max, got.P50, got.P99, got.P999, got.WorstCase = d.Min, d.Max, d.P50, d.P99, d.P999, d.P999
	}
	if got.Min != want.Min || got.Max != want.Max {
		t.Errorf("from %d to %d, want %d to %d", got.Min, got.Max, want.Min, want.Max)
	}
	// A spread with two digits is within 1/128 of the distance from the first delay.
	within := cmpopts.EquateApprox(0, float64(in.Mod)/128)
	near := cmp.Comparer(func(a, b int64) bool { return abs(a-b) <= in.Mod/128 })
	if diff := cmp.Diff(want, got, near, within); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func skewVector(t *testing.T, v vectors.Vector) {
	var in struct {
		Send  []int64 `json:"send_s"`
		Delay []int64 `json:"delay_us"`
	}
	type result struct {
		Skew      [2]int64   `json:"skew_us_per_s_exact"`
		Offset    [2]int64   `json:"offset_us_exact"`
		PPM       float64    `json:"skew_ppm"`
		Hull      [][2]int64 `json:"hull"`
		Corrected []float64  `json:"corrected_us"`
	}
	var want, got result
	v.Decode(t, &in, &want)
	s := skew{sample: newSample()}
	for i := range in.Send {
		s.add(point{in.Send[i] * 1e9, in.Delay[i] * 1e3})
	}
	s.close()
	l := s.line()
	for _, p := range s.floor {
		got.Hull = append(got.Hull, [2]int64{p.sent / 1e9, p.transit / 1e3})
	}
	for _, p := range s.sample.points {
		got.Corrected = append(got.Corrected, float64(l.above(p))/1e3)
	}
	got.PPM = l.drift * 1e6
	got.Skew, got.Offset = want.Skew, want.Offset
	if diff := cmp.Diff(want, got, approximately); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	perSecond := float64(want.Skew[0]) / float64(want.Skew[1])
	offset := float64(want.Offset[0]) / float64(want.Offset[1])
	at0 := float64(l.through.transit)/1e3 - perSecond*float64(l.through.sent)/1e9
	if diff := cmp.Diff([]float64{perSecond, offset}, []float64{got.PPM, at0}, approximately); diff != "" {
		t.Errorf("line (-want +got):\n%s", diff)
	}
}

// layoutVector checks that the library lays histograms out as others do.
func layoutVector(t *testing.T, v vectors.Vector) {
	var in struct {
		Lowest  int64 `json:"lowest"`
		Highest int64 `json:"highest"`
		Digits  int   `json:"digits"`
	}
	type result struct {
		SubBuckets int `json:"sub_bucket_count"`
		Buckets    int `json:"bucket_count"`
		Counts     int `json:"counts_len"`
		Bytes      int `json:"bytes_at_8_per_count"`
	}
	var want, got result
	v.Decode(t, &in, &want)
	h := hdr.New(in.Lowest, in.Highest, in.Digits)
	got.Counts = len(h.Export().Counts)
	got.Bytes = got.Counts * 8
	h.RecordValue(in.Highest)
	bars := h.Distribution()
	for _, bar := range bars { // the first bucket's are all as wide
		if bar.To-bar.From == bars[0].To-bars[0].From {
			got.SubBuckets++
		}
	}
	got.Buckets = got.Counts/(got.SubBuckets/2) - 1
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func equivalentVector(t *testing.T, v vectors.Vector) {
	var in struct {
		Lowest int64   `json:"lowest"`
		Digits int     `json:"digits"`
		Values []int64 `json:"values"`
	}
	type result struct {
		Ranges [][3]int64 `json:"ranges"` // lowest, highest, width
	}
	var want, got result
	v.Decode(t, &in, &want)
	for _, value := range in.Values {
		h := hdr.New(in.Lowest, reach, in.Digits)
		h.RecordValue(value)
		for _, bar := range h.Distribution() {
			if bar.Count > 0 {
				got.Ranges = append(got.Ranges, [3]int64{bar.From, bar.To, bar.To - bar.From + 1})
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// skewBudgetVector measures packets of one delay between clocks that drift apart: all
// variation is an error.
func skewBudgetVector(t *testing.T, v vectors.Vector) {
	var in struct {
		PPM     int64 `json:"skew_ppm"`
		Spacing int64 `json:"ipdv_spacing_s"`
		Span    int64 `json:"pdv_interval_s"`
	}
	type result struct {
		IPDV  int64 `json:"ipdv_error_us"`
		PDV   int64 `json:"pdv_error_us"`
		Ratio int64 `json:"ratio"`
	}
	var want result
	v.Decode(t, &in, &want)
	tracker := New(Config{})
	for seq := int64(0); seq*in.Spacing <= in.Span; seq++ {
		sent := seq * in.Spacing * 1e9
		feed(tracker, packet{seq: uint64(seq), sent: sent, at: sent + sent/1e6*in.PPM, size: 18})
	}
	r, err := tracker.Finish(Settlement{Clock: Same}) // which takes no drift out
	if err != nil {
		t.Fatal(err)
	}
	got := result{IPDV: r.IPDV.Max / 1e3, PDV: r.PDV.Max / 1e3, Ratio: r.PDV.Max / r.IPDV.Max}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// correctedVector checks the library's correction for what a sender that waits leaves
// out. Delays here need none: packets leave by a schedule, and those that it gave up
// are counted.
func correctedVector(t *testing.T, v vectors.Vector) {
	var in struct {
		Value    int64 `json:"value"`
		Interval int64 `json:"expected_interval"`
	}
	type result struct {
		Recorded []int64 `json:"recorded"`
	}
	var want, got result
	v.Decode(t, &in, &want)
	h := hdr.New(1, reach, 3)
	if err := h.RecordCorrectedValue(in.Value, in.Interval); err != nil {
		t.Fatal(err)
	}
	for _, bar := range h.Distribution() {
		for range bar.Count {
			got.Recorded = append(got.Recorded, bar.From)
		}
	}
	slices.Reverse(got.Recorded)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
