package report

import (
	"encoding/json"
	"io"

	"linerate/internal/result"
)

// JSON prints the report as exactly one indented object.
func JSON(w io.Writer, r *result.Report) error {
	e := encoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// StreamInterval prints one interval as a line: {"interval":{...}}.
func StreamInterval(w io.Writer, iv *result.Interval) error {
	return encoder(w).Encode(struct {
		Interval *result.Interval `json:"interval"`
	}{iv})
}

// StreamEnd prints the whole report as the last line of a stream: {"end":{...}}.
func StreamEnd(w io.Writer, r *result.Report) error {
	return encoder(w).Encode(struct {
		End *result.Report `json:"end"`
	}{r})
}

// encoder leaves <, > and & as they are: the output is no web page.
func encoder(w io.Writer) *json.Encoder {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e
}
