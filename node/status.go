package node

import (
	"context"
	"slices"
	"strings"
	"time"

	"fmqm/api"
	"fmqm/message"
	"fmqm/processtable"
)

// gathered is what all nodes that answered know of one instance.
type gathered struct {
	id          message.InstanceID
	process     string
	origin      string
	roster      []api.Place
	reports     map[string]instanceReport
	unreachable []api.Unreachable
}

// gather asks this node and the peers. An instance is not found only if every node
// answered that it does not know it.
func (n *Node) gather(ctx context.Context, id message.InstanceID, history bool) (*gathered, error) {
	q := instanceQuestion{Instance: id, History: history}
	own, err := n.report(ctx, q)
	if err != nil {
		return nil, err
	}
	g := &gathered{id: id, reports: map[string]instanceReport{}}
	peers := n.peers()
	if own.Known {
		g.add(string(n.name), own)
		q.Process = own.Process
		peers = n.others(own.Roster, own.Origin)
	}
	missing := n.askInstance(ctx, g, peers, q)
	if q.Process == "" && g.process != "" {
		// Now the process is known: nodes of its roster that had nothing to tell tell what
		// they host.
		q.Process = g.process
		missing = n.askInstance(ctx, g, n.others(g.roster, g.origin), q)
		if own, err := n.report(ctx, q); err == nil && own.Process != "" {
			g.add(string(n.name), own)
		}
	}
	for _, peer := range missing {
		g.unreachable = append(g.unreachable, api.Unreachable{Node: string(peer), LastHeard: n.lastHeard(peer)})
	}
	if g.process == "" {
		return nil, n.unknownInstance(id, missing)
	}
	return g, nil
}

func (n *Node) unknownInstance(id message.InstanceID, missing []processtable.NodeID) error {
	if len(missing) == 0 {
		return api.Errorf(api.CodeNotFound, "compare it with what `fmqm list --all` shows at the node where it was started",
			"instance %s is not known at %s nor at its peers", id, n.name)
	}
	return api.Errorf(api.CodeUnreachable, "ask again when they are back, or ask the node where it was started",
		"instance %s is not known at the nodes that answered; no answer from %v", id, missing)
}

// askInstance adds the answers of peers to g, and names those that did not answer.
func (n *Node) askInstance(ctx context.Context, g *gathered, peers []processtable.NodeID, q instanceQuestion) []processtable.NodeID {
	var missing []processtable.NodeID
	for _, r := range askAll[instanceReport](ctx, n, peers, askInstance, q) {
		switch {
		case r.Err != nil:
			missing = append(missing, r.Node)
		case r.Answer.Known, q.Process != "" && r.Answer.Process != "":
			g.add(string(r.Node), r.Answer)
		}
	}
	return missing
}

func (g *gathered) add(node string, r instanceReport) {
	g.reports[node] = r
	if r.Known || g.process == "" {
		g.process, g.roster = r.Process, r.Roster
	}
	if r.Origin != "" {
		g.origin = r.Origin
	}
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

// activities gives every activity of the roster, as its node tells.
func (g *gathered) activities() []api.Activity {
	known := map[string]api.Activity{}
	for _, r := range g.reports {
		for _, a := range r.Activities {
			known[a.Activity] = a
		}
	}
	out := make([]api.Activity, 0, len(g.roster))
	for _, p := range g.roster {
		a, ok := known[p.Activity]
		if !ok {
			a = api.Activity{Activity: p.Activity, Node: p.Node, State: api.ActivityUnknown}
			if slices.Contains(g.notices(), p.Activity) {
				a.State, a.Reason = api.ActivityInError, "as it told the origin"
			}
		}
		out = append(out, a)
	}
	return out
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

// status joins the reports into one answer.
func (g *gathered) status() api.Status {
	s := api.Status{
		Instance: g.id, Process: g.process, State: api.InstanceUnknown,
		Activities: g.activities(), Unreachable: g.unreachable, Removed: g.removed(),
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
	if !ok || origin.State == "" {
		s.Reason = "the node where it was started did not answer"
		return s
	}
	s.State, s.Key, s.Started, s.Ended, s.Output = origin.State, origin.Key, origin.Started, origin.Ended, origin.Output
	if s.State == api.InstanceTerminated {
		s.Reason = "terminated by an operator"
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

// waits gives what every activity that has not ended waits for.
func (g *gathered) waits() map[string]waiting {
	out := map[string]waiting{}
	for _, r := range g.reports {
		for _, w := range r.Waits {
			out[w.Activity] = w
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

// Wait is Status, once the instance does not run any more or ctx has ended.
func (n *Node) Wait(ctx context.Context, id api.InstanceID) (api.Status, error) {
	changed, end := n.changes.watch(id, false)
	defer end()
	for {
		s, err := n.Status(context.WithoutCancel(ctx), id)
		if err != nil || (s.State != api.InstanceRunning && s.State != api.InstanceUnknown) {
			return s, err
		}
		if !pauseOrChange(ctx, changed) {
			return n.Status(context.WithoutCancel(ctx), id)
		}
	}
}

// pauseOrChange waits for something decisive here, or a pause; false if ctx ended.
func pauseOrChange(ctx context.Context, changed <-chan struct{}) bool {
	pause := time.NewTimer(waitPause)
	defer pause.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-pause.C:
	case <-changed:
	}
	return true
}
