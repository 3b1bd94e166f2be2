package gen

import (
	"strings"
	"testing"
)

func TestPaths(t *testing.T) {
	seen := map[string]bool{}
	for i := range Paths {
		p := &Paths[i]
		if p.Name == "" || p.Name == "auto" || seen[p.Name] {
			t.Errorf("row %d: name %q is empty, reserved or taken", i, p.Name)
		}
		seen[p.Name] = true
		if p.Family != Kernel && p.Family != Raw {
			t.Errorf("%s: family %q", p.Name, p.Family)
		}
		if p.Doc == "" || strings.Contains(p.Doc, "\n") || p.Needs == "" {
			t.Errorf("%s: doc %q, needs %q", p.Name, p.Doc, p.Needs)
		}
		if p.Probe == nil || p.Open == nil {
			t.Errorf("%s: can't be probed or opened", p.Name)
		}
		if found, err := Find(p.Name); found != p || err != nil {
			t.Errorf("Find(%q) = %v, %v", p.Name, found, err)
		}
	}
	if !seen["udp"] {
		t.Error("no path udp, which every system has")
	}
}

func TestFindUnknown(t *testing.T) {
	names := make([]string, len(Paths))
	for i, p := range Paths {
		names[i] = p.Name
	}
	p, err := Find("warp")
	want := `no transmit path "warp" here; --path takes ` + strings.Join(names, ", ")
	if p != nil || err == nil || err.Error() != want {
		t.Errorf("Find = %v, %v, want %q", p, err, want)
	}
}
