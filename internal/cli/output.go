package cli

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"linerate/internal/plan"
	"linerate/internal/report"
	"linerate/internal/result"
)

// output is how a command shows what it measures: as text with a line per
// interval, as one JSON object, as a JSON line per interval, or as rows. It is the
// observer of a session.
type output struct {
	stdio   Stdio
	json    bool
	stream  bool
	csv     bool
	verbose bool
	html    string // file of the page; empty for none

	options report.Options
	text    *report.Text
	status  *statusLine
}

func (o *output) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.json, "json", false, "print the report as one JSON object")
	cmd.PreRunE = func(*cobra.Command, []string) error { return o.oneFormat() }
	o.htmlFlag(cmd)
}

func (o *output) streamFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.stream, "json-stream", false, "print a JSON line per interval and the report as the last")
}

func (o *output) csvFlag(cmd *cobra.Command, rows string) {
	cmd.Flags().BoolVar(&o.csv, "csv", false, "print "+rows+" as CSV, under the names of the JSON report")
}

// oneFormat refuses more than one.
func (o *output) oneFormat() error {
	switch {
	case o.json && o.stream:
		return &plan.UsageError{Flag: "json-stream", Msg: "contradicts --json: give one of them"}
	case o.csv && (o.json || o.stream):
		return &plan.UsageError{Flag: "csv", Msg: "contradicts --json and --json-stream: give one of them"}
	}
	return nil
}

func (o *output) verboseFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&o.verbose, "verbose", "v", false, "say more: why auto chose the path, the next hop, every flow and percentile")
}

// begin prepares for a run: what can be shown depends on where it is written to.
func (o *output) begin() {
	o.options = terminal(o.stdio.Out)
	o.options.Verbose = o.verbose
	o.text = report.NewText(o.stdio.Out, o.options)
	o.status = newStatusLine(o.stdio.Err)
}

// Started shows what is about to be done.
func (o *output) Started(r *result.Report) {
	if !o.json && !o.stream && !o.csv {
		o.text.Header(r)
	}
}

// Interval shows one interval.
func (o *output) Interval(r *result.Report, iv *result.Interval) {
	o.status.clear()
	switch {
	case o.stream:
		_ = report.StreamInterval(o.stdio.Out, iv) // a closed pipe ends the program by SIGPIPE
	case !o.json && !o.csv:
		o.text.Interval(r, iv)
	}
}

// Progress redraws the one line of a terminal.
func (o *output) Progress(line string) { o.status.show(line) }

// finish prints the report and its warnings.
func (o *output) finish(r *result.Report, text func() error) error {
	o.status.clear()
	for _, w := range r.Warnings {
		fmt.Fprintf(o.stdio.Err, "linerate: warning: %s\n", w)
	}
	pageErr := o.writeHTML(r)
	if err := o.print(r, text); err != nil {
		return err
	}
	return pageErr
}

func (o *output) print(r *result.Report, text func() error) error {
	switch {
	case o.json:
		return report.JSON(o.stdio.Out, r)
	case o.stream:
		return report.StreamEnd(o.stdio.Out, r)
	case o.csv:
		return report.CSV(o.stdio.Out, r)
	}
	return text()
}

// terminal has what a writer can show.
func terminal(w io.Writer) report.Options {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || os.Getenv("TERM") == "dumb" {
		return report.Options{} // lines are not broken for a file
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		width = 80
	}
	return report.Options{Width: width, Color: os.Getenv("NO_COLOR") == ""}
}

// statusLine is the one line that is redrawn on a terminal while a long thing runs;
// anywhere else it shows nothing.
type statusLine struct {
	w     io.Writer // nil where there is no terminal
	shown bool
	last  time.Time
}

func newStatusLine(w io.Writer) *statusLine {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		return &statusLine{w: w}
	}
	return &statusLine{}
}

func (s *statusLine) show(line string) {
	if s.w == nil || time.Since(s.last) < 100*time.Millisecond {
		return
	}
	s.last, s.shown = time.Now(), true
	fmt.Fprintf(s.w, "\r\x1b[K%s", line)
}

func (s *statusLine) clear() {
	if s.shown {
		fmt.Fprint(s.w, "\r\x1b[K")
		s.shown = false
	}
}
