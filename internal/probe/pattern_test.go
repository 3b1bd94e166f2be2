package probe_test

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/probe"
)

func TestPattern(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pattern")
	if err := os.WriteFile(file, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		offset int
		want   string
	}{
		{"ramp", 0, "0001020304"},
		{"ramp", 254, "feff000102"},
		{"zero", 18, "0000000000"},
		{"random", 18, "c351b78f20"},
		{"file:" + file, 0, "6162636162"},
		{"file:" + file, 65506, "6263616263"},
	}
	for _, tt := range tests {
		p, err := probe.ParsePattern(tt.name)
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 5)
		p.Fill(b, tt.offset)
		if got := hex.EncodeToString(b); got != tt.want {
			t.Errorf("%s at %d: %s, want %s", tt.name, tt.offset, got, tt.want)
		}
		if !p.Check(b, tt.offset) || !p.Check(nil, tt.offset) {
			t.Errorf("%s at %d: its own bytes are refused", tt.name, tt.offset)
		}
		for i := range b {
			b[i] ^= 0x10
			if p.Check(b, tt.offset) {
				t.Errorf("%s at %d: a wrong byte %d is accepted", tt.name, tt.offset, i)
			}
			b[i] ^= 0x10
		}
	}
}

func TestPatternCutsLongFile(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789abcdef"), 8192)
	file := filepath.Join(t.TempDir(), "long")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := probe.ParsePattern("file:" + file)
	if err != nil {
		t.Fatal(err)
	}
	if !p.Check(content[:1<<16], 0) {
		t.Error("the file's first 64 KiB are refused")
	}
	if p.Check(content[:1<<16+1], 0) || p.Check([]byte{'0'}, 1<<16) {
		t.Error("bytes beyond any payload are accepted")
	}
}

func TestParsePatternErrors(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ in, want string }{
		{"", `unknown payload pattern "": want ramp, zero, random or file:PATH`},
		{"Ramp", `unknown payload pattern "Ramp": want ramp, zero, random or file:PATH`},
		{"file:" + empty, "payload pattern: " + empty + " is empty: name a file with at least one byte"},
		{"file:" + dir, "payload pattern: read " + dir + ": is a directory"},
		{"file:" + dir + "/none", "payload pattern: open " + dir + "/none: no such file or directory"},
	}
	for _, tt := range tests {
		_, err := probe.ParsePattern(tt.in)
		if err == nil {
			t.Errorf("ParsePattern(%q) took it", tt.in)
		} else if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
			t.Errorf("ParsePattern(%q) (-want +got):\n%s", tt.in, diff)
		}
	}
}

func FuzzParsePattern(f *testing.F) {
	for _, s := range []string{"ramp", "zero", "random", "file:", "file:/dev/null", "ramp "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 5 && s[:5] == "file:" && s != "file:/dev/null" {
			return // other people's files
		}
		p, err := probe.ParsePattern(s)
		if err != nil {
			return
		}
		b := make([]byte, 1500)
		p.Fill(b, 18)
		if !p.Check(b, 18) {
			t.Errorf("%q refuses its own bytes", s)
		}
	})
}

func BenchmarkPatternCheck(b *testing.B) {
	b.ReportAllocs()
	p, err := probe.ParsePattern("random")
	if err != nil {
		b.Fatal(err)
	}
	payload := make([]byte, 1472)
	p.Fill(payload, 0)
	b.SetBytes(int64(len(payload)))
	for b.Loop() {
		if !p.Check(payload[18:], 18) {
			b.Fatal("corrupt")
		}
	}
}
