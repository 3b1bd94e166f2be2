package report

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"linerate/internal/result"
)

// A page has what the text has, draws each interval, and fetches nothing.
func TestHTML(t *testing.T) {
	lossy := lossyReport()
	lossy.Warnings = []string{"<script>alert(1)</script>"}
	for _, tt := range []struct {
		name    string
		report  *result.Report
		says    string
		stripes int
	}{
		{"send", sendReport(), "sent 20898 packets", 3},
		{"recv", lossy, "lost 18", 3},
		{"nothing", nothingReport(), "nothing arrived", 0},
		{"search", tables()["search"], "8149 packets/s lost more", 0},
		{"doctor", doctorReport(), "rmem_max", 0},
		{"error", &result.Report{Command: "send", Error: "no route"}, "no route", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := HTML(&b, tt.report); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(b.String(), tt.says) {
				t.Errorf("the page does not say %q", tt.says)
			}
			root, err := html.Parse(&b)
			if err != nil {
				t.Fatal(err)
			}
			stripes := 0
			for n := range root.Descendants() {
				if n.Data == "g" {
					stripes++
				}
				if n.Type == html.ElementNode && n.Data == "script" {
					t.Error("the page has a script")
				}
				for _, a := range n.Attr {
					if a.Key == "src" || a.Key == "href" {
						t.Errorf("the page fetches %s", a.Val)
					}
				}
			}
			if stripes != tt.stripes {
				t.Errorf("%d intervals are drawn, want %d", stripes, tt.stripes)
			}
		})
	}
}
