package definition

import (
	"fmt"
	"slices"

	"fmqm/container"
	"fmqm/processtable"
)

// Doers names whom an activity of a graph of the process is told of by connectors that the text does not have: who did
// these, or, as "source", who has started the instance.
func (p *Process) Doers(g *Graph, a *Activity) []string {
	asks := a.Staff.Asks()
	for _, name := range a.noticeAsks() {
		if !slices.Contains(asks, name) {
			asks = append(asks, name)
		}
	}
	if a.Child != nil && g == &p.Graph && needsPeopleFormat(p) != "" && !slices.Contains(asks, sourceEnd) {
		asks = append(asks, sourceEnd)
	}
	return asks
}

// hidden adds the connectors that bring who did what an activity asks for (processtable.Manual): to a subprocess, where people have a
// part in the process, who has started the instance.
func (c *compiler) hidden(g *graph, a *Activity) error {
	to := c.row(g, a.Name)
	for _, name := range c.p.Doers(g.Graph, a) {
		from := c.row(g, name)
		if from == nil {
			return fmt.Errorf("activity %s asks who did %s: there is no such activity", a.Name, name)
		}
		c.tells(from, to)
	}
	if of := c.done(to); of.Manual != nil {
		of.Manual.Did = to.Doers()
	}
	return nil
}

// tells adds who did from to what from sends to; where it sends nothing that is all of a connector.
func (c *compiler) tells(from, to *processtable.Activity) {
	did := processtable.Mapping{Did: true, Type: container.Scalar(container.String), Source: processtable.DidMember, Target: processtable.DidMember}
	out := slices.IndexFunc(from.OutData, func(d processtable.OutData) bool { return d.To == to.Name })
	if out < 0 {
		out = len(from.OutData)
		from.OutData = append(from.OutData, processtable.OutData{To: to.Name, Node: c.places[to.Row()]})
		to.InData = append(to.InData, processtable.InData{From: from.Name})
	}
	in := slices.IndexFunc(to.InData, func(d processtable.InData) bool { return d.From == from.Name })
	all := append(slices.Clip(from.OutData[out].Mappings), did)
	from.OutData[out].Mappings, to.InData[in].Mappings = all, all
}
