package cli

import (
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
)

// masks leave of iperf3's text its layout. Numbers lose their width with their
// value, as a unit takes as many places as it needs: that rows keep to the column
// is tested where they are made.
var masks = []struct {
	re   *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`(?m)^iperf 3.*$`), "iperf 3"},
	{regexp.MustCompile(`(?m)^Linux .*$`), "Linux"},
	{regexp.MustCompile(`Cookie: \S+`), "Cookie"},
	{regexp.MustCompile(`Time: .*`), "Time"},
	{regexp.MustCompile(`\b(bbr|cubic|reno)\b`), "algorithm"},
	{regexp.MustCompile(`[0-9][0-9.]*(e\+[0-9]+)?`), "0"},
	{regexp.MustCompile(`0 [KMGT]?(Bytes|bits)`), "0 $1"},
	{regexp.MustCompile(` +0`), " 0"},
	{regexp.MustCompile(`0 +`), "0 "},
}

// layoutOf is the layout of iperf3's text; lines of one kind count once, as a busy
// machine may add an interval. One in which nothing moved does not count at all.
func layoutOf(text string) []string {
	for _, m := range masks {
		text = m.re.ReplaceAllString(text, m.with)
	}
	var kinds []string
	for line := range strings.Lines(text) {
		if !slices.Contains(kinds, line) && !strings.Contains(line, " 0 Bytes 0 bits/sec") {
			kinds = append(kinds, line)
		}
	}
	return kinds
}

// layout OURS STOCK wants two files of iperf3's text to be laid out alike.
func layout(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: layout OURS STOCK")
	}
	ours, stock := ts.ReadFile(args[0]), ts.ReadFile(args[1])
	if diff := cmp.Diff(layoutOf(stock), layoutOf(ours)); diff != "" {
		ts.Fatalf("(-stock +ours):\n%s\nours:\n%s\nstock:\n%s", diff, ours, stock)
	}
}
