package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"linerate/internal/result"
	"linerate/internal/units"
)

//go:embed page.html.tmpl
var pageText string

// page is the report as one self-contained page: no script, and nothing that is
// fetched from anywhere.
var page = template.Must(template.New("page").Parse(pageText))

// HTML writes a report as one page that needs nothing else: what the text says,
// a chart of the rate and the loss over time, and the whole object.
func HTML(w io.Writer, r *result.Report) error {
	var text, object strings.Builder
	options := Options{Verbose: true}
	if err := outcome(&text, r, options); err != nil {
		return err
	}
	if err := JSON(&object, r); err != nil {
		return err
	}
	return page.Execute(w, struct {
		*result.Report
		Text, Object string
		Chart        *chart
	}{r, text.String(), object.String(), newChart(r.Intervals)})
}

// outcome prints what the command's text ends with, under its head if it has one.
func outcome(b *strings.Builder, r *result.Report, o Options) error {
	switch {
	case r.Findings != nil:
		return Doctor(b, r, o)
	case r.Results != nil:
		return rows(b, r, o)
	case r.Config == nil:
		return nil
	}
	o.head(b, r)
	if r.Sender != nil || r.Receiver != nil || r.ConnectNS != nil || r.BounceNS != nil {
		b.WriteByte('\n')
		o.summary(b, r)
	}
	return nil
}

// rows prints the table of a command of rows.
func rows(w io.Writer, r *result.Report, o Options) error {
	switch r.Command {
	case "compare":
		return Compare(w, r, o)
	case "mtu":
		return MTU(w, r, o)
	case "search":
		return Search(w, r, o)
	case "sweep":
		return Sweep(w, r, o)
	}
	return nil
}

// A chart is drawn in an SVG of Width by Height: a stripe of rate for each interval,
// and in it the share that was lost.
type chart struct {
	Width, Height int
	Stripes       []stripe
	Top           string // the rate at the top
	Until         string // the time at the right
}

// A stripe is one interval. Heights go up from the bottom of the chart.
type stripe struct {
	X, Y, Width, Height float64
	LostY, LostHeight   float64
	Label               string
}

const (
	chartWidth  = 800
	chartHeight = 160
)

// newChart draws intervals; nil if there are none to draw.
func newChart(intervals []result.Interval) *chart {
	var most, end float64
	for _, iv := range intervals {
		most, end = max(most, bpsOf(&iv)), max(end, iv.EndS)
	}
	if most == 0 || end == 0 {
		return nil
	}
	c := &chart{Width: chartWidth, Height: chartHeight, Top: units.FormatBits(most), Until: fmt.Sprintf("%.4g s", end)}
	for _, iv := range intervals {
		b := stripe{
			X: chartWidth * iv.StartS / end, Width: chartWidth * (iv.EndS - iv.StartS) / end,
			Height: chartHeight * bpsOf(&iv) / most,
			Label:  fmt.Sprintf("%.4g to %.4g s: %s", iv.StartS, iv.EndS, units.FormatBits(bpsOf(&iv))),
		}
		b.Y = chartHeight - b.Height
		if r := iv.Receiver; r != nil && r.IntervalArrived != nil && r.Lost > 0 {
			b.LostHeight = b.Height * float64(r.Lost) / float64(r.Lost+r.Unique)
			b.LostY = chartHeight - b.LostHeight
			b.Label += ", lost " + number(r.Lost)
		}
		c.Stripes = append(c.Stripes, b)
	}
	return c
}

// bpsOf is the payload rate of an interval: as received, or else as sent.
func bpsOf(iv *result.Interval) float64 {
	switch {
	case iv.Receiver != nil && iv.Receiver.Rate != nil:
		return iv.Receiver.Rate.L4Bps
	case iv.Receiver == nil && iv.Sender != nil && iv.Sender.Rate != nil:
		return iv.Sender.Rate.L4Bps
	}
	return 0
}
