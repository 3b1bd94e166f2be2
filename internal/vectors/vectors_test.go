package vectors

import (
	"strings"
	"testing"
)

// None of the vectors got lost, and each can be told from the others.
func TestEveryVectorIsThere(t *testing.T) {
	entries, err := files.ReadDir("data")
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for _, entry := range entries {
		for _, v := range Load(t, strings.TrimSuffix(entry.Name(), ".json")) {
			if seen[v.ID] || v.Kind == "" || len(v.Input) == 0 || len(v.Expect) == 0 {
				t.Errorf("%s: vector %q of kind %q is incomplete or there twice", entry.Name(), v.ID, v.Kind)
			}
			seen[v.ID] = true
		}
	}
	if len(seen) != 177 {
		t.Errorf("%d vectors, not 177", len(seen))
	}
}
