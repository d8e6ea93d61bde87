package generate

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// DeadWood draws processes in which most paths die, over all nodes: up to 24 activities,
// most of which have one predecessor (N6), with data from any activity before them. All
// of them finish. Of those of Cases few have a path that passes around a node.
func DeadWood() *rapid.Generator[*Case] { return DeadWoodAt(Nodes) }

// DeadWoodAt is DeadWood with other sites.
func DeadWoodAt(nodes []string) *rapid.Generator[*Case] {
	return rapid.Custom(func(t *rapid.T) *Case {
		d := &drawing{T: t, nodes: nodes}
		d.deadWood()
		return &Case{
			body:  d.text.String(),
			Seed:  rapid.Uint64().Draw(t, "seed"),
			Start: d.upTo(1, "start"),
			odd:   rapid.SampledFrom([]int{0, 30, 60, 90}).Draw(t, "odd"),
		}
	})
}

func (d *drawing) deadWood() {
	d.line("structures:\n  S: {n: int}\noutput: S\nstarts: [%s, %s]", d.nodes[0], d.nodes[len(d.nodes)/2])
	d.nesting()
	most := 24
	if d.deepest > 0 {
		most = 16
	}
	d.deadGraph("t", 1+d.upTo(most-1, "activities"))
}

// deadGraph writes the process's, or a block's, with names that begin so.
func (d *drawing) deadGraph(name string, activities int) {
	d.line("activities:")
	above := make([][]int, activities)
	var control, data []string
	block := d.upTo(activities-1, "block")
	for i := range above {
		var before []int
		if i > 0 {
			most := min(i, pick(d, []int{1, 1, 1, 2}, "predecessors"))
			before = rapid.SliceOfNDistinct(rapid.IntRange(0, i-1), 1, most, rapid.ID[int]).Draw(d.T, "before")
		}
		start := d.deadStart(name, before)
		if d.within < d.deepest && d.blocks > 0 && (i == block || d.in(6, "another block")) {
			d.deadBlock(fmt.Sprintf("%s%d", name, i), start)
		} else {
			d.deadStep(fmt.Sprintf("%s%d", name, i), start)
		}
		for _, p := range before {
			above[i] = append(append(above[i], p), above[p]...)
			condition := pick(d, []string{"", ": _RC > 1", ": _RC == 0", ": n > 0", ": _RC > 5"}, "condition")
			control = append(control, fmt.Sprintf("  - %s%d -> %[1]s%[3]d%[4]s", name, p, i, condition))
		}
		slices.Sort(above[i])
		for _, p := range slices.Compact(above[i]) {
			if d.in(4, "data") {
				data = append(data, fmt.Sprintf("  - %s%d -> %[1]s%[3]d: {n: n}", name, p, i))
			}
		}
		if d.in(6, "to sink") {
			data = append(data, fmt.Sprintf("  - %s%d -> sink: {n: n}", name, i))
		}
	}
	d.list("control", control)
	d.list("data", data)
}

// deadBlock writes a block.
func (d *drawing) deadBlock(name, start string) {
	d.blocks--
	d.line("  %s:", name)
	d.within++
	d.line("node: %s", pick(d, d.nodes, "node"))
	d.line("input: S\n%soutput: S", strings.Repeat("    ", d.within))
	if start != "" {
		d.line("start: %s", start)
	}
	d.deadGraph(name+"_", 1+d.upTo(5, "activities inside"))
	d.within--
}

// deadStep writes an activity.
func (d *drawing) deadStep(name, start string) {
	kind := "program: " + pick(d, Programs, "program") + ", on_rc: continue"
	if d.in(4, "empty") {
		kind = "empty: true"
	}
	if start != "" {
		start = ", start: " + start
	}
	d.line("  %s: {node: %s, %s, input: S, output: S%s}", name, pick(d, d.nodes, "node"), kind, start)
}

// deadStart draws a start condition. Few activities with one predecessor start when that says FALSE.
func (d *drawing) deadStart(name string, before []int) string {
	switch {
	case len(before) == 1 && d.in(8, "not"):
		return fmt.Sprintf("'!%s%d'", name, before[0])
	case len(before) > 0:
		return pick(d, []string{"all", "all", "any"}, "start")
	}
	return ""
}
