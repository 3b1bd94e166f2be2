package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// mostAgain is how many tests may be run again: where more fail, something is
// wrong with more than the moment.
const mostAgain = 8

// A second chance is for tests that failed, but not for what a second run can't
// clear: a build, a package that broke off, a skip, a data race.
type second struct {
	tests  []string // package and test, in the order in which they failed
	over   bool     // later failures are of other processors, whose tests only compute
	barred bool
}

// failed takes note of a failure, of which a test's parents fail, too.
func (s *second) failed(e event, output string) {
	switch {
	case s.over || e.Action != "fail" || strings.Contains(output, "DATA RACE") || strings.Contains(output, "panic:"):
		s.barred = true
	case e.Test == "":
		s.barred = s.barred || !s.has(e.Package)
	case !strings.Contains(e.Test, "/"):
		s.tests = append(s.tests, e.Package+" "+e.Test)
	}
}

// has reports whether a test of a package failed: else the package broke off.
func (s *second) has(pkg string) bool {
	for _, t := range s.tests {
		if strings.HasPrefix(t, pkg+" ") {
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
	for _, t := range s.tests {
		pkg, test, _ := strings.Cut(t, " ")
		cmd := exec.Command("go", "test", "-count=1", "-timeout=8m", "-run", "^"+test+"$", pkg)
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		if err := cmd.Run(); err != nil {
			fmt.Printf("FAIL  %s, run again alone: %v\n", t, err)
			return false
		}
		fmt.Printf("again %s: passed when it was run alone\n", t)
	}
	return true
}
