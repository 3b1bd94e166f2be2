package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"linerate": func() { os.Exit(Main(os.Args, Stdio{Out: os.Stdout, Err: os.Stderr})) },
		"await":    await,
	})
}

// TestScripts runs the binary as a user would; the scripts are in testdata. They
// want root: most of them run in a lab.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":  exits,
			"value":  value,
			"layout": layout,
		},
	})
}

// exits STATUS CMD [ARG…] runs a command, with its output in the files out and
// err, and wants its exit status, and no more
// than one line on standard error if that is not 0.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS CMD [ARG…]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	path, err := exec.LookPath(args[1])
	ts.Check(err)
	var stderr, stdout bytes.Buffer
	cmd := exec.Command(path, args[2:]...)
	cmd.Env = append(os.Environ(), "WORK="+ts.Getenv("WORK"))
	cmd.Dir, cmd.Stdout, cmd.Stderr = ts.Getenv("WORK"), &stdout, &stderr
	got := 0
	var exit *exec.ExitError
	if err := cmd.Run(); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	ts.Check(os.WriteFile(ts.MkAbs("out"), stdout.Bytes(), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("err"), stderr.Bytes(), 0o600))
	if got != want {
		ts.Fatalf("exit status %d, want %d\n%s%s", got, want, stdout.String(), stderr.String())
	}
	if lines := strings.Count(stderr.String(), "\n"); want != 0 && lines > 1 {
		ts.Fatalf("%d lines on standard error:\n%s", lines, stderr.String())
	}
}

// value FILE PATH OP WANT compares a value of a JSON file: PATH is a.b.0.c, or a sum of
// such counts as a+b, OP one of ==, <, >, and absent takes no WANT.
func value(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: value FILE PATH OP [WANT]")
	}
	var v any
	d := json.NewDecoder(strings.NewReader(ts.ReadFile(args[0])))
	d.UseNumber()
	ts.Check(d.Decode(&v))
	if d.More() {
		ts.Fatalf("%s holds more than one object", args[0])
	}
	got, found := sum(ts, v, args[1])
	if args[2] == "absent" {
		if found {
			ts.Fatalf("%s is %v, want it absent", args[1], got)
		}
		return
	}
	if !found {
		ts.Fatalf("%s is absent", args[1])
	}
	if !holds(ts, fmt.Sprint(got), args[2], args[3]) {
		ts.Fatalf("%s is %v, want %s %s", args[1], got, args[2], args[3])
	}
}

// sum is the value at a path, or of the counts at several.
func sum(ts *testscript.TestScript, v any, paths string) (any, bool) {
	terms := strings.Split(paths, "+")
	if len(terms) == 1 {
		return lookUp(v, strings.Split(paths, "."))
	}
	total := int64(0)
	for _, path := range terms {
		got, found := lookUp(v, strings.Split(path, "."))
		if !found {
			ts.Fatalf("%s is absent", path)
		}
		n, err := strconv.ParseInt(fmt.Sprint(got), 10, 64)
		ts.Check(err)
		total += n
	}
	return total, true
}

func lookUp(v any, path []string) (any, bool) {
	for _, key := range path {
		switch x := v.(type) {
		case map[string]any:
			next, ok := x[key]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(key)
			if key == "length" {
				return len(x), true
			}
			if err != nil || i >= len(x) {
				return nil, false
			}
			v = x[i]
		default:
			return nil, false
		}
	}
	return v, true
}

func holds(ts *testscript.TestScript, got, op, want string) bool {
	if op == "==" {
		return got == want
	}
	g, err := strconv.ParseFloat(got, 64)
	ts.Check(err)
	w, err := strconv.ParseFloat(want, 64)
	ts.Check(err)
	switch op {
	case "<":
		return g < w
	case ">":
		return g > w
	}
	ts.Fatalf("no comparison %s", op)
	return false
}
