package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"linerate/internal/host"
	"linerate/internal/units"
)

func TestParseProfile(t *testing.T) {
	got, err := ParseProfile(strings.NewReader("time, rate\n# warm up\n0, 100M@l2\n\n2.5,1G@l2\n1m,0\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := Profile{
		{From: 0, Rate: rateOf(t, "100M@l2")},
		{From: 2500 * time.Millisecond, Rate: rateOf(t, "1G@l2")},
		{From: time.Minute},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(RateAt{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for text, want := range map[string]string{
		"":                   "no line has a rate",
		"0,0\n":              "no line has a rate",
		"0,100M\n10":         `line 2: "10" is not TIME,RATE`,
		"1,100M":             "line 1: the first time has to be 0",
		"0,1M\n\n5,2M\n5,3M": "line 4: the time 5 is not after 5s",
		"0,1M\n4,fast":       "line 2: \"fast\" is not a rate",
		"0,1M\nsoon,1M":      `line 2: "soon" is not a duration`,
		"0,1M\n-1,1M":        "line 2: ",
		"0,max":              "line 1: max is no rate",
	} {
		if p, err := ParseProfile(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v, want an error with %q", text, p, err, want)
		}
	}
}

func FuzzParseProfile(f *testing.F) {
	for _, s := range []string{"0,100M\n10,0\n", "time,rate\n0,1pps", "0,5%\n1h,9G@l1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParseProfile(strings.NewReader(s))
		if err != nil {
			return
		}
		if len(p) == 0 || p[0].From != 0 || p.most().Micro == 0 {
			t.Fatalf("%q: %+v", s, p)
		}
		for i := range p[1:] {
			if p[i+1].From <= p[i].From {
				t.Fatalf("%q: %+v", s, p)
			}
		}
	})
}

func TestRamp(t *testing.T) {
	r, err := ParseRamp("100M:350M:100M")
	if err != nil {
		t.Fatal(err)
	}
	got := r.profile(9 * time.Second)
	want := Profile{
		{From: 0, Rate: rateOf(t, "100M")},
		{From: 3 * time.Second, Rate: rateOf(t, "200M")},
		{From: 6 * time.Second, Rate: rateOf(t, "300M")},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(RateAt{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	down, err := ParseRamp("9kpps:1kpps:4kpps")
	if err != nil {
		t.Fatal(err)
	}
	if p := down.profile(3); len(p) != 3 || p[2].Rate != rateOf(t, "1kpps") {
		t.Errorf("down: %+v", p)
	}
	for text, want := range map[string]string{
		"100M:1G": "FROM:TO:STEP", "a:1G:1M": "not a rate", "1M:2kpps:1M": "one unit", "1M:max:1M": "one unit",
		"1M@l1:2M@l2:1M": "one layer", "1M:1M:1M": "goes nowhere", "1M:2M:0": "nothing", "1:10T:1": "steps",
	} {
		if r, err := ParseRamp(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v, want an error with %q", text, r, err, want)
		}
	}
}

func TestProfileOffers(t *testing.T) {
	link := &host.Link{Name: "eth0", SpeedBps: 10e9}
	mixed := Profile{{Rate: rateOf(t, "1G@l1"), where: "line 1"}, {From: 1, Rate: rateOf(t, "50%"), where: "line 2"}, {From: 2, where: "line 3"}}
	o, p, err := mixed.offers("profile", 0, link)
	if err != nil {
		t.Fatal(err)
	}
	if o.rate.Micro != 5e15 || o.layer != units.L1 || len(p) != 3 || p[0].Micro != 1e15 || p[1].Micro != 5e15 || p[2].Micro != 0 {
		t.Errorf("%+v, %+v", o, p)
	}
	for _, bad := range []string{"1kpps", "1G@l2"} {
		mixed[0].Rate = rateOf(t, bad)
		if _, _, err := mixed.offers("profile", 0, link); err == nil || !strings.HasPrefix(err.Error(), "--profile: line") {
			t.Errorf("with %s: %v", bad, err)
		}
	}
}

func TestProfileEnds(t *testing.T) {
	steady := Profile{{Rate: rateOf(t, "1M"), where: "line 1"}}
	ends := append(steady, RateAt{From: 7 * time.Second, where: "line 2"})
	ramp := &Ramp{rateOf(t, "1M"), rateOf(t, "4M"), rateOf(t, "1M")}
	for _, tt := range []struct {
		r    SendRequest
		want time.Duration
		err  string
	}{
		{SendRequest{Profile: ends}, 7 * time.Second, ""},
		{SendRequest{Profile: ends, Duration: time.Second}, time.Second, ""},
		{SendRequest{Profile: steady, Count: 1}, 0, ""},
		{SendRequest{Profile: steady}, 0, "line 1 has no end"},
		{SendRequest{Ramp: ramp}, 4 * time.Second, ""},
		{SendRequest{Ramp: ramp, Duration: time.Second}, time.Second, ""},
		{SendRequest{Ramp: ramp, Profile: ends}, 0, "contradicts --profile"},
		{SendRequest{}, 0, ""},
	} {
		_, _, d, err := tt.r.profile()
		if d != tt.want && err == nil || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%+v: %v, %v, want %v, %q", tt.r, d, err, tt.want, tt.err)
		}
	}
}
