package definition

import (
	"cmp"
	"slices"

	"fmqm/processtable"
)

// detours adds to a table what lets dead paths pass around dead nodes (N6): the
// activities elsewhere that its node skips on their hosts' behalf, and the nodes that
// may skip elsewhere what leads here.
func (c *compiler) detours(t *processtable.Table) {
	taken := map[processtable.ActivityID]bool{}
	for _, a := range t.Activities {
		c.detoursAfter(a, t.Node, taken)
	}
	for _, place := range t.Roster {
		if taken[place.Activity] {
			t.Detours = append(t.Detours, detourOf(c.rows[c.byName[place.Activity]]))
		}
	}
	t.Resolvers = c.resolvers(t)
}

// detoursAfter takes what dies with a FALSE connector out of a, as far as chains of such
// activities go on. It has a list of its own: a chain may be as long as the process.
func (c *compiler) detoursAfter(a *processtable.Activity, node processtable.NodeID, taken map[processtable.ActivityID]bool) {
	for open := []*processtable.Activity{a}; len(open) > 0; {
		from := open[len(open)-1]
		open = open[:len(open)-1]
		for _, k := range from.OutControl {
			// What the node hosts itself is begun with in its turn.
			if to := c.next(from, k.To); to.DiesAlone() && k.Node != node && k.Node != processtable.Origin {
				taken[k.To] = true // of one predecessor only: it comes here once for each node
				open = append(open, to)
			}
		}
	}
}

func detourOf(a *processtable.Activity) processtable.Detour {
	d := processtable.Detour{Activity: a.Name}
	for _, k := range a.OutControl {
		d.OutControl = append(d.OutControl, k.To)
	}
	for _, k := range a.OutData {
		d.OutData = append(d.OutData, k.To)
	}
	return d
}

// resolvers turns round, for the activities that lead to this table's, which nodes may
// resolve their connectors beside their hosts.
func (c *compiler) resolvers(t *processtable.Table) []processtable.Resolver {
	leads := map[processtable.ActivityID]bool{}
	for _, a := range t.Activities {
		for _, k := range a.InControl {
			leads[k.From] = true
		}
		for _, k := range a.InData {
			leads[k.From] = true
		}
	}
	by := map[processtable.NodeID][]processtable.ActivityID{}
	for _, place := range t.Roster {
		if !leads[place.Activity] {
			continue
		}
		for _, node := range c.resolvingNodes(place.Activity) {
			if node != place.Node && node != t.Node {
				by[node] = append(by[node], place.Activity)
			}
		}
	}
	var out []processtable.Resolver
	for node, activities := range by {
		out = append(out, processtable.Resolver{Node: node, Activities: activities})
	}
	slices.SortFunc(out, func(a, b processtable.Resolver) int { return cmp.Compare(a.Node, b.Node) })
	return out
}

// resolvingNodes gives the nodes that may resolve the connectors out of an activity:
// its host, and where it dies alone those that may resolve the connector into it; what is at the origin nobody
// passes around.
func (c *compiler) resolvingNodes(name processtable.ActivityID) []processtable.NodeID {
	var chain []*processtable.Activity // from the activity up to the first that is known, or does not die alone
	for a := c.rows[c.byName[name]]; c.resolving[a.Name] == nil; a = c.next(a, a.InControl[0].From) {
		chain = append(chain, a)
		if !a.DiesAlone() {
			break
		}
	}
	for i, a := range slices.Backward(chain) {
		nodes := []processtable.NodeID{c.places[a.Row()]}
		if a.DiesAlone() && nodes[0] != processtable.Origin { // R40
			above := c.resolving[chain[i].InControl[0].From]
			if slices.Contains(above, nodes[0]) {
				nodes = above
			} else {
				nodes = append(nodes, above...)
			}
		}
		c.resolving[a.Name] = nodes
	}
	return c.resolving[name]
}
