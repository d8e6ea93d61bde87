package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fmqm/api"
	"fmqm/message"
	"fmqm/processtable"
)

// Gathered is what all nodes that answered know of one instance.
type Gathered struct {
	Self        string // the node that asks
	Instance    message.InstanceID
	Process     string
	Origin      string
	Roster      []api.Place
	Reports     map[string]Report
	Unreachable []api.Unreachable
	Tableless   []string // nodes that answered, and have no table of the process

	own            bool   // this node knows the instance itself
	Other, OtherBy string // the instance is said to be of another process, and by whom
	Contested      string // another node that is said to be its origin
}

// NewGathered is empty: self asks about an instance.
func NewGathered(self processtable.NodeID, id message.InstanceID) *Gathered {
	return &Gathered{Self: string(self), Instance: id, Reports: map[string]Report{}}
}

// Add takes what a node tells. This node is asked before all others, and what it knows
// itself is not for others to change.
func (g *Gathered) Add(node string, r Report) {
	switch {
	case g.Process == "":
		g.Process = r.Process
	case g.Process != r.Process && r.Known && !g.own:
		g.Other, g.OtherBy = r.Process, node
		return
	case g.Process != r.Process:
		return
	}
	g.Reports[node] = r
	g.own = g.own || node == g.Self && r.Known
	if len(r.Roster) > 0 && (len(g.Roster) == 0 || node == g.Self) {
		g.Roster = r.Roster
	}
	switch {
	case g.Origin == "":
		g.Origin = r.Origin
	case r.Origin != "" && r.Origin != g.Origin && g.Reports[g.Self].Origin == "":
		g.Contested = r.Origin
	}
}

// Known says whether any node knows the instance.
func (g *Gathered) Known() bool {
	for _, r := range g.Reports {
		if r.Known {
			return true
		}
	}
	return false
}

// Saw is the execution of an activity in a scope that its node reports; nil: it did not answer.
func (g *Gathered) Saw(p api.Place, scope string) *message.Execution {
	r := g.Reports[p.Node]
	i := slices.IndexFunc(r.Waits, func(w Waiting) bool { return w.Activity == p.Activity && w.Scope == scope })
	if i < 0 || r.Waits[i].At == nil {
		return nil
	}
	return &message.Execution{Iteration: r.Waits[i].At.Iteration, Run: r.Waits[i].At.Run}
}

// Clock is up to which moment of the logical clock anybody has told of the instance.
func (g *Gathered) Clock() (clock uint64) {
	for _, r := range g.Reports {
		clock = max(clock, r.Clock)
	}
	return min(clock, message.MaxClock)
}

// Nodes are those of the roster, and the origin, as far as they are known.
func (g *Gathered) Nodes() (nodes []processtable.NodeID) {
	for _, p := range g.Roster {
		nodes = append(nodes, processtable.NodeID(p.Node))
	}
	if g.Origin != "" {
		nodes = append(nodes, processtable.NodeID(g.Origin))
	}
	return nodes
}

// told gives what the nodes tell of activities in all their scopes, by whom.
func (g *Gathered) told() map[api.Place][]api.Activity {
	told, seen := map[api.Place][]api.Activity{}, map[api.Place]bool{}
	for node, r := range g.Reports {
		for _, a := range r.Activities {
			at := placeOf(node, a)
			if seen[at] { // a node that says a thing twice is not believed twice
				continue
			}
			seen[at] = true
			p := api.Place{Activity: a.Activity, Node: node}
			told[p] = append(told[p], a)
		}
	}
	return told
}

// activities gives every activity of the roster, as its node tells: a report speaks only
// for what the roster places there.
func (g *Gathered) activities() []api.Activity {
	told, past := g.told(), g.past()
	out := make([]api.Activity, 0, len(g.Roster))
	for _, p := range g.Roster {
		all := told[p]
		if len(all) == 0 {
			all = g.untold(p)
		}
		for _, a := range all {
			if a.Node = p.Node; past[placeOf(p.Node, a)] {
				a = g.outdated(a)
			}
			out = append(out, a)
		}
	}
	return out
}

// untold is an activity of which its node has told nothing.
func (g *Gathered) untold(p api.Place) (all []api.Activity) {
	for _, n := range g.atOrigin().Notices {
		if scope, activity := api.CutScope(n); activity == p.Activity {
			all = append(all, api.Activity{
				Scope: scope, Activity: activity, State: api.ActivityInError,
				Reason: "known only from what it told the node where the instance was started",
			})
		}
	}
	if len(all) > 0 {
		return all
	}
	a := api.Activity{Activity: p.Activity, State: api.ActivityUnknown}
	if slices.Contains(g.Tableless, p.Node) {
		a.Reason = fmt.Sprintf("%s has no table of %s: upload it", p.Node, g.Process)
	}
	return []api.Activity{a}
}

// atOrigin is what the node tells where the instance was started; nothing as long as it has not
// answered, or the nodes disagree about which that is.
func (g *Gathered) atOrigin() (r Report) {
	if g.Contested == "" {
		r = g.Reports[g.Origin]
	}
	return r
}

// misattributed is an event of the instance itself that another node than its origin tells.
func (g *Gathered) misattributed(node string, e *api.HistoryEvent) bool {
	ofInstance := e.Scope == "" && (e.Activity == string(processtable.Source) || e.Activity == string(processtable.Sink))
	return ofInstance && (node != g.Origin || g.Contested != "")
}

// removed names the nodes whose records of the instance are gone.
func (g *Gathered) removed() (all []api.Removed) {
	for node, r := range g.Reports {
		if !r.Removed.IsZero() {
			all = append(all, api.Removed{Node: node, Time: r.Removed})
		}
	}
	slices.SortFunc(all, func(a, b api.Removed) int { return strings.Compare(a.Node, b.Node) })
	return all
}

// more names the nodes that left something out.
func (g *Gathered) more() (nodes []string) {
	for node, r := range g.Reports {
		if r.More {
			nodes = append(nodes, node)
		}
	}
	slices.Sort(nodes)
	return nodes
}

// Status joins the reports into one answer.
func (g *Gathered) Status() api.Status {
	s := api.Status{
		Instance: g.Instance, Process: g.Process, State: api.InstanceUnknown,
		Activities: g.activities(), Unreachable: g.Unreachable, Removed: g.removed(), Clocks: g.clocks(), More: g.more(),
	}
	if s.Unreachable == nil {
		s.Unreachable = []api.Unreachable{}
	}
	for _, a := range s.Activities {
		if a.State == api.ActivityInError {
			s.InError++
		}
	}
	origin := g.atOrigin()
	if origin.State == "" {
		s.Reason = g.noState()
		return s
	}
	s.State, s.Key, s.Started, s.Ended, s.Output = origin.State, origin.Key, origin.Started, origin.Ended, origin.Output
	if s.State == api.InstanceTerminated {
		s.Reason, s.By = "terminated by "+cmp.Or(origin.By, "an operator"), origin.By
	}
	if s.State == api.InstanceRunning && s.InError > 0 && !g.canGoOn(s.Activities) {
		s.State = api.InstanceInError
		for _, a := range s.Activities {
			if a.State == api.ActivityInError {
				s.Reason = "activity " + api.InScope(a.Scope, a.Activity) + " at " + a.Node + ": " + a.Reason
				break
			}
		}
	}
	return s
}

// noState says why the origin has not told the instance's state.
func (g *Gathered) noState() string {
	heard := func(u api.Unreachable) bool { return u.Node == g.Origin }
	switch {
	case g.Origin == "":
		return "none of the nodes that answered knows where it was started"
	case g.Contested != "":
		return "the nodes disagree about where it was started: at " + g.Origin + ", or at " + g.Contested
	case slices.ContainsFunc(g.Unreachable, heard):
		return "the node where it was started, " + g.Origin + ", is unreachable"
	}
	return "the node where it was started, " + g.Origin + ", does not know it: it has lost its store (see fmqm rebuild)"
}

// Waits gives what every activity that has not ended waits for, by its name as by api.InScope.
func (g *Gathered) Waits() map[string]Waiting {
	hosts := make(map[string]string, len(g.Roster))
	for _, p := range g.Roster {
		hosts[p.Activity] = p.Node
	}
	out := map[string]Waiting{}
	for node, r := range g.Reports {
		for _, w := range r.Waits {
			if hosts[w.Activity] == node {
				out[api.InScope(w.Scope, w.Activity)] = w
			}
		}
	}
	return out
}

// canGoOn reports whether any activity that has not ended is not held up, over
// however many connectors, by one in error. What its node did not tell may go on.
func (g *Gathered) canGoOn(activities []api.Activity) bool {
	waits := g.Waits()
	held, inside := map[string]bool{}, map[string][]string{}
	for _, a := range activities {
		held[api.InScope(a.Scope, a.Activity)] = a.State == api.ActivityInError
		if a.Scope != "" && a.State != api.ActivityTerminated && a.State != api.ActivitySkipped {
			scope := message.Scope(a.Scope)
			block := api.InScope(string(scope.Leave()), string(scope.Inside()))
			inside[block] = append(inside[block], api.InScope(a.Scope, a.Activity))
		}
	}
	for changed := true; changed; {
		changed = false
		for name, w := range waits {
			if !held[name] && slices.ContainsFunc(w.For, func(from string) bool {
				is, told := held[api.InScope(w.Scope, from)]
				return is || !told && w.Scope != "" // nothing has come for it there: it hangs on others
			}) {
				held[name], changed = true, true
			}
		}
		for block, in := range inside { // it does not go on where nothing inside of it does
			if !held[block] && !slices.ContainsFunc(in, func(name string) bool { return !held[name] }) {
				held[block], changed = true, true
			}
		}
	}
	for _, a := range activities {
		switch a.State {
		case api.ActivityTerminated, api.ActivitySkipped:
		default:
			r := g.Reports[a.Node]
			if !held[api.InScope(a.Scope, a.Activity)] && !r.nowhere(a) {
				return true
			}
		}
	}
	return false
}
