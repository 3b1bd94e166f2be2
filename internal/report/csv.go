package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"linerate/internal/result"
)

// CSV prints rows under a line of names: those of a table of results, else the
// intervals of a test, else, where it had none, the whole of it. Names are those
// of the JSON report, a dot between levels, as sender.rate.pps. What a row does not
// know is empty. Lists of objects (trials, flows) are left out.
func CSV(w io.Writer, r *result.Report) error {
	var t sheet
	for i := range r.Results {
		if err := t.add(&r.Results[i]); err != nil {
			return err
		}
	}
	for i := range r.Intervals {
		if err := t.add(&r.Intervals[i]); err != nil {
			return err
		}
	}
	if len(t.rows) == 0 {
		whole := struct {
			Sender    *result.Sender     `json:"sender,omitempty"`
			Receiver  *result.Receiver   `json:"receiver,omitempty"`
			Ledger    *result.Ledger     `json:"ledger,omitempty"`
			Reverse   *result.Direction  `json:"reverse,omitempty"`
			RTTNS     *result.RoundTrips `json:"rtt_ns,omitempty"`
			BounceNS  *result.Bounces    `json:"bounce_ns,omitempty"`
			ConnectNS *result.Connects   `json:"connect_ns,omitempty"`
		}{r.Sender, r.Receiver, r.Ledger, r.Reverse, r.RTTNS, r.BounceNS, r.ConnectNS}
		if err := t.add(&whole); err != nil {
			return err
		}
	}
	return t.write(w)
}

// A sheet is rows whose columns are known once all of them are.
type sheet struct {
	columns []string
	rows    []map[string]string
}

// add adds a row. A column that is new stands behind the one that is before it in
// this row.
func (t *sheet) add(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("csv: %w", err)
	}
	f := flattener{tokens: json.NewDecoder(bytes.NewReader(text))}
	f.tokens.UseNumber() // digits stay as they are
	if err := f.value("", false); err != nil {
		return fmt.Errorf("csv: %w", err)
	}
	row, at := make(map[string]string), 0
	for _, c := range f.cells {
		row[c.name] = c.text
		if i := slices.Index(t.columns, c.name); i >= 0 {
			at = i + 1
		} else {
			t.columns = slices.Insert(t.columns, at, c.name)
			at++
		}
	}
	t.rows = append(t.rows, row)
	return nil
}

func (t *sheet) write(w io.Writer) error {
	if len(t.columns) == 0 {
		return nil
	}
	lines := [][]string{t.columns}
	for _, row := range t.rows {
		line := make([]string, len(t.columns))
		for i, name := range t.columns {
			line[i] = row[name]
		}
		lines = append(lines, line)
	}
	return csv.NewWriter(w).WriteAll(lines)
}

// A flattener makes cells of a JSON value.
type flattener struct {
	tokens *json.Decoder
	cells  []cell
}

type cell struct{ name, text string }

// value takes the next value; one in a list can't be an object.
func (f *flattener) value(name string, listed bool) error {
	token, err := f.tokens.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('{'):
		before := len(f.cells)
		for f.tokens.More() {
			key, err := f.tokens.Token()
			if err != nil {
				return err
			}
			if err := f.value(under(name, key), false); err != nil {
				return err
			}
		}
		if listed {
			f.cells = f.cells[:before]
		}
	case json.Delim('['):
		for i := 0; f.tokens.More(); i++ {
			if err := f.value(under(name, i), true); err != nil {
				return err
			}
		}
	case nil: // unknown
		return nil
	default:
		f.cells = append(f.cells, cell{name, fmt.Sprint(token)})
		return nil
	}
	_, err = f.tokens.Token() // the closing brace
	return err
}

// under is the name of what a level holds.
func under(level string, key any) string {
	if level == "" {
		return fmt.Sprint(key)
	}
	return fmt.Sprintf("%s.%v", level, key)
}
