package iperf3test

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

// vectors hands over the shared vectors of a file that say what iperf3 makes of
// their input.
func vectors(t *testing.T, file string, test func(t *testing.T, input, expect json.RawMessage)) {
	b, err := os.ReadFile("../../../rx/track/testdata/" + file + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var table struct {
		Vectors []struct {
			ID            string
			Input, Expect json.RawMessage
		}
	}
	if err := json.Unmarshal(b, &table); err != nil {
		t.Fatal(err)
	}
	for _, v := range table.Vectors {
		t.Run(v.ID, func(t *testing.T) { test(t, v.Input, v.Expect) })
	}
}

func TestVerdictOnSequences(t *testing.T) {
	ran := 0
	vectors(t, "sequence", func(t *testing.T, input, expect json.RawMessage) {
		var in struct {
			FirstSeq int64 `json:"first_seq"`
			Arrivals []int64
		}
		var want struct {
			Model *struct {
				Lost       int64
				OutOfOrder int64 `json:"out_of_order"`
				Packets    int64
			} `json:"iperf3_model"`
		}
		if err := json.Unmarshal(expect, &want); err != nil {
			t.Fatal(err)
		}
		if want.Model == nil {
			return
		}
		if err := json.Unmarshal(input, &in); err != nil {
			t.Fatal(err)
		}
		var v Verdict
		for _, number := range in.Arrivals {
			v.Arrive(number - in.FirstSeq + 1)
		}
		if v.Lost != want.Model.Lost || v.OutOfOrder != want.Model.OutOfOrder || v.Packets != want.Model.Packets {
			t.Errorf("got %+v, want %+v", v, *want.Model)
		}
		ran++
	})
	if ran != 32 {
		t.Errorf("%d vectors ran, not 32", ran)
	}
}

func TestVerdictOnJitter(t *testing.T) {
	ran := 0
	vectors(t, "delay", func(t *testing.T, input, expect json.RawMessage) {
		var in struct{ Send, Recv []float64 }
		var want struct {
			Final *float64 `json:"iperf3_final"`
		}
		if err := json.Unmarshal(expect, &want); err != nil {
			t.Fatal(err)
		}
		if want.Final == nil {
			return
		}
		if err := json.Unmarshal(input, &in); err != nil {
			t.Fatal(err)
		}
		var v Verdict
		for i := range in.Send {
			v.Delay(in.Recv[i] - in.Send[i])
		}
		if math.Abs(v.Jitter-*want.Final) > 1e-9 {
			t.Errorf("got %.9f, want %.9f", v.Jitter, *want.Final)
		}
		ran++
	})
	if ran != 6 {
		t.Errorf("%d vectors ran, not 6", ran)
	}
}
