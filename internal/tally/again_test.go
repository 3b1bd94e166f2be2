package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOfAFailedTestTheInnermostIsRunAgain(t *testing.T) {
	var s second
	for _, e := range []event{
		{Action: "fail", Package: "p", Test: "TestA/one/1.5_s"},
		{Action: "fail", Package: "p", Test: "TestA/one"},
		{Action: "fail", Package: "p", Test: "TestA/two"},
		{Action: "fail", Package: "p", Test: "TestA"},
		{Action: "fail", Package: "p", Test: "TestAB"},
		{Action: "fail", Package: "p"},
		{Action: "fail", Package: "q", Test: "TestA"},
		{Action: "fail", Package: "q"},
	} {
		s.failed(e, "")
	}
	var got []string
	for _, f := range s.tests {
		got = append(got, f.pkg+" "+f.pattern())
	}
	want := []string{`p ^TestA$/^one$/^1\.5_s$`, "p ^TestA$/^two$", "p ^TestAB$", "q ^TestA$"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if s.events != 6 || s.barred {
		t.Errorf("%d tests failed, barred %v; want 6 that may be run again", s.events, s.barred)
	}
}

func TestWhatASecondRunCantClear(t *testing.T) {
	for what, c := range map[string]struct {
		e      event
		output string
	}{
		"a race":                      {event{Action: "fail", Package: "p", Test: "TestA"}, "WARNING: DATA RACE"},
		"a panic":                     {event{Action: "fail", Package: "p", Test: "TestA"}, "panic: oh"},
		"a skip":                      {event{Action: "skip", Package: "p", Test: "TestA"}, ""},
		"a build":                     {event{Action: "build-fail", ImportPath: "p"}, ""},
		"a package without its tests": {event{Action: "fail", Package: "p"}, ""},
	} {
		var s second
		s.failed(c.e, c.output)
		if !s.barred {
			t.Errorf("%s may be run again", what)
		}
	}
}
