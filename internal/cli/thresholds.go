package cli

import (
	"fmt"

	"github.com/spf13/pflag"

	"linerate/internal/plan"
	"linerate/internal/result"
	"linerate/internal/units"
)

// thresholds are what --fail-… demand of a result.
type thresholds struct {
	loss  *float64    // highest loss ratio; nil for none
	rate  *units.Rate // lowest rate; nil for none
	layer units.Layer // that rate counts where it names none; its zero value is L4
}

func (t *thresholds) flags(f *pflag.FlagSet) {
	add(f, &t.loss, "fail-loss", "", "", "RATIO", "exit 3 when more is lost: 0.001 or 0.1%", parseRatio)
	add(f, &t.rate, "fail-below", "", "", "RATE", "exit 3 when less arrives", parseLeastRate)
}

// parseLeastRate parses a rate that is a figure.
func parseLeastRate(s string) (*units.Rate, error) {
	r, err := units.ParseRate(s)
	if err == nil && r.Unit != units.Bits && r.Unit != units.Packets {
		err = fmt.Errorf("want a rate in bits or packets, as 500M or 10kpps")
	}
	return &r, err
}

// checkTCP refuses what TCP has no figure for.
func (t *thresholds) checkTCP() error {
	switch {
	case t.loss != nil:
		return &plan.UsageError{Flag: "fail-loss", Msg: "has no use over TCP, which sends again what is lost"}
	case t.rate != nil && (t.rate.Unit == units.Packets || t.counted() != units.L4):
		return &plan.UsageError{Flag: "fail-below", Msg: "wants bits of payload over TCP, as 500M: packets are not counted there"}
	}
	return nil
}

// counted is the layer that the least rate counts.
func (t *thresholds) counted() units.Layer {
	switch {
	case t.rate.Layer != 0:
		return t.rate.Layer
	case t.layer != 0:
		return t.layer
	}
	return units.L4
}

// judge says which threshold a result misses, in either direction.
func (t *thresholds) judge(r *result.Report) error {
	err := t.judgeReceiver(r.Receiver)
	if err == nil && r.Reverse != nil {
		err = t.judgeReceiver(r.Reverse.Receiver)
	}
	if err != nil {
		return &exitError{exitThreshold, err}
	}
	return nil
}

func (t *thresholds) judgeReceiver(r *result.Receiver) error {
	if t.loss != nil {
		switch {
		case r == nil || r.ArrivedPackets == nil:
			return fmt.Errorf("--fail-loss: the loss is not known")
		case r.LossRatio == nil:
			return fmt.Errorf("--fail-loss: the loss is not known, as nothing arrived")
		case *r.LossRatio > *t.loss:
			return fmt.Errorf("--fail-loss: lost %.6g of the packets, allowed %.6g", *r.LossRatio, *t.loss)
		}
	}
	if t.rate == nil {
		return nil
	}
	if r == nil || r.Rate == nil {
		return fmt.Errorf("--fail-below: the rate is not known, as nothing arrived")
	}
	got, want := t.figure(r.Rate), float64(t.rate.Micro)/units.MicrosPerUnit
	name, divisor := units.BitUnit(want)
	if t.rate.Unit == units.Packets {
		name, divisor = units.PacketUnit(want)
	}
	if got < want {
		return fmt.Errorf("--fail-below: %.6g %s arrived, wanted %v", got/divisor, name, t.rate)
	}
	return nil
}

// figure is what the least rate is compared to.
func (t *thresholds) figure(r *result.Rate) float64 {
	if t.rate.Unit == units.Packets {
		return r.PPS
	}
	return t.counted().Of(r.L1Bps, r.L2Bps, r.L3Bps, r.L4Bps)
}
