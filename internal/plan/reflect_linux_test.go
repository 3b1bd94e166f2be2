package plan

import (
	"errors"
	"testing"

	"linerate/internal/lab"
	"linerate/internal/probe"
)

func TestReflectIsRefused(t *testing.T) {
	enter(t, lab.Config{})
	for what, change := range map[string]func(*RecvRequest){
		"any address":     func(r *RecvRequest) { r.Addr = "" },
		"any IPv4":        func(r *RecvRequest) { r.Addr = "0.0.0.0" },
		"a group":         func(r *RecvRequest) { r.Addr = "239.1.2.3" },
		"a raw path":      func(r *RecvRequest) { r.RX = "packet" },
		"merged packets":  func(r *RecvRequest) { r.RX = "gro" },
		"iperf3's format": func(r *RecvRequest) { r.Format = probe.IPerf3 },
	} {
		r := at("10.77.0.1")
		r.Reflect = 1
		change(&r)
		var usage *UsageError
		if _, err := ResolveReceive(t.Context(), r); !errors.As(err, &usage) || usage.Flag != "reflect" {
			t.Errorf("%s: %v", what, err)
		}
	}
	r := at("10.77.0.1")
	r.Reflect = 10
	if p, err := ResolveReceive(t.Context(), r); err != nil || p.Config.Reflect != 10 {
		t.Errorf("%+v, %v", p, err)
	}
}
