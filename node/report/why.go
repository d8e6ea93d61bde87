package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fmqm/api"
	"fmqm/message"
	"fmqm/processtable"
)

// HeardOf says whether a node answered just now, and when it was last heard.
type HeardOf func(node string) (bool, time.Time)

// Why says what each waiting activity waits for that a PATH names, or that is inside of it; empty: each.
func (g *Gathered) Why(path string, heard HeardOf) api.WhyAnswer {
	r := g.read()
	s := r.status()
	a := api.WhyAnswer{Instance: g.Instance, Process: g.Process, State: s.State, Reason: s.Reason, By: s.By, Waits: []api.Wait{}, Unreachable: s.Unreachable, Clocks: s.Clocks, More: s.More}
	if s.State == api.InstanceTerminated {
		return a
	}
	byName := map[string]api.Activity{}
	for _, activity := range r.lines {
		byName[api.InScope(activity.Scope, activity.Activity)] = activity
	}
	for _, activity := range r.lines {
		inside, hides := r.hidden(path, activity)
		if path != "" && !hides && !InPath(path, activity.Scope, activity.Activity) {
			continue
		}
		what := r.waits[api.InScope(activity.Scope, activity.Activity)]
		if s.State == api.InstanceFinished && what.Aside == 0 {
			continue // a dead path may still absorb what comes
		}
		if w, waits := g.whyOf(heard, activity, what, byName); waits {
			if s.State != api.InstanceFinished {
				g.whySuspended(&w)
			}
			if w.Since.IsZero() {
				w.Since = g.since(&s, activity)
			}
			if hides {
				w.Scope, w.Activity, w.Node = inside.Scope, inside.Activity, inside.Node
			}
			a.Waits = append(a.Waits, w)
		}
	}
	all := slices.Clone(a.Waits)
	a.Waits = slices.DeleteFunc(a.Waits, func(w api.Wait) bool { return r.saidInside(w, all) })
	slices.SortStableFunc(a.Waits, func(x, y api.Wait) int { // what is inside of a block was not asked for in order
		return slices.Compare(r.order(message.Scope(x.Scope), x.Activity), r.order(message.Scope(y.Scope), y.Activity))
	})
	for i := range a.Waits {
		a.Waits[i].Scope = string(message.Scope(a.Waits[i].Scope).Shown())
	}
	return a
}

// saidInside: a block is under way, and what is inside of it says why.
func (r *reading) saidInside(block api.Wait, all []api.Wait) bool {
	return block.State == api.ActivityRunning && (r.block(block.Activity) || r.all[r.index[block.Activity]].Each) && slices.ContainsFunc(all, func(w api.Wait) bool {
		return w.Scope != block.Scope && InPath(api.InScope(block.Scope, block.Activity), w.Scope, w.Activity)
	})
}

// since is when an activity began to wait of which nobody has told that: when its node was
// last heard, if it does not answer; else when the instance was started, which for most is
// in its identifier. Nothing waits longer.
func (g *Gathered) since(s *api.Status, a api.Activity) time.Time {
	for _, u := range s.Unreachable {
		if u.Node == a.Node && !u.LastHeard.IsZero() {
			return u.LastHeard
		}
	}
	if s.Started.IsZero() && g.Instance.Version() == 7 {
		return time.Unix(g.Instance.Time().UnixTime()).UTC()
	}
	return s.Started
}

// whyOf is one line of why: false for an activity that has ended, or whose turn has not
// come as long as its predecessors have theirs.
func (g *Gathered) whyOf(heard HeardOf, a api.Activity, w Waiting, byName map[string]api.Activity) (api.Wait, bool) {
	out := api.Wait{Scope: a.Scope, Activity: a.Activity, Node: a.Node, State: a.State, At: a.Node, Since: a.Started, Input: a.Input, Stderr: a.Stderr}
	switch a.State {
	case api.ActivityTerminated, api.ActivityCancelled:
		return out, false
	case api.ActivitySkipped:
		if w.Aside == 0 {
			return out, false
		}
		out.For = toDecide(w, a) + "; until then the activity, which was skipped, cannot end"
	case api.ActivityInError:
		out.For = "waiting for an operator to retry"
		if w.Aside > 0 {
			out.For = toDecide(w, a)
		}
		if a.Reason != "" {
			out.For = a.Reason + "; " + out.For
		}
	case api.ActivityUnknown:
		out.For = a.Node + " is unreachable"
		if a.Reason != "" {
			out.For = a.Reason
		}
	case api.ActivityRunning:
		out.For = "program " + w.Program + " is running"
		if w.Held != "" { // of a bundle: the elements that are to begin
			out.For = w.Held
		} else if a.Child != nil {
			out.For, out.Child = fmt.Sprintf("instance %s of %s is under way", a.Child, a.Of), a.Child
		} else if e := a.Elements; e != nil {
			out.For = fmt.Sprintf("%d of its %d elements have returned", e.Done, e.Count)
			if e.InError > 0 {
				out.For += fmt.Sprintf(", and %d are in error: see fmqm status --scope %s", e.InError, message.Scope(a.Scope).Path(processtable.ActivityID(a.Activity)))
			}
		} else if a.At != "" && w.Program == "" {
			out.For, out.At = "its work was begun at "+a.At, a.At // which may be the one that does not answer
		} else if a.Kind == api.KindBlock {
			out.For = fmt.Sprintf("iteration %d is under way", a.Iterations)
		} else if a.Waits != nil {
			if out.For, out.Due = waitingFor(a.Waits), a.Due; !out.Due.IsZero() {
				out.For += "; its deadline comes"
			}
		} else if w.Program == "" && !w.Due.IsZero() {
			out.For, out.Due = "waits; it goes on", w.Due
		}
	case api.ActivityReady:
		out.For = "waiting for a free place of program " + w.Program
		if a.Kind == api.KindProcess {
			out.For = "an instance of its process is about to begin"
		}
		if a.Kind == api.KindBlock {
			out.For = "its next iteration is about to begin"
		}
		if w.Program == "" && a.Kind == api.KindSend {
			out.For = "its event is about to be sent"
		}
		switch {
		case w.Held != "":
			out.For = w.Held
		case !w.Due.IsZero():
			out.For, out.Due = "next attempt", w.Due
			if a.Reason != "" {
				out.For = "the last attempt failed: " + a.Reason + "; next attempt"
			}
		}
	case api.ActivityExecuted:
		out.For = "its result is being written"
	case api.ActivitySuspended:
		out.For = "waiting for an operator to resume it"
	case api.ActivityWaiting, api.ActivityInactive:
		switch {
		case w.Aside > 0:
			out.For = toDecide(w, a)
		case w.Held != "":
			out.For = w.Held
		default:
			return g.whyWaiting(heard, out, w, byName)
		}
	}
	out.Heard, out.LastHeard = heard(out.At)
	return out, true
}

// waitingFor names the events that a receive waits for, and their key.
func waitingFor(w *api.EventWait) string {
	what := "waiting for event " + strings.Join(w.Events, " or ")
	if w.Key == "" {
		return what + ", without a key"
	}
	return what + ", key " + w.Key
}

// toDecide: the node refused a message that the activity needs.
func toDecide(w Waiting, a api.Activity) string {
	return fmt.Sprintf("waiting for an operator at %s to retry or drop refused message %d (fmqm refused show %d)", a.Node, w.Aside, w.Aside)
}

// whyWaiting names what an activity waits for: the predecessors that have not ended,
// or, where they have, the messages that are on their way.
func (g *Gathered) whyWaiting(heard HeardOf, out api.Wait, w Waiting, byName map[string]api.Activity) (api.Wait, bool) {
	var pending, coming []string
	for _, from := range w.For {
		p, known := byName[api.InScope(out.Scope, from)]
		switch {
		case from == string(processtable.Source):
			coming = append(coming, from)
			if out.At = g.Origin; out.Scope != "" {
				block := message.Scope(out.Scope)
				out.At = byName[api.InScope(string(block.Leave()), string(block.Inside()))].Node
			}
		case known && p.State.Ended():
			coming = append(coming, from)
			if p.Ended.After(out.Since) {
				out.Since = p.Ended
			}
			out.At = p.Node
		default:
			if p.Started.After(out.Since) {
				out.Since = p.Started // since that one works on it
			}
			pending = append(pending, from)
		}
	}
	if out.State == api.ActivityInactive && len(coming) == 0 {
		return out, false
	}
	switch {
	case len(pending) > 0:
		out.For = "waiting for connectors from " + strings.Join(pending, ", ")
		out.At = byName[api.InScope(out.Scope, pending[0])].Node
	default:
		out.For = "messages from " + strings.Join(coming, ", ") + " are on their way"
		if disk := g.Reports[out.Node].Disk; disk != "" && out.At != out.Node {
			out.At = out.Node // it takes nothing from links
			out.For += "; " + disk
		}
	}
	out.Heard, out.LastHeard = heard(out.At)
	return out, true
}
