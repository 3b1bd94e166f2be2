package clock

import (
	"bytes"
	"encoding/json"
	"math/big"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// strict refuses a key that to has no field for, so that no expectation is passed
// over in silence.
func strict(t *testing.T, raw json.RawMessage, to any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		t.Fatal(err)
	}
}

// TestVectors runs those of exchanges; rx/track has the others of the file.
func TestVectors(t *testing.T) {
	raw, err := os.ReadFile("testdata/delay.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Vectors []struct {
			ID, Kind      string
			Input, Expect json.RawMessage
		}
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, v := range file.Vectors {
		switch v.Kind {
		case "four_timestamps":
			t.Run(v.ID, func(t *testing.T) { exchangeVector(t, v.Input, v.Expect) })
			ran++
		case "min_rtt_offset":
			t.Run(v.ID, func(t *testing.T) { bestVector(t, v.Input, v.Expect) })
			ran++
		}
	}
	if ran != 3 {
		t.Errorf("ran %d vectors, want 3", ran)
	}
}

// half is n/2 as the vectors write it.
func half(n int64) [2]int64 {
	f := big.NewRat(n, 2)
	return [2]int64{f.Num().Int64(), f.Denom().Int64()}
}

func exchangeVector(t *testing.T, input, expect json.RawMessage) {
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
	strict(t, input, &in)
	strict(t, expect, &want)
	e := Exchange(in)
	got := figures{
		RTT: int64(e.RoundTrip()), Offset: half(e.TwiceOffset()), Bound: half(int64(e.RoundTrip())),
		Forward: e.T2 - e.T1, Backward: e.T4 - e.T3, Processing: e.T3 - e.T2,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func bestVector(t *testing.T, input, expect json.RawMessage) {
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
	strict(t, input, &in)
	strict(t, expect, &want)
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
