package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"linerate/internal/linux"
)

// newIPerf3 is the command that stands in for iperf3. Its flags are another
// program's, so cobra leaves them alone.
func newIPerf3(stdio Stdio) *cobra.Command {
	return &cobra.Command{
		Use:                "iperf3 -s|-c HOST [OPTION…]",
		Short:              "Take iperf3's own options and print its own output",
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runIPerf3(cmd.Context(), args, stdio)
		},
	}
}

// runIPerf3 does what a command line in iperf3's grammar asks for. Its errors are
// printed in iperf3's way, and status 1 is that of all of them.
func runIPerf3(ctx context.Context, args []string, stdio Stdio) error {
	a, err := parseIPerf3(args)
	if err != nil {
		fmt.Fprintf(stdio.Err, "iperf3: %s\n\n%s", err, iperf3Help)
		return &exitError{status: exitFailed}
	}
	switch {
	case a.help:
		_, err = io.WriteString(stdio.Out, iperf3Help)
		return err
	case a.version:
		_, err = fmt.Fprintf(stdio.Out, "%s\n%s\n", iperf3Says(), systemName())
		return err
	}
	daemon := thisDaemon()
	switch {
	case daemon != nil:
		stdio.Err = daemon.starter
	case a.daemon:
		if err := startDaemon(); err != nil {
			return failIPerf3(stdio, err)
		}
		return nil
	}
	if a.affinity >= 0 {
		if err := linux.PinProcess(a.affinity); err != nil {
			return failIPerf3(stdio, fmt.Errorf("--affinity: %w", err))
		}
	}
	if a.logFile != "" {
		f, err := os.OpenFile(a.logFile, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
		if err != nil {
			return failIPerf3(stdio, fmt.Errorf("unable to open log file: %w", err))
		}
		defer f.Close()
		stdio = Stdio{Out: f, Err: f}
	}
	if a.pidFile != "" {
		if err := os.WriteFile(a.pidFile, []byte(strconv.Itoa(os.Getpid())), 0o644); err != nil {
			return failIPerf3(stdio, fmt.Errorf("unable to write PID file: %w", err))
		}
		defer os.Remove(a.pidFile)
	}
	if a.server {
		return a.serve(ctx, stdio, daemon)
	}
	return a.test(ctx, stdio)
}

// iperf3ErrorPrefix is what iperf3's errors begin with.
const iperf3ErrorPrefix = "iperf3: error - "

// failIPerf3 prints an error as iperf3 does and ends the program with status 1.
func failIPerf3(stdio Stdio, err error) error {
	fmt.Fprintf(stdio.Err, "%s%s\n", iperf3ErrorPrefix, oneLine(err.Error()))
	return &exitError{status: exitFailed}
}
