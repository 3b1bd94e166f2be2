package session

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/linux"
	"linerate/internal/probe"
	"linerate/internal/result"
	"linerate/rx/track"
)

func TestClockBeside(t *testing.T) {
	good := linux.ClockState{Synchronised: true, MaxError: 3 * time.Millisecond}
	here := clock{bootID: [16]byte{1}, state: good, known: true, wallOffset: 1_000_000, taiOffset: 38_000_000}
	unknown, alone := here, here
	unknown.known, unknown.bootID = false, [16]byte{}
	alone.state.Synchronised = false
	marker := probe.EndMarker{BootID: [16]byte{2}, Mono: 500, Wall: 2_000_500, Clock: probe.ClockNTP, ErrorBound: 1_000_000}
	tai, free, same := marker, marker, marker
	tai.TAI = 39_000_500
	free.Clock = probe.ClockUnsynchronised
	same.BootID = here.bootID
	nobody := marker
	nobody.BootID, nobody.Clock = [16]byte{}, probe.ClockUnknown

	common := track.Settlement{Clock: track.Synchronised, OffsetNS: -1_000_000, ErrorNS: 4_000_000}
	for _, tt := range []struct {
		name string
		here clock
		end  *probe.EndMarker
		want track.Settlement
	}{
		{"no marker", here, nil, track.Settlement{}},
		{"one machine", here, &same, track.Settlement{Clock: track.Same}},
		{"by UTC", here, &marker, common},
		{"by TAI", here, &tai, common},
		{"the sender's runs free", here, &free, track.Settlement{}},
		{"ours runs free", alone, &marker, track.Settlement{}},
		{"ours is unknown", unknown, &marker, track.Settlement{}},
		{"no boot id is none that is equal", unknown, &nobody, track.Settlement{}},
	} {
		if diff := cmp.Diff(tt.want, tt.here.beside(tt.end)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestClockReading(t *testing.T) {
	var m probe.EndMarker
	c := clock{bootID: [16]byte{1}, state: linux.ClockState{Synchronised: true, MaxError: 7}, known: true, wallOffset: 10, taiOffset: 20}
	before := linux.Monotonic()
	c.read(&m)
	if m.Mono < before || m.Mono > linux.Monotonic() {
		t.Errorf("read at %d, after %d", m.Mono, before)
	}
	want := probe.EndMarker{BootID: c.bootID, Mono: m.Mono, Wall: m.Mono + 10, TAI: m.Mono + 20, Clock: probe.ClockNTP, ErrorBound: 7}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	c = clock{state: linux.ClockState{MaxError: 7}, known: true}
	m = probe.EndMarker{}
	if c.read(&m); m.TAI != 0 || m.ErrorBound != 0 || m.Clock != probe.ClockUnsynchronised {
		t.Errorf("a clock that runs free: %+v", m)
	}
}

func TestContradiction(t *testing.T) {
	bound := int64(1000)
	for _, d := range []*result.Delay{nil, {Min: -1}, {Min: -1000, ErrorBoundNS: &bound}} {
		if w := contradiction(d); w != nil {
			t.Errorf("%+v: %s", d, w)
		}
	}
	if w := contradiction(&result.Delay{Min: -1001, ErrorBoundNS: &bound}); len(w) != 1 || !strings.Contains(w[0], "1µs") {
		t.Errorf("a delay below the bound: %q", w)
	}
}
