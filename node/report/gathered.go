package report

import (
	"cmp"
	"slices"
	"strings"

	"fmqm/api"
	"fmqm/message"
	"fmqm/processtable"
)

// Gathered is what all nodes that answered know of one instance.
type Gathered struct {
	Self        string // the node that asks
	Asked       Question
	Instance    message.InstanceID
	Process     string
	Origin      string
	Roster      []api.Place
	Reports     map[string]Report
	Unreachable []api.Unreachable
	Tableless   []string // nodes that answered, and have no table of the process

	stuck          map[message.InstanceID]ChildrenReport // of children: those that stand in error
	own            bool                                  // this node knows the instance itself
	Other, OtherBy string                                // the instance is said to be of another process, and by whom
	Contested      string                                // another node that is said to be its origin
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
	g.Roster = withBundles(located(g.Roster, g.Origin), g.Reports)
}

// withBundles gives a roster in which those are bundles, too, of which their hosts say so.
func withBundles(roster []api.Place, reports map[string]Report) []api.Place {
	type hosted struct{ activity, node string }
	each := map[hosted]bool{}
	for node, r := range reports {
		for _, p := range r.Roster {
			each[hosted{p.Activity, node}] = p.Each
		}
	}
	roster = slices.Clone(roster)
	for i := range roster {
		p := &roster[i]
		p.Each = p.Each || each[hosted{p.Activity, p.Node}]
	}
	return roster
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

// atOrigin is what the node tells where the instance was started; nothing as long as it has not
// answered, or the nodes disagree about which that is.
func (g *Gathered) atOrigin() (r Report) {
	if g.Contested == "" {
		r = g.Reports[g.Origin]
	}
	return r
}

// misattributed is an event of the instance itself, or a suspend in it, that another node than its origin tells. What each
// node has erased it tells for itself.
func (g *Gathered) misattributed(node string, e *api.HistoryEvent) bool {
	ofInstance := e.Scope == "" && (e.Activity == string(processtable.Source) || e.Activity == string(processtable.Sink)) ||
		e.Event == api.EventSuspended || e.Event == api.EventResumed
	return ofInstance && e.Event != api.EventErased && (node != g.Origin || g.Contested != "")
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

// Status joins the reports into one answer, with the activities at the top of the instance.
func (g *Gathered) Status() api.Status { return g.read().status() }

func (r *reading) status() api.Status {
	s := api.Status{
		Instance: r.Instance, Process: r.Process, State: api.InstanceUnknown,
		Unreachable: r.Unreachable, Removed: r.removed(), Clocks: r.clocks(), More: r.more(),
	}
	if s.Unreachable == nil {
		s.Unreachable = []api.Unreachable{}
	}
	r.show(&s, api.StatusRequest{})
	var broken *api.Activity
	for i := range r.lines {
		if a := &r.lines[i]; a.State == api.ActivityInError {
			broken = cmp.Or(broken, a)
			s.InError++
		}
	}
	origin := r.atOrigin()
	if origin.State == "" {
		s.Reason = r.noState()
		return s
	}
	s.State, s.Key, s.Started, s.Ended, s.Output = origin.State, origin.Key, origin.Started, origin.Ended, origin.Output
	s.Parent, s.StartedBy, s.Erased, s.Priority = origin.Parent, origin.StartedBy, origin.Erased, origin.Priority
	if last := r.expedited(); last != nil {
		s.Priority = api.ShownPriority(last.Rank.Priority(api.DefaultPriority))
	}
	if s.State == api.InstanceRunning {
		r.addSuspends(&s)
	}
	if s.State == api.InstanceTerminated {
		s.Reason, s.By = message.TerminatedBy(cmp.Or(origin.By, "an operator"), origin.Why), origin.By
	}
	if s.State == api.InstanceRunning && s.InError+len(r.stuck) > 0 && !r.canGoOn(r.hasStuck) {
		s.State = api.InstanceInError
		r.addStuck(&s)
		if broken != nil {
			s.ErrorIn = nil
			s.Reason = "activity " + message.Scope(broken.Scope).Path(processtable.ActivityID(broken.Activity)) + " at " + broken.Node + ": " + broken.Reason
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
	places := placesOf(g.Roster)
	out := map[string]Waiting{}
	for node, r := range g.Reports {
		for _, w := range r.Waits {
			if places.hosts(message.Scope(w.Scope), w.Activity, node) {
				out[api.InScope(w.Scope, w.Activity)] = w
			}
		}
	}
	return out
}

// canGoOn reports whether any activity that has not ended is not held up, over however many connectors,
// by one in error, or by one whose work is done by an instance that does not go on either, as childStuck says. What its
// node did not tell may go on. So may a block, unless what is inside is known and all of it ended or held up.
func (r *reading) canGoOn(childStuck func(*api.Activity) bool) bool {
	held := map[string]bool{}
	inside := map[string][]*api.Activity{} // by scope
	for i := range r.lines {
		a := &r.lines[i]
		held[api.InScope(a.Scope, a.Activity)] = a.State == api.ActivityInError || childStuck(a)
		inside[a.Scope] = append(inside[a.Scope], a)
	}
	goesOn := func(a *api.Activity) bool {
		report := r.Reports[a.Node]
		return !a.State.Ended() && !held[api.InScope(a.Scope, a.Activity)] && !report.nowhere(*a)
	}
	stuck := func(a *api.Activity) bool { // a block, by what is inside of it
		scope := newest(*a)
		in := inside[string(scope)]
		broken := slices.ContainsFunc(in, func(a *api.Activity) bool { return held[api.InScope(a.Scope, a.Activity)] })
		return a.State == api.ActivityRunning && r.block(a.Activity) && !r.isBundle(a) && slices.Contains(r.scopes(), string(scope)) && broken && !slices.ContainsFunc(in, goesOn)
	}
	stuckEach := func(a *api.Activity) bool { // a bundle, by its elements
		w, elements := r.waits[api.InScope(a.Scope, a.Activity)], 0
		for element, is := range held {
			if scope, name := api.CutScope(element); is && name == a.Activity && string(message.Scope(scope).Leave()) == a.Scope && message.Scope(scope).Inside() == processtable.ActivityID(name) {
				elements++
			}
		}
		return a.State == api.ActivityRunning && (w.Stuck || w.UnderWay > 0 && elements >= w.UnderWay)
	}
	for changed := true; changed; {
		changed = false
		for i := range r.lines {
			a := &r.lines[i]
			name := api.InScope(a.Scope, a.Activity)
			waits := slices.ContainsFunc(r.waits[name].For, func(from string) bool { return held[api.InScope(a.Scope, from)] })
			if !held[name] && (waits || stuck(a) || r.isBundle(a) && stuckEach(a)) {
				held[name], changed = true, true
			}
		}
	}
	return slices.ContainsFunc(r.lines, func(a api.Activity) bool { return goesOn(&a) })
}
