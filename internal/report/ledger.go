package report

import (
	"fmt"
	"slices"
	"strings"

	"linerate/internal/result"
)

// ledger prints where packets were lost in a direction, which is named where there
// are two: a line each place, and what mends it. Where nothing was lost it prints
// nothing.
func (o Options) ledger(b *strings.Builder, direction string, l *result.Ledger, hosts []result.Host) {
	if l == nil {
		return
	}
	total := l.Unexplained
	width := 0
	for _, s := range l.Lost {
		total += s.Packets
		width = max(width, len(s.Stage))
	}
	if total == 0 {
		return
	}
	if l.Unexplained != 0 {
		width = max(width, len("unexplained"))
	}
	if !strings.HasSuffix(b.String(), "\n\n") { // of the ledger before
		b.WriteByte('\n')
	}
	fmt.Fprintf(b, "%swhere %s lost\n", direction, were(total))
	digits := len(number(total))
	entry := func(stage string, packets uint64, evidence string) {
		fmt.Fprintln(b, strings.TrimRight(fmt.Sprintf("  %-*s   %*d   %s", width, stage, digits, packets, evidence), " "))
	}
	for _, s := range l.Lost {
		evidence := s.Evidence
		if s.AtMost != nil && *s.AtMost != s.Packets {
			evidence += fmt.Sprintf(" (at most %d)", *s.AtMost)
		}
		entry(words(s.Stage), s.Packets, evidence)
		if s.Advice != "" {
			fmt.Fprintf(b, "%*smend: %s\n", 2+width+3+digits+3, "", s.Advice)
		}
	}
	if l.Unexplained != 0 {
		entry("unexplained", l.Unexplained, untold(hosts))
	}
	b.WriteByte('\n')
}

// untold says of which hosts nothing is known that could explain a loss; empty if of
// none.
func untold(hosts []result.Host) string {
	var roles []string
	for _, role := range []string{"sender", "receiver"} {
		told := func(h result.Host) bool { return h.Role == role && h.Counters != nil }
		if !slices.ContainsFunc(hosts, told) {
			roles = append(roles, role+"'s host")
		}
	}
	if len(roles) == 0 {
		return ""
	}
	return "what the " + strings.Join(roles, " and the ") + " counted is unknown"
}

// were is the subject of a sentence: "1 packet was", "18 packets were".
func were(n uint64) string {
	if n == 1 {
		return "1 packet was"
	}
	return fmt.Sprintf("%d packets were", n)
}
