package plan

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"linerate/gen/pace"
	"linerate/internal/result"
	"linerate/internal/units"
)

// An Isochronous is traffic as of a video: bursts at an even beat, whose sizes are
// drawn at random as iperf 2 draws them.
type Isochronous struct {
	MicroRate uint64 // bursts a second, in millionths
	// Mean and StdDev are of the log-normal distribution of what the bursts come to in
	// bits a second; the number of StdDev is 0 for bursts of one size.
	Mean, StdDev units.Rate
}

const (
	// beatMost and beatLeast bound the bursts a second.
	beatLeast, beatMost = 0.001, 100_000
	// isochronousMost is the most bursts of a test.
	isochronousMost = 1_000_000
	// spreadMost is how many times the mean the deviation may be.
	spreadMost = 10
	// burstLargest bounds the packets of a burst, whatever is drawn.
	burstLargest = 1 << 32
)

// ParseIsochronous reads FPS:MEAN,STDDEV.
func ParseIsochronous(s string) (*Isochronous, error) {
	beat, sizes, ok := strings.Cut(s, ":")
	mean, deviation, both := strings.Cut(sizes, ",")
	if !ok || !both {
		return nil, fmt.Errorf("want FPS:MEAN,STDDEV, as 60:10M,1M")
	}
	fps, err := strconv.ParseFloat(beat, 64)
	if err != nil || !(fps >= beatLeast && fps <= beatMost) {
		return nil, fmt.Errorf("%q: want from %v to %v bursts a second", beat, beatLeast, beatMost)
	}
	i := &Isochronous{MicroRate: uint64(math.Round(fps * units.MicrosPerUnit))}
	if i.Mean, err = units.ParseRate(mean); err != nil {
		return nil, err
	}
	i.StdDev = units.Rate{Unit: units.Bits}
	if deviation != "0" {
		if i.StdDev, err = units.ParseRate(deviation); err != nil {
			return nil, err
		}
	}
	switch {
	case i.Mean.Unit != units.Bits || i.StdDev.Unit != units.Bits:
		return nil, fmt.Errorf("%q: MEAN and STDDEV have to be in bits a second, as 10M", s)
	case i.StdDev.Layer != 0 && i.StdDev.Layer != i.Mean.Layer:
		return nil, fmt.Errorf("%q: MEAN and STDDEV have to be of one layer", s)
	case i.StdDev.Micro/spreadMost > i.Mean.Micro:
		return nil, fmt.Errorf("%q: STDDEV is more than %d times MEAN", s, spreadMost)
	}
	return i, nil
}

// checkIsochronous refuses what bursts of their own sizes and times contradict.
func (r *SendRequest) checkIsochronous() error {
	if r.Isochronous == nil {
		return nil
	}
	for _, no := range []struct {
		set       bool
		flag, why string
	}{
		{r.Ramp != nil, "ramp", ": give one of them"},
		{r.Profile != nil, "profile", ": give one of them"},
		{r.Burst != 0, "burst", ", which says how large bursts are"},
		{r.Smooth, "smooth", ", whose packets leave together"},
		{len(r.IMIX.Frames) != 0, "imix", ", whose packets are of one size"},
		{r.Flows > 1, "flows", ", which is one flow"},
	} {
		if no.set {
			return &UsageError{no.flag, "contradicts --isochronous" + no.why}
		}
	}
	return nil
}

// bursts draws the bursts of a schedule, whose packets each take so much of the rate:
// as many whole packets as hold what was drawn. The same request draws the same.
func (i *Isochronous) bursts(s *pace.Schedule) (*pace.Isochronous, error) {
	n := uint64(isochronousMost) + 1
	if s.Duration > 0 {
		n = pace.BurstsIn(s.Duration, i.MicroRate)
	}
	mean, deviation := float64(i.Mean.Micro), float64(i.StdDev.Micro)
	variance := math.Log1p(deviation * deviation / (mean * mean)) // of the logarithm
	draw := rand.New(rand.NewPCG(1, 2))
	var packets []uint64
	var sum uint64
	for uint64(len(packets)) < n && (s.Count == 0 || sum < s.Count) {
		if len(packets) == isochronousMost {
			return nil, &UsageError{"isochronous", fmt.Sprintf("more than %d bursts: ask for a shorter test", isochronousMost)}
		}
		micro := mean * math.Exp(math.Sqrt(variance)*draw.NormFloat64()-variance/2)
		costs := micro / float64(i.MicroRate) / float64(s.Costs[0])
		one := uint64(max(1, min(math.Ceil(costs), burstLargest)))
		packets = append(packets, one)
		sum += one
	}
	return pace.NewIsochronous(i.MicroRate, packets), nil
}

// report is what the report says that was asked for.
func (i *Isochronous) report() *result.Isochronous {
	if i == nil {
		return nil
	}
	return &result.Isochronous{
		BurstsPerS: float64(i.MicroRate) / units.MicrosPerUnit,
		MeanBps:    float64(i.Mean.Micro) / units.MicrosPerUnit,
		StdDevBps:  float64(i.StdDev.Micro) / units.MicrosPerUnit,
	}
}
