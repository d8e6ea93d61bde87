package definition

import (
	"strings"
	"unicode/utf8"
)

// writeGrid draws rows of cells, each cell a list of lines, with a rule under every
// row. The first row is the head.
func writeGrid(b *strings.Builder, rows [][][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			for _, line := range cell {
				widths[i] = max(widths[i], utf8.RuneCountInString(line))
			}
		}
	}
	rule(b, widths, '-')
	for i, row := range rows {
		height := 1
		for _, cell := range row {
			height = max(height, len(cell))
		}
		for n := range height {
			for j, cell := range row {
				line := ""
				if n < len(cell) {
					line = cell[n]
				}
				b.WriteString("| " + line + strings.Repeat(" ", widths[j]-utf8.RuneCountInString(line)+1))
			}
			b.WriteString("|\n")
		}
		if i == 0 {
			rule(b, widths, '=')
			continue
		}
		rule(b, widths, '-')
	}
}

func rule(b *strings.Builder, widths []int, with rune) {
	for _, w := range widths {
		b.WriteString("+" + strings.Repeat(string(with), w+2))
	}
	b.WriteString("+\n")
}
