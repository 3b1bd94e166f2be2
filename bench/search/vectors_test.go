package search

import (
	"math"
	"testing"
	"time"

	"linerate/internal/vectors"
)

// near compares with the six decimals that the vectors print.
func near(got, want float64) bool {
	return math.Abs(got-want) <= 1e-6 || math.Abs(got-want) <= 1e-9*math.Abs(want)
}

// TestVectors checks the arithmetic of the strategies against the shared vectors
// of the standards.
func TestVectors(t *testing.T) {
	vectors.Run(t, "search", vectors.Checks{
		"binary_search":    binaryVector,
		"loss_curve":       curveVector,
		"b2b_buffer":       bufferVector,
		"reset_time":       resetVector,
		"frame_loss_rate":  lossVector,
		"mlr_classify":     classifyVector,
		"mlr_target_chain": chainVector,
		"mlr_counts":       countsVector,
	})
}

// device is a link that carries so much and drops the rest.
func device(capacity float64) func(Step) (Trial, error) {
	return func(s Step) (Trial, error) {
		return Trial{Step: s, Loss: max(0, 1-capacity/float64(s.Load))}, nil
	}
}

func binaryVector(t *testing.T, v vectors.Vector) {
	var in struct {
		Capacity   float64 `json:"dut_capacity_pps"`
		Lower      uint64
		Upper      uint64
		Resolution uint64
		Rule       string
	}
	var want struct {
		Trials     [][2]uint64
		Throughput uint64
		Count      int `json:"trial_count"`
	}
	v.Decode(t, &in, &want)
	b := &Binary{Min: in.Lower, Max: in.Upper, Resolution: in.Resolution, Duration: time.Second}
	history, _ := Run(b, device(in.Capacity))
	if len(history) != want.Count {
		t.Errorf("%d trials, want %d", len(history), want.Count)
	}
	for i, trial := range history {
		passed := uint64(0)
		if trial.Loss == 0 {
			passed = 1
		}
		if i >= len(want.Trials) || trial.Load != want.Trials[i][0] || passed != want.Trials[i][1] {
			t.Errorf("trial %d: load %d, passed %d", i, trial.Load, passed)
		}
	}
	if got, ok := b.Result(history); !ok || got != want.Throughput {
		t.Errorf("throughput %d, %v, want %d", got, ok, want.Throughput)
	}
}

func curveVector(t *testing.T, v vectors.Vector) {
	var in struct {
		Capacity float64 `json:"dut_capacity_pps"`
		Max      uint64  `json:"max_rate_pps"`
	}
	var want struct{ Points [][2]float64 }
	v.Decode(t, &in, &want)
	const unit = 1000 // loads are packets in 1000 s, which makes every percent whole
	history, _ := Run(&Curve{Max: in.Max * unit, Percent: 10}, device(in.Capacity*unit))
	if len(history) != len(want.Points) {
		t.Fatalf("%d points, want %d", len(history), len(want.Points))
	}
	for i, trial := range history {
		percent := 100 * float64(trial.Load) / float64(in.Max*unit)
		if !near(percent, want.Points[i][0]) || !near(100*trial.Loss, want.Points[i][1]) {
			t.Errorf("%v %% of the load lost %v %%, want %v", percent, 100*trial.Loss, want.Points[i])
		}
	}
}

func bufferVector(t *testing.T, v vectors.Vector) {
	var in struct {
		Burst      float64    `json:"avg_b2b_frames"`
		Max        [2]float64 `json:"max_theoretical_fps_exact"`
		Throughput float64    `json:"throughput_fps"`
		Actual     *float64   `json:"actual_fps"`
	}
	var want struct {
		Implied   float64  `json:"implied_s"`
		Corrected float64  `json:"corrected_s"`
		Frames    float64  `json:"corrected_frames"`
		Actual    *float64 `json:"actual_s"`
	}
	v.Decode(t, &in, &want)
	b := BufferOf(in.Burst, in.Max[0]/in.Max[1], in.Throughput)
	if !near(b.ImpliedS, want.Implied) || !near(b.CorrectedS, want.Corrected) || !near(b.Frames, want.Frames) {
		t.Errorf("%+v, want %+v", b, want)
	}
	if (in.Actual == nil) != (want.Actual == nil) {
		t.Fatal("the vector has one rate of interest and not the other")
	}
	if in.Actual != nil && !near(b.TimeAt(*in.Actual), *want.Actual) {
		t.Errorf("%v s at %v, want %v", b.TimeAt(*in.Actual), *in.Actual, *want.Actual)
	}
}

func resetVector(t *testing.T, v vectors.Vector) {
	var in struct {
		Lost    uint64  `json:"frames_lost"`
		Offered float64 `json:"offered_fps"`
	}
	var want struct {
		Reset float64 `json:"reset_ms"`
	}
	v.Decode(t, &in, &want)
	if got := ResetTime(in.Lost, in.Offered); !near(got.Seconds()*1000, want.Reset) {
		t.Errorf("%v, want %v ms", got, want.Reset)
	}
}

func lossVector(t *testing.T, v vectors.Vector) {
	var in struct {
		Input  uint64 `json:"input_count"`
		Output uint64 `json:"output_count"`
	}
	var want struct{ Percent float64 }
	v.Decode(t, &in, &want)
	if got := 100 * LossRatio(in.Input, in.Output); !near(got, want.Percent) {
		t.Errorf("%v %%, want %v", got, want.Percent)
	}
}

func classifyVector(t *testing.T, v vectors.Vector) {
	var in struct {
		Load  uint64 `json:"load_fps"`
		Goals []struct {
			Name     string
			Final    float64 `json:"final_trial_s"`
			Sum      float64 `json:"duration_sum_s"`
			Loss     float64 `json:"loss_ratio"`
			Exceeded float64 `json:"exceed_ratio"`
		}
		Trials []struct {
			Count    int
			Duration float64 `json:"duration_s"`
			Loss     float64 `json:"loss_ratio"`
		}
	}
	var want struct {
		Classification map[string]string
		Optimistic     map[string]float64 `json:"optimistic_exceed"`
		Pessimistic    map[string]float64 `json:"pessimistic_exceed"`
		Conditional    map[string]float64 `json:"conditional_throughput"`
	}
	v.Decode(t, &in, &want)
	var trials []Trial
	for _, x := range in.Trials {
		for range x.Count {
			trials = append(trials, Trial{Step{in.Load, seconds(x.Duration)}, x.Loss})
		}
	}
	for _, x := range in.Goals {
		g := Goal{FinalTrial: seconds(x.Final), DurationSum: seconds(x.Sum), Loss: x.Loss, Exceed: x.Exceeded}
		v := g.classify(trials)
		if v.class.String() != want.Classification[x.Name] || !near(v.optimistic, want.Optimistic[x.Name]) || !near(v.pessimistic, want.Pessimistic[x.Name]) {
			t.Errorf("%s: %+v, want %s, %v, %v", x.Name, v, want.Classification[x.Name], want.Optimistic[x.Name], want.Pessimistic[x.Name])
		}
		if c, ok := want.Conditional[x.Name]; ok && !near(g.Conditional(in.Load, trials), c) {
			t.Errorf("%s: conditional throughput %v, want %v", x.Name, g.Conditional(in.Load, trials), c)
		}
	}
}

func chainVector(t *testing.T, v vectors.Vector) {
	var in struct {
		Initial   float64 `json:"initial_trial_s"`
		Final     float64 `json:"final_trial_s"`
		Sum       float64 `json:"duration_sum_s"`
		Preceding int     `json:"preceding_targets"`
	}
	var want struct{ Chain [][3]float64 }
	v.Decode(t, &in, &want)
	const width = 0.005
	g := Goal{FinalTrial: seconds(in.Final), DurationSum: seconds(in.Sum), InitialTrial: seconds(in.Initial), Preceding: in.Preceding, Width: width}
	chain := g.targets()
	if len(chain) != len(want.Chain) {
		t.Fatalf("%d targets, want %d", len(chain), len(want.Chain))
	}
	for i, w := range want.Chain { // final first
		x := chain[len(chain)-1-i]
		multiple := math.Log(1-x.Width) / math.Log(1-width)
		if !near(x.FinalTrial.Seconds(), w[0]) || !near(x.DurationSum.Seconds(), w[1]) || !near(multiple, w[2]) {
			t.Errorf("target %d: %v, %v, %v widths, want %v", i, x.FinalTrial, x.DurationSum, multiple, w)
		}
	}
}

func countsVector(t *testing.T, v vectors.Vector) {
	var in struct {
		Final    float64 `json:"final_trial_s"`
		Sum      float64 `json:"duration_sum_s"`
		Exceeded float64 `json:"exceed_ratio"`
	}
	var want struct {
		Classes [][3]any `json:"good_bad_class"`
	}
	v.Decode(t, &in, &want)
	g := Goal{FinalTrial: seconds(in.Final), DurationSum: seconds(in.Sum), Exceed: in.Exceeded}
	for _, w := range want.Classes {
		var trials []Trial
		for i := range int(w[0].(float64) + w[1].(float64)) {
			trial := Trial{Step: Step{1000, g.FinalTrial}}
			if i >= int(w[0].(float64)) {
				trial.Loss = 0.01
			}
			trials = append(trials, trial)
		}
		if got := g.Classify(trials).String(); got != w[2] {
			t.Errorf("%v good and %v bad: %s, want %v", w[0], w[1], got, w[2])
		}
	}
}
