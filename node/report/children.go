package report

import (
	"fmt"
	"slices"

	"fmqm/api"
	"fmqm/message"
	"fmqm/processtable"
)

// ChildrenQuestion asks the node where they were started about instances that activities of one instance have begun
// (N19): whether any of them goes on.
type ChildrenQuestion struct {
	Parent    message.InstanceID   `json:"parent"`
	Instances []message.InstanceID `json:"instances"`
}

// ChildrenReport is the answer. InError is how many activities are in error in all of them, where none goes on; 0: one
// does, or is not known to have been begun so.
type ChildrenReport struct {
	InError int         `json:"in_error,omitempty"`
	Reason  string      `json:"reason,omitempty"`   // of the first one that is asked for; only for who has a part in its process
	ErrorIn *api.Parent `json:"error_in,omitempty"` // the activity there, or in what that has begun in its turn; for others without its name
}

// most is how many activities a node may say to be in error: more cannot be in one store.
const most = 1 << 30

// Stands says whether none of the children goes on, as far as the answer can be one: an activity there that it names has a
// name that there can be, since people are told to type it (invariant 11).
func (r *ChildrenReport) Stands() bool {
	if r.InError <= 0 || r.InError > most || r.ErrorIn == nil {
		return false
	}
	at := r.ErrorIn
	if _, err := processtable.ParseProcessID(at.Process); err != nil {
		return false
	}
	if at.Activity == "" {
		return at.Scope == ""
	}
	_, err := message.Scope(at.Scope).Full().Frames()
	return err == nil && (processtable.ValidActivity(at.Activity) || added(at.Activity))
}

// Children gives the instances that activities have begun on which it depends whether an instance goes on, by the node
// where they were started: nothing else does. None: whatever they do, it is known how it stands.
func (g *Gathered) Children() map[processtable.NodeID][]message.InstanceID {
	r := g.read()
	if r.atOrigin().State != api.InstanceRunning || r.canGoOn(childOfRunning) {
		return nil
	}
	children := map[processtable.NodeID][]message.InstanceID{}
	for i := range r.lines {
		if a := &r.lines[i]; childOfRunning(a) {
			children[childAt(a)] = append(children[childAt(a)], *a.Child)
		}
	}
	return children
}

// MayStand says whether something is in error, or done by another instance: then it may be that nothing goes on.
func (g *Gathered) MayStand() bool {
	return slices.ContainsFunc(g.read().lines, func(a api.Activity) bool {
		return a.State == api.ActivityInError || childOfRunning(&a)
	})
}

// childOfRunning: the activity goes on as the instance does that it has begun.
func childOfRunning(a *api.Activity) bool { return a.Child != nil && a.State == api.ActivityRunning }

// childAt is the node where the instance was started that an activity has begun.
func childAt(a *api.Activity) processtable.NodeID {
	if a.At != "" {
		return processtable.NodeID(a.At)
	}
	return processtable.NodeID(a.Node)
}

// Stuck notes that none of some children goes on, as the node says where they were started.
func (g *Gathered) Stuck(children []message.InstanceID, r ChildrenReport) {
	if g.stuck == nil {
		g.stuck = map[message.InstanceID]ChildrenReport{}
	}
	for i, child := range children {
		if g.stuck[child] = (ChildrenReport{}); i == 0 {
			g.stuck[child] = r
		}
	}
}

// hasStuck: the instance that the activity has begun is known not to go on.
func (r *reading) hasStuck(a *api.Activity) bool {
	if !childOfRunning(a) {
		return false
	}
	_, stuck := r.stuck[*a.Child]
	return stuck
}

// addStuck says in a status what is in error in the instances that activities have begun.
func (r *reading) addStuck(s *api.Status) {
	for i := range r.lines {
		a := &r.lines[i]
		if !r.hasStuck(a) {
			continue
		}
		child := r.stuck[*a.Child]
		s.InError += child.InError
		if s.ErrorIn != nil || child.ErrorIn == nil {
			continue
		}
		s.ErrorIn = child.ErrorIn
		s.Reason = fmt.Sprintf("instance %s of %s, which %s has begun at %s, is in error", a.Child, a.Of, api.Shown(string(message.Scope(a.Scope).Shown()), a.Activity), childAt(a))
		if child.Reason != "" {
			s.Reason += ": " + child.Reason
		}
	}
}
