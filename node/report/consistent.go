package report

import (
	"fmt"
	"slices"
	"strings"

	"fmqm/api"
	"fmqm/message"
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
//     successors, each of these for its predecessors;
//   - what is inside of a block has ended, likewise, once that has begun its next
//     iteration, or has ended (N18); but where the block was ended early, what is inside goes on until
//     its node hears of that, and nobody waits for it (N25).
//
// A node that says otherwise is behind. It is asked again, a few times; what it then still
// lacks is not known, and the answer says up to which clock the node's report goes. This
// happens where a record of a dead path is on its way to the host of the activity, and
// where a store was lost: the node has no record any more of what had ended.

// past says whether an activity has ended although its node, which answered, does not say so.
func (r *reading) past(a *api.Activity) bool {
	report, answered := r.Reports[a.Node]
	name := api.InScope(a.Scope, a.Activity)
	switch {
	case !answered, a.State.Ended(), a.State == api.ActivityUnknown:
	case !report.Removed.IsZero(), report.nowhere(*a), nowhere(a.Scope):
	case r.heard[name] == "" && r.returned(a.Scope) == "" && (!r.over || r.givenUp(a.Scope)):
	case a.State == api.ActivityInError && r.waits[name].Aside > 0: // on a dead path, where it holds up nobody
	case report.Anew && a.State != api.ActivityInactive: // it was sent again what it had lost, and goes through it again
	default:
		return true
	}
	return false
}

// returned is the node that says that an iteration is over in which a scope is, or of which it is; empty: none does.
func (r *reading) returned(scope string) string {
	frames, _ := message.Scope(scope).Frames()
	around := message.Scope("")
	for _, f := range frames {
		block, told := r.told[api.InScope(string(around), string(f.Composite))]
		ended := block.State == api.ActivitySkipped || block.State == api.ActivityTerminated && block.RC != nil && !endedEarly(block) // not by an operator's terminate
		left := f.Element >= 0 && block.Elements != nil && block.Elements.Cancelled > 0                                               // what until has left ends a moment later
		if told && (ended && !left || f.Iteration > 0 && block.Iterations > f.Iteration) {
			return block.Node
		}
		around = around.Enter(f)
	}
	return ""
}

// givenUp says whether a block that a scope is in was ended early, so that what is inside may go on for a while.
func (r *reading) givenUp(scope string) bool {
	frames, _ := message.Scope(scope).Frames()
	around := message.Scope("")
	for _, f := range frames {
		if endedEarly(r.told[api.InScope(string(around), string(f.Composite))]) {
			return true
		}
		around = around.Enter(f)
	}
	return false
}

// endedEarly: the activity was cancelled, or has ended at its deadline or after an error.
func endedEarly(a api.Activity) bool {
	return a.State == api.ActivityCancelled || a.Timeout || a.Error != ""
}

// nowhere: the activity is inside of a composite, and this says that there is nothing of it.
func (r *Report) nowhere(a api.Activity) bool {
	return a.Scope == "" && slices.Contains(r.Inside, a.Activity)
}

// nowhere: a block in the scope has begun nothing.
func nowhere(scope string) bool {
	frames, _ := message.Scope(scope).Frames()
	return slices.ContainsFunc(frames, func(f message.Frame) bool { return f.Iteration == 0 && f.Element < 0 })
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
	for node := range g.read().behind {
		if !g.Reports[node].Anew {
			nodes = append(nodes, processtable.NodeID(node))
		}
	}
	return nodes
}

// outdated is an activity that has ended, and of which its node does not know that, or not
// any more.
func (r *reading) outdated(a api.Activity) api.Activity {
	report := r.Reports[a.Node]
	who := r.heard[api.InScope(a.Scope, a.Activity)]
	if r.over {
		who = r.Origin
	} else if who == "" {
		who = r.returned(a.Scope)
	}
	reason := fmt.Sprintf("%s says that it has ended; %s knows the instance only up to clock %d", who, a.Node, report.Clock)
	if report.Anew {
		reason = fmt.Sprintf("%s says that it has ended; %s lost the record with its store", who, a.Node)
	}
	return api.Activity{Scope: a.Scope, Activity: a.Activity, Kind: a.Kind, Node: a.Node, State: api.ActivityUnknown, Reason: reason}
}

// clocks says up to which clock each node has told, where one is behind.
func (r *reading) clocks() (all []api.NodeClock) {
	if len(r.behind) == 0 {
		return nil
	}
	for node, report := range r.Reports {
		all = append(all, api.NodeClock{Node: node, Clock: report.Clock, Behind: r.behind[node]})
	}
	slices.SortFunc(all, func(a, b api.NodeClock) int { return strings.Compare(a.Node, b.Node) })
	return all
}
