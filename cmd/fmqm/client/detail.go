package client

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"fmqm/api"
	common "fmqm/cmd/internal/cli"
)

const (
	detailsShown = 10   // activities below a table, on a terminal, unless -o wide was given
	inputShown   = 1000 // characters of an input, likewise
)

// detail is what a table has no room for: what an activity's program got, and said last.
type detail struct {
	activity, node string
	state          api.ActivityState
	input          json.RawMessage
	stderr         string
}

// details shows them below a table, what is in error first.
func details(p *common.Printer, w io.Writer, all []detail) error {
	all = slices.DeleteFunc(all, func(d detail) bool { return len(d.input) == 0 && d.stderr == "" })
	first := func(d detail) int {
		if d.state == api.ActivityInError {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(all, func(x, y detail) int { return cmp.Compare(first(x), first(y)) })
	wide := !p.Narrow()
	var b strings.Builder
	for i, d := range all {
		if i == detailsShown && !wide {
			fmt.Fprintf(&b, "\nand %d more activities with an input or lines of standard error: -o wide shows them\n", len(all)-i)
			break
		}
		fmt.Fprintf(&b, "\n%s at %s, %s\n", common.OneLine(d.activity), common.OneLine(d.node), d.state)
		if len(d.input) > 0 {
			input := []rune(common.OneLine(string(compact(d.input))))
			if len(input) > inputShown && !wide {
				input = append(input[:inputShown:inputShown], []rune(" … (-o wide shows all of it)")...)
			}
			fmt.Fprintf(&b, "  input   %s\n", string(input))
		}
		name := "stderr"
		for line := range strings.SplitSeq(d.stderr, "\n") {
			if d.stderr != "" {
				fmt.Fprintf(&b, "  %-6s  %s\n", name, common.OneLine(line))
			}
			name = ""
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// told is why something happened, with the last of what the program said to it.
func told(reason, stderr string) string {
	if stderr == "" {
		return reason
	}
	return strings.TrimPrefix(reason+"; ", "; ") + "stderr: " + lastLine(stderr)
}

// lastLine is the last line that has something in it.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
