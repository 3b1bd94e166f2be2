package iperf3

import (
	"math"
	"testing"
	"time"
)

func TestCheck(t *testing.T) {
	udp := Params{UDP: true, Len: 1448, Parallel: 1, Time: 10, Bandwidth: 1e6}
	tcp := Params{TCP: true, Parallel: 1, Time: 10}
	with := func(p Params, change func(*Params)) Params { change(&p); return p }
	none := Limits{}
	limited := Limits{Rate: 10e6, Duration: time.Minute}
	for name, c := range map[string]struct {
		params Params
		limits Limits
		want   Code
	}{
		"udp":                {udp, none, None},
		"tcp":                {tcp, none, None},
		"parallel 0":         {with(udp, func(p *Params) { p.Parallel = 0 }), none, 6},
		"parallel 128":       {with(udp, func(p *Params) { p.Parallel = 128 }), none, None},
		"parallel 129":       {with(udp, func(p *Params) { p.Parallel = 129 }), none, 6},
		"parallel -1":        {with(udp, func(p *Params) { p.Parallel = -1 }), none, 6},
		"udp len missing":    {with(udp, func(p *Params) { p.Len = 0 }), none, 20},
		"udp len 15":         {with(udp, func(p *Params) { p.Len = 15 }), none, 20},
		"udp len 16":         {with(udp, func(p *Params) { p.Len = 16 }), none, None},
		"udp len 65507":      {with(udp, func(p *Params) { p.Len = 65507 }), none, None},
		"udp len 65508":      {with(udp, func(p *Params) { p.Len = 65508 }), none, 20},
		"tcp len 1 MiB":      {with(tcp, func(p *Params) { p.Len = 1 << 20 }), none, None},
		"tcp len more":       {with(tcp, func(p *Params) { p.Len = 1<<20 + 1 }), none, 7},
		"tcp len -1":         {with(tcp, func(p *Params) { p.Len = -1 }), none, 7},
		"time -1":            {with(udp, func(p *Params) { p.Time = -1 }), none, 5},
		"time a day":         {with(udp, func(p *Params) { p.Time = 86400 }), none, None},
		"time more":          {with(udp, func(p *Params) { p.Time = 86401 }), none, 5},
		"time without end":   {with(udp, func(p *Params) { p.Time = 0 }), none, None},
		"omit 601":           {with(udp, func(p *Params) { p.Omit = 601 }), none, 12},
		"num -1":             {with(udp, func(p *Params) { p.Num = -1 }), none, 16},
		"two ends":           {with(udp, func(p *Params) { p.Num, p.BlockCount = 1, 1 }), none, 16},
		"window":             {with(tcp, func(p *Params) { p.Window = 512<<20 + 1 }), none, 8},
		"MSS":                {with(tcp, func(p *Params) { p.MSS = 32768 }), none, 10},
		"burst":              {with(udp, func(p *Params) { p.Burst = 1001 }), none, 15},
		"TOS":                {with(udp, func(p *Params) { p.TOS = 256 }), none, 21},
		"flow label":         {with(udp, func(p *Params) { p.FlowLabel = 1 << 20 }), none, 127},
		"affinity":           {with(udp, func(p *Params) { p.ServerAffinity = 1025 }), none, 132},
		"both directions":    {with(udp, func(p *Params) { p.Reverse, p.Bidirectional = true, true }), none, 25},
		"SCTP":               {Params{SCTP: true, Parallel: 1}, none, 131},
		"rate below zero":    {with(udp, func(p *Params) { p.Bandwidth = -1 }), none, 27},
		"within limits":      {with(udp, func(p *Params) { p.Parallel, p.Time = 10, 60 }), limited, None},
		"over the rate":      {with(udp, func(p *Params) { p.Parallel = 11 }), limited, 27},
		"both ways over it":  {with(udp, func(p *Params) { p.Parallel, p.Bidirectional = 6, true }), limited, 27},
		"rate unlimited":     {with(udp, func(p *Params) { p.Bandwidth = 0 }), limited, 27},
		"rate overflows":     {with(udp, func(p *Params) { p.Bandwidth, p.Parallel = math.MaxInt64, 128 }), limited, 27},
		"too long":           {with(udp, func(p *Params) { p.Time, p.Omit = 55, 6 }), limited, 37},
		"an amount, limit":   {with(udp, func(p *Params) { p.Time, p.BlockCount = 0, 20 }), limited, None},
		"without end, limit": {with(udp, func(p *Params) { p.Time = 0 }), limited, 37},
	} {
		if got := c.params.Check(c.limits); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
