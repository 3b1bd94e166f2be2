package iperf3test

import (
	"encoding/json"
	"math"
	"testing"

	"linerate/internal/vectors"
)

func TestVerdictOnSequences(t *testing.T) {
	ran := 0
	for _, vector := range vectors.Load(t, "sequence") {
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
		if err := json.Unmarshal(vector.Expect, &want); err != nil {
			t.Fatal(err)
		}
		if want.Model == nil {
			continue
		}
		if err := json.Unmarshal(vector.Input, &in); err != nil {
			t.Fatal(err)
		}
		var v Verdict
		for _, number := range in.Arrivals {
			v.Arrive(number - in.FirstSeq + 1)
		}
		if v.Lost != want.Model.Lost || v.OutOfOrder != want.Model.OutOfOrder || v.Packets != want.Model.Packets {
			t.Errorf("%s: got %+v, want %+v", vector.ID, v, *want.Model)
		}
		ran++
	}
	if ran != 32 {
		t.Errorf("%d vectors ran, not 32", ran)
	}
}

func TestVerdictOnJitter(t *testing.T) {
	ran := 0
	for _, vector := range vectors.Load(t, "delay") {
		var in struct{ Send, Recv []float64 }
		var want struct {
			Final *float64 `json:"iperf3_final"`
		}
		if err := json.Unmarshal(vector.Expect, &want); err != nil {
			t.Fatal(err)
		}
		if want.Final == nil {
			continue
		}
		if err := json.Unmarshal(vector.Input, &in); err != nil {
			t.Fatal(err)
		}
		var v Verdict
		for i := range in.Send {
			v.Delay(in.Recv[i] - in.Send[i])
		}
		if math.Abs(v.Jitter-*want.Final) > 1e-9 {
			t.Errorf("%s: got %.9f, want %.9f", vector.ID, v.Jitter, *want.Final)
		}
		ran++
	}
	if ran != 6 {
		t.Errorf("%d vectors ran, not 6", ran)
	}
}
