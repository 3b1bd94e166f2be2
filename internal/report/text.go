// Package report makes what a person or a program reads from a report: text and
// JSON. It is pure: it measures nothing, and reads neither the terminal nor the
// environment.
package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"linerate/internal/result"
)

// Options are the properties of the place where text goes.
type Options struct {
	Color   bool // paint with ANSI colours, which only repeat what the words say
	Width   int  // columns; 0 for no limit
	Verbose bool
}

// A Text prints a report for a person while it comes about: a header, a line per
// interval, a summary. Every call is one write.
type Text struct {
	w     io.Writer
	o     Options
	scale scale
}

// NewText returns a Text that prints to w.
func NewText(w io.Writer, o Options) *Text { return &Text{w: w, o: o} }

// Header prints what is about to be done, once the configuration is known.
func (t *Text) Header(r *result.Report) error {
	var b strings.Builder
	t.o.head(&b, r)
	return t.flush(&b)
}

func (o Options) head(b *strings.Builder, r *result.Report) {
	if r.Replay != nil {
		o.replay(b, r.Config, r.Replay)
	} else {
		o.header(b, r)
	}
}

// Interval prints one line of the live table, and the table's head above the
// first. The receiver's view is shown where there is one, else the sender's.
func (t *Text) Interval(r *result.Report, iv *result.Interval) error {
	var b strings.Builder
	t.interval(&b, r.Config, iv)
	return t.flush(&b)
}

// Summary prints the outcome: what was sent, what arrived, where the rest was
// lost, what limited the rate and, last, the verdict. It leaves r.Warnings and
// r.Error to the caller.
func (t *Text) Summary(r *result.Report) error {
	var b strings.Builder
	t.o.summary(&b, r)
	return t.flush(&b)
}

func (t *Text) flush(b *strings.Builder) error {
	_, err := io.WriteString(t.w, b.String())
	return err
}

// A colour is an ANSI SGR parameter.
type colour string

const (
	red    colour = "31"
	green  colour = "32"
	yellow colour = "33"
)

// paint colours s if the place can show it.
func (o Options) paint(c colour, s string) string {
	if !o.Color {
		return s
	}
	return "\x1b[" + string(c) + "m" + s + "\x1b[0m"
}

// line prints parts on one line with a separator between them, and goes on
// indented on the next where the width is exceeded. A comma or colon of the
// separator stays at the end of the line.
func (o Options) line(b *strings.Builder, separator string, parts ...string) {
	mark := strings.Trim(separator, " ·")
	column := 0
	for i, part := range parts {
		w := columns(part)
		switch {
		case i == 0:
			column = w
		case o.Width > 0 && column+columns(separator)+w+len(mark) > o.Width:
			b.WriteString(mark + "\n  ")
			column = 2 + w
		default:
			b.WriteString(separator)
			column += columns(separator) + w
		}
		b.WriteString(part)
	}
	b.WriteByte('\n')
}

// columns is how many columns s takes on a terminal, colours aside.
func columns(s string) int {
	n := 0
	for before, rest, painted := strings.Cut(s, "\x1b["); ; before, rest, painted = strings.Cut(s, "\x1b[") {
		n += utf8.RuneCountInString(before)
		if !painted {
			return n
		}
		_, s, _ = strings.Cut(rest, "m")
	}
}

// count prints a number of things: "1 gap", "3 gaps".
func count(n uint64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
