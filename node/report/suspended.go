package report

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"fmqm/api"
	"fmqm/message"
	"fmqm/processtable"
)

// Suspending is a mark of the instance at a node: a suspend, or a resume (N29), or an expedite (N31).
type Suspending struct {
	ID       message.WordID   `json:"id"`
	Scope    string           `json:"scope,omitempty"` // as entries have it
	Activity string           `json:"activity,omitempty"`
	Lifts    []message.WordID `json:"lifts,omitempty"`
	By       string           `json:"by,omitempty"`
	Reason   string           `json:"reason,omitempty"`
	Time     time.Time        `json:"time"`
	Until    time.Time        `json:"until,omitzero"`
	Expires  bool             `json:"expires,omitempty"` // the node has lifted it by itself, as others do
	Rank     message.Rank     `json:"rank,omitempty"`    // of an expedite
	Clock    uint64           `json:"clock,omitempty"`   // of an expedite: the highest counts
}

// marksAt are the marks that a node has of an instance that was started at origin.
func marksAt(all []message.Message, origin processtable.NodeID) (marks []Suspending) {
	for i := range all {
		m, err := message.MarkOf(&all[i])
		if err != nil || origin != "" && m.Origin != origin {
			continue
		}
		one := Suspending{
			ID: m.ID, Scope: string(m.Scope), Activity: string(m.Activity), Lifts: m.Lifts, By: m.By, Reason: m.Reason,
			Time: m.Time, Until: m.Until, Expires: m.Expires(), Rank: m.Rank,
		}
		if m.Expedites() {
			one.Clock = m.Clock
		}
		marks = append(marks, one)
	}
	return marks
}

// suspends are those in force, as far as the nodes that answered know: what one has heard of counts, the others
// have not heard of it yet.
func (g *Gathered) suspends() (in []Suspending) {
	all := g.allMarks()
	for _, s := range all {
		lifted := func(m Suspending) bool { return slices.Contains(m.Lifts, s.ID) }
		if len(s.Lifts) == 0 && s.Rank == 0 && !slices.ContainsFunc(all, lifted) {
			in = append(in, s)
		}
	}
	return in
}

// InForce names the suspends that any node has in force: those of an activity, or, without one, all.
func (g *Gathered) InForce(scope, activity string) (ids []message.WordID) {
	for _, s := range g.suspends() {
		if len(ids) < message.MaxLifts && (activity == "" || s.Activity == activity && s.Scope == scope) {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

// expedited is the last expedite that any node that answered has heard of; nil: there is none.
func (g *Gathered) expedited() (last *Suspending) {
	for _, m := range g.allMarks() {
		if m.Rank != 0 && (last == nil || cmp.Or(cmp.Compare(m.Clock, last.Clock), slices.Compare(m.ID[:], last.ID[:])) > 0) {
			last = &m
		}
	}
	return last
}

// allMarks are the marks of all nodes, each once, the oldest first.
func (g *Gathered) allMarks() (all []Suspending) {
	for _, r := range g.Reports {
		for _, m := range r.Marks {
			if !slices.ContainsFunc(all, func(o Suspending) bool { return o.ID == m.ID }) {
				all = append(all, m)
			}
		}
	}
	slices.SortFunc(all, func(a, b Suspending) int { return cmp.Or(a.Time.Compare(b.Time), slices.Compare(a.ID[:], b.ID[:])) })
	return all
}

// addSuspends adds to a status what is suspended, and who has not heard of that.
func (g *Gathered) addSuspends(s *api.Status) {
	for _, m := range g.suspends() {
		s.Suspends = append(s.Suspends, api.Suspend{
			ID: m.ID, Scope: ShownScope(message.Scope(m.Scope), m.Activity), Activity: m.Activity, By: m.By, Since: m.Time, Until: m.Until, Reason: m.Reason,
		})
	}
	s.Pending = g.pending()
}

// pending are the nodes that have not heard of a suspend that is in force, of a resume of one that they
// have heard of, or of the last expedite. Of one that does not answer nobody knows: it counts as such.
func (g *Gathered) pending() (out []api.Pending) {
	all, force, expedited := g.allMarks(), g.suspends(), g.expedited()
	if len(all) == 0 {
		return nil
	}
	nodes := map[string]time.Time{g.Origin: {}} // those of the process
	for _, p := range g.Roster {
		nodes[p.Node] = time.Time{}
		for _, at := range p.At {
			nodes[at] = time.Time{}
		}
	}
	for _, u := range g.Unreachable {
		if _, has := nodes[u.Node]; has {
			nodes[u.Node] = u.LastHeard
		}
	}
	for node, last := range nodes {
		r, answered := g.Reports[node]
		has := func(id message.WordID) bool {
			return slices.ContainsFunc(r.Marks, func(m Suspending) bool { return m.ID == id })
		}
		for _, m := range all {
			word := "suspend"
			wanted := slices.ContainsFunc(force, func(s Suspending) bool { return s.ID == m.ID })
			if len(m.Lifts) > 0 {
				word = "resume"
				wanted = !m.Expires && (!answered || slices.ContainsFunc(m.Lifts, has))
			}
			if m.Rank != 0 {
				word, wanted = "expedite", m.ID == expedited.ID
			}
			if wanted && !has(m.ID) {
				out = append(out, api.Pending{Word: word, ID: m.ID, Node: node, LastHeard: last})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b api.Pending) int { return strings.Compare(a.Node, b.Node) })
	return out
}

// holding is the oldest suspend in force of an activity, or of what is around it; nil: there is none.
func (g *Gathered) holding(scope, activity string) *Suspending {
	at := message.Entry{Scope: message.Scope(scope), Activity: processtable.ActivityID(activity)}
	in := g.suspends()
	for i := range in {
		m := message.Mark{Scope: message.Scope(in[i].Scope), Activity: processtable.ActivityID(in[i].Activity)}
		if m.Holds(&at) {
			return &in[i]
		}
	}
	return nil
}

func (s *Suspending) text() string {
	m := message.Mark{By: s.By, Time: s.Time, Until: s.Until, Reason: s.Reason}
	return m.Text()
}

// whySuspended adds to a line of why that the activity is suspended. What runs ends, and is not begun anew.
func (g *Gathered) whySuspended(w *api.Wait) {
	s := g.holding(w.Scope, w.Activity)
	switch {
	case s == nil:
	case w.State == api.ActivityRunning && !w.Due.IsZero():
		w.For = s.text() + "; " + w.For // whoever shows it writes the time of the wait behind that
	case w.State == api.ActivityRunning, w.State == api.ActivityInError, w.State == api.ActivityUnknown, w.State == api.ActivitySkipped:
		w.For += "; " + s.text()
	default:
		w.For, w.Due = s.text(), s.Until
	}
}
