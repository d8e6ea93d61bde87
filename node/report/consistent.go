package report

import (
	"fmt"
	"slices"
	"strings"

	"fmqm/api"
	"fmqm/processtable"
)

// An answer about an instance is put together from what each node tells as of one moment
// of its own (queue.ViewInstance). The moments differ: a node that was asked first may say
// that an activity runs whose result another, asked later, has worked on already, or that
// it waits, in an instance that its origin tells has finished. An answer shows no effect
// without its cause: what follows from one node's report about another's activity is
//
//   - an activity has ended if a message of it has come elsewhere: connectors are sent
//     when an activity ends, or on behalf of one that is dead (N6);
//   - every activity has ended once sink has (N1): sink waits for those without
//     successors, each of these for its predecessors.
//
// A node that says otherwise is behind. It is asked again, a few times; what it then still
// lacks is not known, and the answer says up to which clock the node's report goes. This
// happens where a record of a dead path is on its way to the host of the activity, and
// where a store was lost: the node has no record any more of what had ended.

// past gives the activities that have ended although their nodes, which answered, do not
// say so; each by its name as by api.InScope.
func (g *Gathered) past() map[api.Place]bool {
	over := g.atOrigin().State == api.InstanceFinished
	heard := g.Heard()
	told, waits := g.told(), g.Waits()
	past := map[api.Place]bool{}
	for _, p := range g.Roster {
		r := g.Reports[p.Node]
		for _, a := range told[p] {
			at := placeOf(p.Node, a)
			switch {
			case !r.Removed.IsZero(), r.nowhere(a), !over && heard[at.Activity] == "":
			case a.State == api.ActivityTerminated, a.State == api.ActivitySkipped:
			case a.State == api.ActivityInError && waits[at.Activity].Aside > 0: // on a dead path, where it holds up nobody
			case r.Anew && a.State != api.ActivityInactive: // it was sent again what it had lost, and goes through it again
			default:
				past[at] = true
			}
		}
	}
	return past
}

// placeOf names an activity of a node in its scope.
func placeOf(node string, a api.Activity) api.Place {
	return api.Place{Activity: api.InScope(a.Scope, a.Activity), Node: node}
}

// nowhere: the activity is inside of a composite, and this says that there is nothing of it.
func (r *Report) nowhere(a api.Activity) bool {
	return a.Scope == "" && slices.Contains(r.Inside, a.Activity)
}

// Heard gives the activities whose messages have come to another node, and one that says so.
func (g *Gathered) Heard() map[string]string {
	heard := map[string]string{}
	for node, r := range g.Reports {
		for _, a := range r.Heard {
			if heard[a] == "" || node < heard[a] {
				heard[a] = node
			}
		}
	}
	return heard
}

// Behind gives the nodes that may have more to tell by now.
func (g *Gathered) Behind() (nodes []processtable.NodeID) {
	for p := range g.past() {
		if node := processtable.NodeID(p.Node); !g.Reports[p.Node].Anew && !slices.Contains(nodes, node) {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// outdated is an activity that has ended, and of which its node does not know that, or not
// any more.
func (g *Gathered) outdated(a api.Activity) api.Activity {
	p := placeOf(a.Node, a)
	r := g.Reports[p.Node]
	who := g.Heard()[p.Activity]
	if g.atOrigin().State == api.InstanceFinished {
		who = g.Origin
	}
	reason := fmt.Sprintf("%s says that it has ended; %s knows the instance only up to clock %d", who, p.Node, r.Clock)
	if r.Anew {
		reason = fmt.Sprintf("%s says that it has ended; %s lost the record with its store", who, p.Node)
	}
	return api.Activity{Scope: a.Scope, Activity: a.Activity, Node: a.Node, State: api.ActivityUnknown, Reason: reason}
}

// clocks says up to which clock each node has told, where one is behind.
func (g *Gathered) clocks() (all []api.NodeClock) {
	past := g.past()
	if len(past) == 0 {
		return nil
	}
	for node, r := range g.Reports {
		c := api.NodeClock{Node: node, Clock: r.Clock}
		for p := range past {
			c.Behind = c.Behind || p.Node == node
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b api.NodeClock) int { return strings.Compare(a.Node, b.Node) })
	return all
}
