package generate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// ParentOf draws a process that begins instances of another one (N19), which is c under that name: with the
// same structures, and the same input, so that these come to what one of c's own comes to. The homes of
// what begins one are of starts, where c may be started; all else is at any of nodes. It has two levels of
// activities, half of them in a block.
func (c *Case) ParentOf(process string, starts, nodes []string, number int) *Case {
	head, _, _ := strings.Cut(c.body, "activities:\n")
	var containers string
	kept := slices.DeleteFunc(strings.Split(head, "\n"), func(line string) bool {
		if strings.HasPrefix(line, "input: ") || strings.HasPrefix(line, "output: ") {
			containers += ", " + line
		}
		return strings.HasPrefix(line, "starts: ")
	})
	p := &parent{Rand: rand.New(rand.NewPCG(uint64(number), 19)), containers: containers}
	p.WriteString(strings.Join(kept, "\n"))
	home := func() string { return starts[p.IntN(len(starts))] }
	p.line("starts: [%s]", nodes[p.IntN(len(nodes))])
	p.line("activities:")
	p.begins("early", home(), process)
	p.activity("beside", nodes[p.IntN(len(nodes))], "program: many")
	inside := p.IntN(2) == 0
	if inside {
		p.block("around", nodes[p.IntN(len(nodes))])
		p.begins("    late", home(), process)
		p.data("    ", "late")
	} else {
		p.begins("late", home(), process)
	}
	last := map[bool]string{true: "around", false: "late"}[inside]
	p.line("control: [%s]", []string{"early -> " + last, "beside -> " + last, "early -> beside, beside -> " + last}[p.IntN(3)])
	p.data("", "early", "beside", last)
	return &Case{body: p.String(), Input: c.Input, Seed: c.Seed}
}

// parent is a process that is being written.
type parent struct {
	*rand.Rand
	strings.Builder
	containers string // of all that it is of, as they stand in an activity
}

func (p *parent) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

func (p *parent) activity(name, node, what string) {
	p.line("  %s: {node: %s, %s%s}", name, node, what, p.containers)
}

// begins writes what begins an instance, and tries again until the other process's table is there.
func (p *parent) begins(name, node, process string) {
	p.activity(name, node, fmt.Sprintf("process: %s, retry: {attempts: 10000, backoff: 1s, max_backoff: 5m}%s", process, []string{"", ", autonomy: independent"}[p.IntN(2)]))
}

func (p *parent) block(name, node string) {
	p.line("  %s:\n    node: %s", name, node)
	for part := range strings.SplitSeq(strings.TrimPrefix(p.containers, ", "), ", ") {
		if part != "" {
			p.line("    %s", part)
		}
	}
	p.line("    activities:")
}

// data has each of the activities take the input, and the last of them give the output, where there are any.
func (p *parent) data(indent string, names ...string) {
	var all []string
	if strings.Contains(p.containers, "input: ") {
		for _, name := range names {
			all = append(all, "source -> "+name)
		}
	}
	if strings.Contains(p.containers, "output: ") {
		all = append(all, names[len(names)-1]+" -> sink")
	}
	if len(all) > 0 {
		p.line("%sdata: [%s]", indent, strings.Join(all, ", "))
	}
}
