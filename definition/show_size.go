package definition

import (
	"fmt"
	"strings"

	"fmqm/container"
	"fmqm/internal/text"
	"fmqm/processtable"
)

// shownSizes is how many tables are named with their sizes.
const shownSizes = 8

// writeSizes says how large the tables are, where that is known, and what nodes take at most.
func writeSizes(b *strings.Builder, tables []ShownTable) {
	var each []string
	all := 0
	for _, t := range tables {
		if t.Bytes == 0 {
			return
		}
		if all += t.Bytes; len(each) < shownSizes {
			each = append(each, fmt.Sprintf("%s %d", t.Queue, t.Bytes))
		}
	}
	more := ""
	if left := len(tables) - len(each); left > 0 {
		more = " and " + text.Counted(left, "other", "others")
	}
	fmt.Fprintf(b, "bytes of the tables: %s%s, %d in all; a node takes one of up to %d, with its signature\n", strings.Join(each, ", "), more, all, processtable.MaxEncoded)
	fmt.Fprintf(b, "a message brings a container of up to %d bytes, encoded\n", container.MaxEncoded)
}
