package generate

import (
	"fmt"

	"pgregory.net/rapid"
)

// ScheduledAt draws processes as SteadyAt does, whose instances a schedule starts (N23), with the defaults for input.
func ScheduledAt(nodes []string) *rapid.Generator[*Case] {
	return rapid.Custom(func(t *rapid.T) *Case {
		d := &drawing{T: t, nodes: nodes, steady: true, scheduled: true}
		d.process()
		return &Case{body: d.text.String(), Seed: rapid.Uint64().Draw(t, "seed")}
	})
}

// schedule writes when instances are started, and at which site.
func (d *drawing) schedule() {
	node := pick(d, d.nodes, "start node")
	text := fmt.Sprintf("node: %s, every: %s, missed: %s", node, pick(d, []string{"5m", "7m", "30m"}, "every"), pick(d, []string{"all", "all", "once", "skip"}, "missed"))
	if d.in(3, "overlap") {
		text += ", overlap: skip"
	}
	d.line("starts: [%s]\nschedule: {%s}", node, text)
}
