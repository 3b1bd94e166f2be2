// Package cli is the command line: one file per command, and the only place that
// knows a flag. Parsing ends in a request of plan, running in a report.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/plan"
	"linerate/internal/report"
	"linerate/internal/result"
)

// Exit statuses.
const (
	exitDone        = 0
	exitFailed      = 1   // the test could not run or broke off
	exitUsage       = 2   // bad arguments
	exitThreshold   = 3   // a --fail-… threshold was not met, or doctor found something
	exitHost        = 4   // this host lacks a privilege, a kernel feature or a device
	exitPeer        = 5   // the peer could not be resolved or reached, or refused
	exitInterrupted = 130 // stopped before the planned end
)

// mostToStop is how long a stop may take.
const mostToStop = 1900 * time.Millisecond

// Stdio is where a command writes: results to Out, progress, warnings and errors
// to Err.
type Stdio struct {
	Out, Err io.Writer
}

// An exitError ends the program with a status of its own; its report has been
// printed. Without an error it is silent.
type exitError struct {
	status int
	err    error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// Main runs the program with the words that it was called by, its own name first,
// and returns its exit status.
func Main(argv []string, stdio Stdio) int {
	args := words(argv)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A report can be stuck in a pipe that nobody reads: even then a signal ends
	// the program.
	defer context.AfterFunc(ctx, func() {
		time.Sleep(mostToStop)
		os.Exit(exitInterrupted)
	})()
	help := &tried{w: stdio.Out}
	root := newRoot(stdio, help)
	root.SetArgs(args)
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = help.err
	}
	if err == nil {
		return exitDone
	}
	if message := oneLine(wording(err)); message != "" {
		fmt.Fprintf(stdio.Err, "linerate: %s\n", message)
		var own *exitError
		if printed := errors.As(err, &own); !printed {
			printError(stdio.Out, command, args, message)
		}
	}
	return exitStatus(err)
}

// tried is a writer that keeps why it first could not write: cobra prints a help and
// does not look.
type tried struct {
	w   io.Writer
	err error
}

func (t *tried) Write(b []byte) (int, error) {
	n, err := t.w.Write(b)
	if t.err == nil {
		t.err = err
	}
	return n, err
}

// words are the command and its arguments. Under the name of the program that a
// command stands in for, the name is the command.
func words(argv []string) []string {
	if name := strings.TrimSuffix(filepath.Base(argv[0]), ".exe"); name == "iperf3" || name == "iperf" {
		return append([]string{name}, argv[1:]...)
	}
	return argv[1:]
}

// printError makes an object of an error that left no report, where one was
// asked for. The flags may be what is wrong, so the words are looked at as such.
func printError(w io.Writer, command *cobra.Command, args []string, message string) {
	rep := result.Report{
		Schema: result.Schema, Linerate: version(), Command: command.Name(),
		Started: time.Now().Format(time.RFC3339Nano), Error: message,
	}
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	asked := func(flag string) bool {
		return command.Flags().Lookup(flag) != nil &&
			(slices.Contains(args, "--"+flag) || slices.Contains(args, "--"+flag+"=true"))
	}
	switch {
	case asked("json"):
		_ = report.JSON(w, &rep)
	case asked("json-stream"):
		_ = report.StreamEnd(w, &rep)
	}
}

// exitStatus is the exit status of an error.
func exitStatus(err error) int {
	var (
		own   *exitError
		usage *plan.UsageError
		host  *plan.HostError
		peer  *plan.PeerError
	)
	switch {
	case errors.As(err, &own):
		return own.status
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &usage):
		return exitUsage
	case errors.As(err, &host):
		return exitHost
	case errors.As(err, &peer):
		return exitPeer
	}
	return exitFailed
}

// wording is the text of an error, empty for none.
func wording(err error) string {
	if err == context.Canceled {
		return "stopped before the test began"
	}
	return err.Error()
}

// oneLine joins the lines of a text, as of several errors, to one.
func oneLine(s string) string {
	var lines []string
	for line := range strings.Lines(s) {
		if words := strings.Fields(line); len(words) > 0 {
			lines = append(lines, strings.Join(words, " "))
		}
	}
	return strings.Join(lines, "; ")
}

// newRoot makes the commands. Those of cobra itself write to help.
func newRoot(stdio Stdio, help io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:           "linerate",
		Short:         "Measure networks: UDP at line rate by the kernel path and by raw paths, and TCP",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return noCommand(args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(help)
	root.SetErr(stdio.Err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return &plan.UsageError{Msg: err.Error()}
	})
	root.AddCommand(newSend(stdio), newRecv(stdio), newServe(stdio), newTest(stdio), newCompare(stdio),
		newSearch(stdio), newSweep(stdio), newMTU(stdio), newReplay(stdio), newDoctor(stdio), newLab(stdio),
		newIPerf3(stdio), newIPerf(stdio), newVersion(stdio))
	addCompletion(root)
	addHelp(root)
	return root
}

// addCompletion adds cobra's command, which would answer a shell that it does not
// know with its help and status 0.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	completion := find(root, "completion")
	completion.Args = exactly(0, 0, "a shell: bash, zsh, fish or powershell")
	completion.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	for _, shell := range completion.Commands() {
		shell.Args = exactly(0, 0, "no arguments")
	}
}

// addHelp adds cobra's command, which would answer for a command that there is not
// with the help of all and status 0.
func addHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	find(root, "help").Args = func(_ *cobra.Command, args []string) error {
		if _, rest, err := root.Find(args); err != nil || len(rest) > 0 {
			return noCommand(strings.Join(args, " "))
		}
		return nil
	}
}

// find is a command that root has.
func find(root *cobra.Command, name string) *cobra.Command {
	all := root.Commands()
	return all[slices.IndexFunc(all, func(c *cobra.Command) bool { return c.Name() == name })]
}

func noCommand(name string) error {
	return &plan.UsageError{Msg: fmt.Sprintf("there is no command %q: linerate --help lists them", name)}
}

// exactly is cobra's positional check with a usage error of ours.
func exactly(lo, hi int, want string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < lo || len(args) > hi {
			return &plan.UsageError{Msg: fmt.Sprintf("%s takes %s, not %q", cmd.CommandPath(), want, args)}
		}
		return nil
	}
}
