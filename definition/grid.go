package definition

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// writeGrid draws rows of cells, each cell a list of lines, with a rule under every
// row. The first row is the head.
func writeGrid(b *strings.Builder, rows [][][]string) {
	widths := widthsOf(rows)
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

// widthsOf gives how many characters each column needs.
func widthsOf(rows [][][]string) []int {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			for _, line := range cell {
				widths[i] = max(widths[i], utf8.RuneCountInString(line))
			}
		}
	}
	return widths
}

// gridWidth is how many characters a line of the grid has.
func gridWidth(rows [][][]string) int {
	width := 1
	for _, w := range widthsOf(rows) {
		width += w + 3
	}
	return width
}

// leastFold is how short a line may get by being broken.
const leastFold = 20

// writeList writes the rows of a grid, whose first two columns name each, as lists: a line
// for each line of a cell, broken between words where it is longer than room.
func writeList(b *strings.Builder, rows [][][]string, room int) {
	head := rows[0]
	label := 0
	for _, name := range head {
		label = max(label, utf8.RuneCountInString(name[0]))
	}
	for _, row := range rows[1:] {
		fmt.Fprintf(b, "%s (process %s)\n", row[1][0], row[0][0])
		for i, cell := range row[2:] {
			name, follows := head[i+2][0], ""
			for _, line := range cell {
				for _, part := range foldWithin(line, max(room-label-6, leastFold), math.MaxInt) {
					fmt.Fprintf(b, "  %-*s  %s%s\n", label, name, follows, part)
					name, follows = "", "  "
				}
				follows = ""
			}
		}
	}
}
