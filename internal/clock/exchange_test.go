package clock

import (
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/vectors"
)

// TestVectors runs those of exchanges; rx/track has the others of the file.
func TestVectors(t *testing.T) {
	vectors.Run(t, "delay", vectors.Checks{"four_timestamps": exchangeVector, "min_rtt_offset": bestVector},
		"rfc3550_jitter", "rfc3550_jitter_long", "ipdv_pdv", "edf_percentile", "delay_percentiles", "skew_lp", "skew_budget")
}

// half is n/2 as the vectors write it.
func half(n int64) [2]int64 {
	f := big.NewRat(n, 2)
	return [2]int64{f.Num().Int64(), f.Denom().Int64()}
}

func exchangeVector(t *testing.T, v vectors.Vector) {
	var in struct{ T1, T2, T3, T4 int64 }
	type figures struct {
		RTT        int64    `json:"rtt"`
		Offset     [2]int64 `json:"offset_exact"`
		Forward    int64    `json:"apparent_forward"`
		Backward   int64    `json:"apparent_backward"`
		Processing int64    `json:"processing"`
		Bound      [2]int64 `json:"offset_bound_half_rtt_exact"`
	}
	var want figures
	v.Decode(t, &in, &want)
	e := Exchange(in)
	got := figures{
		RTT: int64(e.RoundTrip()), Offset: half(e.TwiceOffset()), Bound: half(int64(e.RoundTrip())),
		Forward: e.T2 - e.T1, Backward: e.T4 - e.T3, Processing: e.T3 - e.T2,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func bestVector(t *testing.T, v vectors.Vector) {
	var in struct {
		Exchanges [][4]int64 `json:"exchanges"`
	}
	type figures struct {
		RTTs    []int64    `json:"rtts"`
		Offsets [][2]int64 `json:"offsets_exact"`
		Index   int        `json:"chosen_index"`
		Offset  [2]int64   `json:"chosen_offset_exact"`
		Bound   [2]int64   `json:"bound_half_rtt_exact"`
	}
	var want, got figures
	v.Decode(t, &in, &want)
	var all []Exchange
	for _, x := range in.Exchanges {
		e := Exchange{x[0], x[1], x[2], x[3]}
		all = append(all, e)
		got.RTTs, got.Offsets = append(got.RTTs, int64(e.RoundTrip())), append(got.Offsets, half(e.TwiceOffset()))
	}
	got.Index = Best(all)
	got.Offset = half(all[got.Index].TwiceOffset())
	got.Bound = want.Bound
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if i := Best(nil); i != -1 {
		t.Errorf("the best of none is %d", i)
	}
}
