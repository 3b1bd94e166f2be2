package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
)

// mostAgain is how many tests may be run again: where more fail, something is
// wrong with more than the moment.
const mostAgain = 8

// A second chance is for tests that failed, but not for what a second run can't
// clear: a build, a package that broke off, a skip, a data race.
type second struct {
	tests  []failed // those whose subtests did not fail, in the order in which they failed
	events int      // tests that failed, and their parents
	over   bool     // later failures are of other processors, whose tests only compute
	barred bool
}

// A failed test has the name that go test gives it, subtests after slashes.
type failed struct{ pkg, test string }

func (f failed) String() string { return f.pkg + " " + f.test }

// pattern is what go test -run takes for this test alone. The parents of a subtest
// run, too, but for their other subtests.
func (f failed) pattern() string {
	parts := strings.Split(f.test, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}

// failed takes note of a failure. That of a subtest comes before its parents'.
func (s *second) failed(e event, output string) {
	switch {
	case s.over || e.Action != "fail" || strings.Contains(output, "DATA RACE") || strings.Contains(output, "panic:"):
		s.barred = true
	case e.Test == "":
		s.barred = s.barred || !s.has(e.Package, "")
	default:
		s.events++
		if !s.has(e.Package, e.Test+"/") {
			s.tests = append(s.tests, failed{e.Package, e.Test})
		}
	}
}

// has reports whether a test of a package failed whose name begins so: where none
// did, a package that failed broke off.
func (s *second) has(pkg, prefix string) bool {
	for _, f := range s.tests {
		if f.pkg == pkg && strings.HasPrefix(f.test, prefix) {
			return true
		}
	}
	return false
}

// passes runs the tests again, one by one, and reports whether all of them pass.
func (s *second) passes() bool {
	if s.barred || len(s.tests) == 0 || len(s.tests) > mostAgain {
		return false
	}
	for _, f := range s.tests {
		cmd := exec.Command("go", "test", "-count=1", "-timeout=8m", "-run", f.pattern(), f.pkg)
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		if err := cmd.Run(); err != nil {
			fmt.Printf("FAIL  %v, run again alone: %v\n", f, err)
			return false
		}
		fmt.Printf("again %v: passed when it was run alone\n", f)
	}
	return true
}
