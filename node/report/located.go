package report

import (
	"slices"

	"fmqm/api"
	"fmqm/processtable"
)

// unlocated stands in a roster for the node where the instance was started, as long as that is not known (N20).
const unlocated = string(processtable.Origin)

// RosterOf is the roster of a table, of an instance that was started at origin; empty: that is not known.
func RosterOf(t *processtable.Table, origin processtable.NodeID) []api.Place {
	out := make([]api.Place, len(t.Roster))
	for i, p := range t.Roster {
		out[i] = api.Place{Activity: string(p.Activity), Node: string(p.Node), Inside: string(p.Inside)}
		if a := t.Activity(processtable.RowID{Name: p.Activity, Inside: p.Inside}); a != nil {
			out[i].Each = a.Bundle != nil
		}
		if w := t.WorkersOf(p.Activity); w != nil {
			out[i].Each = w.Each
			for _, n := range w.Nodes {
				out[i].At = append(out[i].At, string(n))
			}
		}
	}
	return located(out, string(origin))
}

// located gives a roster with the node where the instance was started, if that is known.
func located(roster []api.Place, origin string) []api.Place {
	if origin == "" || !hasUnlocated(roster) {
		return roster
	}
	roster = slices.Clone(roster)
	for i := range roster {
		if roster[i].Node == unlocated {
			roster[i].Node = origin
		}
	}
	return roster
}

func hasUnlocated(roster []api.Place) bool {
	return slices.ContainsFunc(roster, func(p api.Place) bool { return p.Node == unlocated })
}

// Unlocated says whether something is hosted where the instance was started, and nobody has told where that is: any
// node may know.
func (g *Gathered) Unlocated() bool { return hasUnlocated(g.Roster) }

// elsewhere says whether a row of the table is for instances that were started at other nodes than this one (R40).
func (f *Facts) elsewhere(a *processtable.Activity, origin processtable.NodeID) bool {
	return !f.table().Hosts(a.Row(), f.Self, origin)
}
