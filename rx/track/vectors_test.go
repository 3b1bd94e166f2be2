package track

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
)

// A vector is one case of testdata, a table shared with other implementations.
type vector struct {
	ID, Description, Standard, Kind string
	Input, Expect                   json.RawMessage
	Tolerance                       float64
}

// strict decodes JSON and refuses a key that v has no field for, so that no
// expectation is passed over in silence.
func strict(t *testing.T, b []byte, v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		t.Fatal(err)
	}
}

// vectors runs those of a file by kind. A nil test is for what belongs to a
// feature of another package.
func vectors(t *testing.T, file string, kinds map[string]func(*testing.T, vector)) {
	b, err := os.ReadFile("testdata/" + file + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var table struct {
		Schema, File, About string
		Vectors             []vector
	}
	strict(t, b, &table)
	ran := 0
	for _, v := range table.Vectors {
		t.Run(v.ID, func(t *testing.T) {
			test, known := kinds[v.Kind]
			if !known {
				t.Fatalf("unknown kind %q", v.Kind)
			}
			if test != nil {
				test(t, v)
				ran++
			}
		})
	}
	if ran == 0 {
		t.Errorf("%s: no vector ran", file)
	}
}

// A later is an expectation that is no figure of the tracker's.
type later = json.RawMessage
