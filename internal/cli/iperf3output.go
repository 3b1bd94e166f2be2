package cli

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"linerate/internal/host"
	"linerate/internal/report"
	"linerate/internal/result"
)

// iperf3Output shows one test as iperf3 does. It is the observer of a session.
type iperf3Output struct {
	args  *iperf3Args
	stdio Stdio
	facts *report.IPerf3 // the session's caller fills in what it learns
	text  *report.IPerf3Text
}

func newIPerf3Output(a *iperf3Args, stdio Stdio) *iperf3Output {
	o := &iperf3Output{args: a, stdio: stdio, facts: a.facts()}
	o.text = report.NewIPerf3Text(stdio.Out, report.IPerf3Style{
		Format: a.format, Verbose: a.verbose, Timestamps: a.timestamps, Title: a.title,
	}, o.facts)
	return o
}

// facts are what the command line and this host tell of a test.
func (a *iperf3Args) facts() *report.IPerf3 {
	blocks := uint64(a.blocks)
	return &report.IPerf3{
		Server:      a.server,
		Version:     iperf3Says(),
		System:      systemName(),
		Host:        a.client,
		Port:        a.port,
		MSSAsked:    a.mss != 0,
		BlockAsked:  a.length != 0,
		Block:       a.length,
		Blocks:      blocks,
		FQRate:      a.fqRate,
		Interval:    a.interval.Seconds(),
		BufferAsked: a.window,
		Title:       a.title,
		ExtraData:   a.extraData,
	}
}

// systemName is what uname -a tells of this machine, as far as it is known.
func systemName() string {
	kernel, release, _ := strings.Cut(host.Kernel(), " ")
	if kernel == "" {
		kernel = runtime.GOOS
	}
	name, _ := os.Hostname()
	return strings.Join(strings.Fields(strings.Join([]string{kernel, name, release, runtime.GOARCH}, " ")), " ")
}

// Started shows between whom the test runs.
func (o *iperf3Output) Started(r *result.Report) {
	switch {
	case o.args.stream:
		_ = report.IPerf3StreamStart(o.stdio.Out, r, o.facts) // a closed pipe ends the program by SIGPIPE
	case !o.args.json:
		_ = o.text.Started(r)
	}
}

// Interval shows one interval.
func (o *iperf3Output) Interval(r *result.Report, iv *result.Interval) {
	switch {
	case o.args.stream:
		_ = report.IPerf3StreamInterval(o.stdio.Out, r, o.facts, iv)
	case !o.args.json:
		_ = o.text.Interval(r, iv)
	}
}

// Progress shows nothing: iperf3 draws no line of progress.
func (o *iperf3Output) Progress(string) {}

// finish shows the outcome of a test that came about, or in JSON the error of one
// that did not. As with iperf3, JSON holds the error and standard error does not.
func (o *iperf3Output) finish(r *result.Report) error {
	for _, w := range r.Warnings {
		fmt.Fprintf(o.stdio.Err, "warning: %s\n", w)
	}
	if o.args.stream {
		if err := report.IPerf3StreamEnd(o.stdio.Out, r, o.facts); err != nil || !o.args.fullStream {
			return err
		}
	}
	if o.args.json {
		return report.IPerf3JSON(o.stdio.Out, r, o.facts)
	}
	if r.Config != nil {
		if err := o.text.Summary(r); err != nil {
			return err
		}
	}
	switch r.Error {
	case "":
	case iperf3Interrupted:
		fmt.Fprintf(o.stdio.Err, "iperf3: %s\n", r.Error)
	default:
		fmt.Fprintf(o.stdio.Err, "%s%s\n", iperf3ErrorPrefix, r.Error)
	}
	return nil
}

// iperf3Interrupted is the error of a client that was stopped.
const iperf3Interrupted = "interrupt - the client has terminated"
