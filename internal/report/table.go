package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"linerate/internal/units"
)

// A table is printed at once, its columns as wide as their cells need.
type table struct {
	heads []string
	left  []bool // which columns are set to the left
	rows  [][]string
}

// without leaves out a column.
func (t *table) without(column int) {
	t.heads, t.left = slices.Delete(t.heads, column, column+1), slices.Delete(t.left, column, column+1)
	for i := range t.rows {
		t.rows[i] = slices.Delete(t.rows[i], column, column+1)
	}
}

// gutter is what stands between two columns.
const gutter = "  "

// widths is how many columns each column of the table takes.
func (t *table) widths() []int {
	widths := make([]int, len(t.heads))
	for _, cells := range t.lines() {
		for i, cell := range cells {
			widths[i] = max(widths[i], columns(cell))
		}
	}
	return widths
}

// width is how many columns the table takes.
func (t *table) width() int {
	width := len(gutter) * (len(t.heads) - 1)
	for _, w := range t.widths() {
		width += w
	}
	return width
}

func (t *table) lines() [][]string { return append([][]string{t.heads}, t.rows...) }

func (t *table) write(b *strings.Builder) {
	widths := t.widths()
	for _, cells := range t.lines() {
		var line strings.Builder
		for i, cell := range cells {
			if i > 0 {
				line.WriteString(gutter)
			}
			pad := strings.Repeat(" ", widths[i]-columns(cell))
			if t.left[i] {
				line.WriteString(cell + pad)
			} else {
				line.WriteString(pad + cell)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

// oneUnit prints a column of values in the unit of the largest, with four digits
// of it and at least three of the smallest; nil prints as -.
func oneUnit(values []*float64, unit func(float64) (string, float64)) (name string, cells []string) {
	most, least := 0.0, math.Inf(1)
	for _, v := range values {
		if v != nil && *v > 0 {
			most, least = max(most, *v), min(least, *v)
		}
	}
	name, divisor := unit(most)
	decimals := units.Decimals(most/divisor, 4)
	if most > 0 {
		decimals = max(decimals, units.Decimals(least/divisor, 3))
	}
	for _, v := range values {
		cell := "-"
		if v != nil {
			cell = fmt.Sprintf("%.*f", decimals, *v/divisor)
		}
		cells = append(cells, cell)
	}
	return name, cells
}
