package generate

import (
	"fmt"
	"slices"

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
	d.line("structures:\n  S: {n: int}\noutput: S\nstarts: [%s, %s]\nactivities:", d.nodes[0], d.nodes[len(d.nodes)/2])
	above := make([][]int, 1+d.upTo(23, "activities"))
	var control, data []string
	for i := range above {
		var before []int
		if i > 0 {
			most := min(i, pick(d, []int{1, 1, 1, 2}, "predecessors"))
			before = rapid.SliceOfNDistinct(rapid.IntRange(0, i-1), 1, most, rapid.ID[int]).Draw(d.T, "before")
		}
		d.deadStep(i, before)
		for _, p := range before {
			above[i] = append(append(above[i], p), above[p]...)
			condition := pick(d, []string{"", ": _RC > 1", ": _RC == 0", ": n > 0", ": _RC > 5"}, "condition")
			control = append(control, fmt.Sprintf("  - t%d -> t%d%s", p, i, condition))
		}
		slices.Sort(above[i])
		for _, p := range slices.Compact(above[i]) {
			if d.in(4, "data") {
				data = append(data, fmt.Sprintf("  - t%d -> t%d: {n: n}", p, i))
			}
		}
		if d.in(6, "to sink") {
			data = append(data, fmt.Sprintf("  - t%d -> sink: {n: n}", i))
		}
	}
	d.list("control", control)
	d.list("data", data)
}

// deadStep writes an activity. Few of those with one predecessor start when that says
// FALSE.
func (d *drawing) deadStep(i int, before []int) {
	kind := "program: " + pick(d, Programs, "program") + ", on_rc: continue"
	if d.in(4, "empty") {
		kind = "empty: true"
	}
	start := ""
	switch {
	case len(before) == 1 && d.in(8, "not"):
		start = fmt.Sprintf(", start: '!t%d'", before[0])
	case len(before) > 0:
		start = ", start: " + pick(d, []string{"all", "all", "any"}, "start")
	}
	d.line("  t%d: {node: %s, %s, input: S, output: S%s}", i, pick(d, d.nodes, "node"), kind, start)
}
