// Package vectors runs the test vectors: what the standards say that a method gives
// for an input, worked out apart from this program. Only tests import it.
package vectors

import (
	"bytes"
	"embed"
	"encoding/json"
	"slices"
	"testing"
)

//go:embed data/*.json
var files embed.FS

// A Vector is an input and what it comes to.
type Vector struct {
	ID, Description, Standard, Kind string
	Input, Expect                   json.RawMessage // see Decode
	Tolerance                       float64         // of floats, relative
}

// Checks are tests of vectors by kind.
type Checks map[string]func(*testing.T, Vector)

// Run checks the vectors of a file, which is named without its ending. Kinds that
// another package checks are named in elsewhere; any other is an error, as is a check
// without a vector.
func Run(t *testing.T, file string, checks Checks, elsewhere ...string) {
	t.Helper()
	ran := make(map[string]bool)
	for _, v := range Load(t, file) {
		check, ours := checks[v.Kind]
		switch {
		case ours:
			ran[v.Kind] = true
			t.Run(v.ID, func(t *testing.T) { check(t, v) })
		case !slices.Contains(elsewhere, v.Kind):
			t.Errorf("%s: nobody checks kind %q", v.ID, v.Kind)
		}
	}
	for kind := range checks {
		if !ran[kind] {
			t.Errorf("%s has no vector of kind %q", file, kind)
		}
	}
}

// Load is every vector of a file.
func Load(t *testing.T, file string) []Vector {
	t.Helper()
	text, err := files.ReadFile("data/" + file + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var table struct {
		Schema, File, About string
		Vectors             []Vector
	}
	strict(t, text, &table)
	for i := range table.Vectors {
		if v := &table.Vectors[i]; v.Tolerance == 0 {
			v.Tolerance = 1e-9
		}
	}
	return table.Vectors
}

// Decode decodes the input and the expectation. A key that in or want has no field for
// is an error, so that none is passed over in silence.
func (v Vector) Decode(t *testing.T, in, want any) {
	t.Helper()
	strict(t, v.Input, in)
	strict(t, v.Expect, want)
}

func strict(t *testing.T, text []byte, to any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		t.Fatal(err)
	}
}
