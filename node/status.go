package node

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fmqm/api"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/processtable"
)

// gathered is what all nodes that answered know of one instance.
type gathered struct {
	self        string // the node that asks
	id          message.InstanceID
	process     string
	origin      string
	roster      []api.Place
	reports     map[string]instanceReport
	unreachable []api.Unreachable
	tableless   []string // nodes that answered, and have no table of the process

	own            bool   // this node knows the instance itself
	other, otherBy string // the instance is said to be of another process, and by whom
	contested      string // another node that is said to be its origin
}

// add takes what a node tells. This node is asked before all others, and what it knows
// itself is not for others to change.
func (g *gathered) add(node string, r instanceReport) {
	switch {
	case g.process == "":
		g.process = r.Process
	case g.process != r.Process && r.Known && !g.own:
		g.other, g.otherBy = r.Process, node
		return
	case g.process != r.Process:
		return
	}
	g.reports[node] = r
	g.own = g.own || node == g.self && r.Known
	if len(r.Roster) > 0 && (len(g.roster) == 0 || node == g.self) {
		g.roster = r.Roster
	}
	switch {
	case g.origin == "":
		g.origin = r.Origin
	case r.Origin != "" && r.Origin != g.origin && g.reports[g.self].Origin == "":
		g.contested = r.Origin
	}
}

// told gives what the nodes tell of activities, by whom.
func (g *gathered) told() map[api.Place]api.Activity {
	told := map[api.Place]api.Activity{}
	for node, r := range g.reports {
		for _, a := range r.Activities {
			told[api.Place{Activity: a.Activity, Node: node}] = a
		}
	}
	return told
}

// others are the nodes of a roster, and the origin, without this one.
func (n *Node) others(roster []api.Place, origin string) []processtable.NodeID {
	var out []processtable.NodeID
	add := func(node string) {
		id := processtable.NodeID(node)
		if node != "" && id != n.name && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	for _, p := range roster {
		add(p.Node)
	}
	add(origin)
	slices.Sort(out)
	return out
}

// activities gives every activity of the roster, as its node tells: a report speaks only
// for what the roster places there.
func (g *gathered) activities() []api.Activity {
	told, past := g.told(), g.past()
	out := make([]api.Activity, 0, len(g.roster))
	for _, p := range g.roster {
		a, ok := told[p]
		switch {
		case !ok:
			a = g.untold(p)
		case past[p]:
			a = g.outdated(p)
		}
		a.Node = p.Node
		out = append(out, a)
	}
	return out
}

// untold is an activity of which its node has told nothing.
func (g *gathered) untold(p api.Place) api.Activity {
	a := api.Activity{Activity: p.Activity, State: api.ActivityUnknown}
	switch {
	case slices.Contains(g.notices(), p.Activity):
		a.State, a.Reason = api.ActivityInError, "known only from what it told the node where the instance was started"
	case slices.Contains(g.tableless, p.Node):
		a.Reason = fmt.Sprintf("%s has no table of %s: upload it", p.Node, g.process)
	}
	return a
}

func (g *gathered) notices() []string { return g.reports[g.origin].Notices }

// removed names the nodes whose records of the instance are gone.
func (g *gathered) removed() (all []api.Removed) {
	for node, r := range g.reports {
		if !r.Removed.IsZero() {
			all = append(all, api.Removed{Node: node, Time: r.Removed})
		}
	}
	slices.SortFunc(all, func(a, b api.Removed) int { return strings.Compare(a.Node, b.Node) })
	return all
}

// more names the nodes that left something out.
func (g *gathered) more() (nodes []string) {
	for node, r := range g.reports {
		if r.More {
			nodes = append(nodes, node)
		}
	}
	slices.Sort(nodes)
	return nodes
}

// status joins the reports into one answer.
func (g *gathered) status() api.Status {
	s := api.Status{
		Instance: g.id, Process: g.process, State: api.InstanceUnknown,
		Activities: g.activities(), Unreachable: g.unreachable, Removed: g.removed(), Clocks: g.clocks(), More: g.more(),
	}
	if s.Unreachable == nil {
		s.Unreachable = []api.Unreachable{}
	}
	for _, a := range s.Activities {
		if a.State == api.ActivityInError {
			s.InError++
		}
	}
	origin, ok := g.reports[g.origin]
	if !ok || origin.State == "" || g.contested != "" {
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
				s.Reason = "activity " + a.Activity + " at " + a.Node + ": " + a.Reason
				break
			}
		}
	}
	return s
}

// noState says why the origin has not told the instance's state.
func (g *gathered) noState() string {
	heard := func(u api.Unreachable) bool { return u.Node == g.origin }
	switch {
	case g.origin == "":
		return "none of the nodes that answered knows where it was started"
	case g.contested != "":
		return "the nodes disagree about where it was started: at " + g.origin + ", or at " + g.contested
	case slices.ContainsFunc(g.unreachable, heard):
		return "the node where it was started, " + g.origin + ", is unreachable"
	}
	return "the node where it was started, " + g.origin + ", does not know it: it has lost its store (see fmqm rebuild)"
}

// waits gives what every activity that has not ended waits for.
func (g *gathered) waits() map[string]waiting {
	hosts := make(map[string]string, len(g.roster))
	for _, p := range g.roster {
		hosts[p.Activity] = p.Node
	}
	out := map[string]waiting{}
	for node, r := range g.reports {
		for _, w := range r.Waits {
			if hosts[w.Activity] == node {
				out[w.Activity] = w
			}
		}
	}
	return out
}

// canGoOn reports whether any activity that has not ended is not held up, over
// however many connectors, by one in error. What its node did not tell may go on.
func (g *gathered) canGoOn(activities []api.Activity) bool {
	waits := g.waits()
	held := map[string]bool{}
	for _, a := range activities {
		held[a.Activity] = a.State == api.ActivityInError
	}
	for changed := true; changed; {
		changed = false
		for _, w := range waits {
			if !held[w.Activity] && slices.ContainsFunc(w.For, func(from string) bool { return held[from] }) {
				held[w.Activity], changed = true, true
			}
		}
	}
	for _, a := range activities {
		switch a.State {
		case api.ActivityTerminated, api.ActivitySkipped:
		default:
			if !held[a.Activity] {
				return true
			}
		}
	}
	return false
}

// Status gathers from all nodes of the process (invariant: no central database).
func (n *Node) Status(ctx context.Context, id api.InstanceID) (api.Status, error) {
	g, err := n.gather(ctx, id, false)
	if err != nil {
		return api.Status{}, err
	}
	return g.status(), nil
}

// waitPause is how often a waiting caller's question is put again where nothing is
// heard of the instance here.
const waitPause = time.Second

// Wait gives the status once the instance no longer runs, or ctx has ended.
func (n *Node) Wait(ctx context.Context, id api.InstanceID) (api.Status, error) {
	changed, end := n.changes.watch(n.sched, id, false)
	defer end()
	for {
		s, err := n.Status(context.WithoutCancel(ctx), id)
		if err != nil || (s.State != api.InstanceRunning && s.State != api.InstanceUnknown) {
			return s, err
		}
		if !n.pauseOrChange(ctx, waitPause, changed) {
			return n.Status(context.WithoutCancel(ctx), id)
		}
	}
}

// pauseOrChange waits for a change here, or for d; false if ctx ended.
func (n *Node) pauseOrChange(ctx context.Context, d time.Duration, changed *task.Bell) bool {
	over := n.sched.Gate()
	defer n.sched.AfterFunc(d, over.Open)()
	_, err := n.sched.Wait(ctx, changed, over)
	return err == nil
}
