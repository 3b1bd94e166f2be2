// Tally reads the output of go test -json, prints what failed and ends with the
// plain line "N passed, N failed". A skipped test counts as a failure.
//
// Tests that drive whole programs against each other meet a machine that others
// use as well. The few that failed are run once more, alone: what passes then is
// counted as passed, and named.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// event is the part of test2json's event that matters here (go doc test2json).
type event struct {
	Action, Package, Test, Output, ImportPath string
	Elapsed                                   float64
}

func main() {
	passed, failed := 0, 0
	var again second
	output := map[string]*strings.Builder{} // of each test and package under way
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			break
		}
		var e event
		if json.Unmarshal(line, &e) != nil {
			os.Stdout.Write(line) // not an event: the go command itself speaks
			continue
		}
		key := e.Package + e.ImportPath + " " + e.Test
		switch e.Action {
		case "once": // of our own: what fails from here on stays failed
			again.over = true
		case "output", "build-output":
			if output[key] == nil {
				output[key] = &strings.Builder{}
			}
			output[key].WriteString(e.Output)
		case "pass":
			if e.Test != "" {
				passed++
			} else {
				fmt.Printf("ok    %-32s %6.1f s\n", e.Package, e.Elapsed)
			}
			delete(output, key)
		case "fail", "build-fail", "skip":
			if e.Action == "skip" && e.Test == "" {
				break // a package without tests
			}
			failed++
			fmt.Printf("%s  %s\n", strings.ToUpper(e.Action), key)
			text := ""
			if o := output[key]; o != nil {
				text = o.String()
			}
			fmt.Print(text)
			again.failed(e, text)
			delete(output, key)
		}
	}
	if failed > 0 && again.passes() {
		passed, failed = passed+again.events, 0
	}
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	if failed > 0 || passed == 0 {
		os.Exit(1)
	}
}
