package generate

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// JoinsAt draws processes of which a part runs at once, all over the sites, and each of the other
// activities follows on all of that: every one of these waits for several messages. All of them
// finish.
func JoinsAt(nodes []string) *rapid.Generator[*Case] {
	return rapid.Custom(func(t *rapid.T) *Case {
		d := &drawing{T: t, nodes: nodes}
		d.joins()
		return &Case{body: d.text.String(), Seed: rapid.Uint64().Draw(t, "seed")}
	})
}

func (d *drawing) joins() {
	at := func(label string) string { return pick(d, d.nodes, label) }
	d.line("starts: [%s]\nactivities:", at("start"))
	before, after := 3+d.upTo(3, "before"), 1+d.upTo(3, "after")
	for i := range before {
		d.line("  b%d: {node: %s, program: many}", i, at("node"))
	}
	var control []string
	for i := range after {
		d.line("  a%d: {node: %s, program: many}", i, at("node"))
		for j := range before {
			control = append(control, fmt.Sprintf("b%d -> a%d", j, i))
		}
	}
	d.line("control: [%s]", strings.Join(control, ", "))
}
