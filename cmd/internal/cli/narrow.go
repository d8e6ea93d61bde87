package cli

import (
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	gap       = 2  // between two columns
	leastCell = 20 // no column is made narrower than that: times and states stay whole
)

// filled leaves out the columns in which nothing stands.
func filled(columns []string, rows [][]string) ([]string, [][]string) {
	empty := func(i int) bool {
		return !slices.ContainsFunc(rows, func(row []string) bool { return i < len(row) && row[i] != "" })
	}
	keep := func(cells []string) []string {
		kept := make([]string, 0, len(cells))
		for i, cell := range cells {
			if !empty(i) {
				kept = append(kept, cell)
			}
		}
		return kept
	}
	narrower := make([][]string, len(rows))
	for i, row := range rows {
		narrower[i] = keep(row)
	}
	return keep(columns), narrower
}

// narrow takes from the widest columns until a line has at most room characters, if that
// can be; 0: there is room for all. Identifiers, which people copy, are never broken.
// Columns for which there is no room even so stand on indented lines below the others.
func narrow(columns []string, widths []int, room int) {
	if room <= 0 {
		return
	}
	for {
		total, widest := -gap, -1
		for i, w := range widths {
			total += w + gap
			if columns[i] != "INSTANCE" && w > leastCell && (widest < 0 || w > widths[widest]) {
				widest = i
			}
		}
		if total <= room || widest < 0 {
			return
		}
		widths[widest]--
	}
}

// broken is a row as the lines that its cells take in columns of these widths.
func broken(row []string, widths []int) [][]string {
	var lines [][]string
	for i, cell := range row {
		for at, part := range breakCell(cell, widths[i]) {
			if at == len(lines) {
				lines = append(lines, make([]string, len(row)))
			}
			lines[at][i] = part
		}
	}
	return lines
}

// breakCell breaks a text between its words, and a word that is longer than width where
// the line is full.
func breakCell(text string, width int) []string {
	if utf8.RuneCountInString(text) <= width {
		return []string{text}
	}
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width {
			line += " " + word
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		letters := []rune(word)
		for len(letters) > width {
			lines = append(lines, string(letters[:width]))
			letters = letters[width:]
		}
		line = string(letters)
	}
	return slices.Clip(append(lines, line))
}
