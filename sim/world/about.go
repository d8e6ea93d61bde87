package world

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/message"
	"fmqm/node"
	"fmqm/node/report"
	"fmqm/processtable"
	"fmqm/queue/record"
	"fmqm/sim/oracle"
)

// An answer is about what was asked: about that instance, that site, what the filter of a list lets
// through. One that is about something else looks right by itself, and few answers say what they are
// of. So each is held to what watch has seen of it.

// happening is an audit record as a history tells it. Its time parts instances that run alike.
type happening struct {
	node            name
	clock           uint64
	time            int64
	scope, activity string
	event           api.Event
}

// inHistory is one of an instance.
type inHistory struct {
	instance message.InstanceID
	happening
}

// recorded notes what a site has on disk of an instance's history, and where.
func (x *watch) recorded(s *site, key []byte, r *record.AuditRecord) {
	h, tells := toldAs(s.name, r)
	if !tells { // no history tells of it
		return
	}
	if x.happened[r.Instance] == nil {
		x.happened[r.Instance] = map[happening]bool{}
	}
	x.happened[r.Instance][h] = true
	x.shadows[s.name].told[string(key)] = inHistory{r.Instance, h}
}

// forgotten notes that retention has removed a record.
func (x *watch) forgotten(s *site, key []byte) {
	d := x.shadows[s.name]
	if at, told := d.told[string(key)]; told {
		delete(d.told, string(key))
		x.happened[at.instance][at.happening] = false
	}
}

// toldAs is how a history tells of a record. Source and sink of a block are the engine's: with them an
// iteration begins and returns. What does the work of a call is told as the call.
func toldAs(at name, r *record.AuditRecord) (h happening, tells bool) {
	h = happening{at, r.Clock, r.Time.UnixNano(), string(r.Scope), string(r.Activity), report.Events[r.Event]}
	engines := r.Scope != "" && (r.Activity == processtable.Source || r.Activity == processtable.Sink)
	switch {
	case engines && r.Event == record.EventTerminated:
		h.event = api.EventReturned
		if r.Activity == processtable.Source {
			h.event = api.EventBegun
		}
		h.scope, h.activity = string(r.Scope.Leave()), string(r.Scope.Inside())
	case engines && (r.Event == record.EventStopped || r.Event == record.EventSkipped || r.Event == record.EventCancelled):
		return h, false
	}
	scope := message.Scope(h.scope)
	if oracle.IsWork(scope, processtable.ActivityID(h.activity)) {
		scope = scope.Leave()
	}
	h.scope = string(scope.Shown())
	return h, h.event != ""
}

// history asks a site for an instance's.
func (w *World) history(at name, c *client) {
	own := map[happening]bool{}
	for h, still := range w.watch.happened[c.instance.ID] {
		if still && h.node == at && !w.watch.lost[at] {
			own[h] = true
		}
	}
	_ = w.answered(at, "history "+c.id(), func(ctx context.Context, n *node.Node) (string, error) {
		answer, err := n.History(ctx, c.instance.ID)
		return w.watch.historyOf(c, answer, own), err
	})
}

// historyOf says what of a history is not the instance's, or was not on disk when it was told; own
// is what the site itself had of it before.
func (x *watch) historyOf(c *client, a api.HistoryAnswer, own map[happening]bool) string {
	told := map[happening]bool{}
	for i := range a.Events {
		e := &a.Events[i]
		h := happening{name(e.Node), e.Clock, e.Time.UnixNano(), e.Scope, e.Activity, e.Event}
		_, recorded := x.happened[c.instance.ID][h]
		switch {
		case i > 0 && e.Clock < a.Events[i-1].Clock:
			return fmt.Sprintf("%v comes before what was earlier", h)
		case !recorded && !x.cloned[h.node]:
			return fmt.Sprintf("it tells of %v, which is not recorded", h)
		}
		told[h] = true
	}
	for h := range own {
		if !told[h] && x.happened[c.instance.ID][h] && len(a.More) == 0 {
			return fmt.Sprintf("it does not tell of %v, which is on disk there", h)
		}
	}
	return x.world.strange(a.Unreachable)
}

// answered asks a site, and holds what it answers, in the moment in which it does, to what wrong
// says of it.
func (w *World) answered(at name, what string, f func(context.Context, *node.Node) (wrong string, err error)) error {
	return w.ask(at, what, func(ctx context.Context, n *node.Node) error {
		wrong, err := f(ctx, n)
		if err == nil && wrong != "" {
			w.breaks("7", "%s is asked for %s, and answers otherwise: %s", at, what, wrong)
		}
		return err
	})
}

// otherThan says that an answer is about something else.
func otherThan(asked, told string) string {
	if asked == told {
		return ""
	}
	return fmt.Sprintf("it is about %s, not %s", told, asked)
}

// strange says which of the sites that did not answer is none.
func (w *World) strange(silent []api.Unreachable) string {
	for _, u := range silent {
		if w.site(name(u.Node)) == nil {
			return fmt.Sprintf("%s is said not to answer, and there is no such site", u.Node)
		}
	}
	return ""
}

// activityOf says what is wrong where an answer says that an activity of the process is at a node,
// in a scope; told without one it may be in any.
func (p *prepared) activityOf(scope, activity, node string) string {
	place, known := p.places[activity]
	if !known || place.Node != node {
		return fmt.Sprintf("%s has no activity %s at %s", p.id, activity, node)
	}
	if scope != "" {
		if err := place.Fits(scope); err != nil {
			return fmt.Sprintf("%s is said to be in %s: %v", activity, scope, err)
		}
	}
	return ""
}

// statusOf says what of a status is not the instance's.
func (w *World) statusOf(c *client, s api.Status) string {
	if s.Instance != c.instance.ID || s.Process != c.of.id {
		return fmt.Sprintf("it is of %s of %s", s.Instance, s.Process)
	}
	told := map[string]bool{}
	for i := range s.Activities {
		a := &s.Activities[i]
		if wrong := c.of.activityOf(a.Scope, a.Activity, a.Node); wrong != "" {
			return wrong
		}
		path := api.InScope(a.Scope, a.Activity)
		if told[path] {
			return path + " is told of twice"
		}
		told[path] = true
	}
	return w.strange(s.Unreachable)
}

// whyOf says what of an answer about what an instance waits for is not of that.
func (w *World) whyOf(c *client, a api.WhyAnswer) string {
	if a.Instance != c.instance.ID || a.Process != c.of.id {
		return fmt.Sprintf("it is of %s of %s", a.Instance, a.Process)
	}
	for i := range a.Waits {
		if wrong := c.of.activityOf(a.Waits[i].Scope, a.Waits[i].Activity, a.Waits[i].Node); wrong != "" {
			return wrong
		}
	}
	return w.strange(a.Unreachable)
}

// uploadOf says what of the answer to an upload is not of its tables.
func (w *World) uploadOf(p *prepared, a api.UploadAnswer) string {
	same := func(t api.Table, l api.UploadNode) bool { return t.Node == l.Node && t.Process == l.Process }
	if !slices.EqualFunc(p.upload.Tables, a.Nodes, same) {
		return fmt.Sprintf("it tells of %v", a.Nodes)
	}
	return w.unread(p, a)
}

// refusedOf says what of a list of refused messages cannot be: each is of what somebody starts, from a site.
func (w *World) refusedOf(a api.RefusedAnswer) string {
	for i := range a.Messages {
		m := &a.Messages[i]
		if w.client(m.Instance) == nil && !w.watch.children[m.Instance] || w.site(name(m.From)) == nil || i > 0 && m.Number >= a.Messages[i-1].Number {
			return fmt.Sprintf("message %d of %s from %s", m.Number, m.Instance, m.From)
		}
	}
	return ""
}

// lists are the ways in which a list is asked for; the process and the moment of the start are c's.
const lists = 8

func listOf(c *client, way_ int) api.ListRequest {
	r := api.ListRequest{Limit: 100}
	switch way_ {
	case 1:
		r.All = true
	case 2:
		r.All, r.Process = true, c.of.id
	case 3:
		r.All, r.Process, r.Limit = true, strings.TrimSuffix(c.of.id, "@1"), 1
	case 4:
		r.All, r.Everywhere = true, true
	case 5:
		r.State, r.Everywhere = api.InstanceInError, true
	case 6:
		r.State, r.Process = api.InstanceFinished, c.of.id
	case 7:
		r.All, r.Everywhere, r.Since, r.Limit = true, true, begun.Add(c.instance.At), 2
	}
	return r
}

// listText is what is asked for, for people.
func listText(r api.ListRequest) string {
	text := fmt.Sprintf("list, %d a page", r.Limit)
	for _, only := range []struct {
		text string
		is   bool
	}{
		{"all", r.All},
		{"everywhere", r.Everywhere},
		{string(r.State), r.State != ""},
		{"of " + r.Process, r.Process != ""},
		{"since " + r.Since.Format(time.TimeOnly), !r.Since.IsZero()},
		{"the next page", r.Next != ""},
	} {
		if only.is {
			text += ", " + only.text
		}
	}
	return text
}

// list asks a site for a list, page by page.
func (w *World) list(at name, r api.ListRequest) {
	var before *api.ListAnswer
	told, started := map[uuid.UUID]bool{}, w.startedAt(at)
	for page, more := 0, true; more && page <= len(w.clients); page++ {
		more = false
		_ = w.answered(at, listText(r), func(ctx context.Context, n *node.Node) (string, error) {
			a, err := n.List(ctx, r)
			wrong := w.listed(at, r, a, before)
			for i := range a.Instances {
				id := a.Instances[i].Instance
				if told[id] && wrong == "" {
					wrong = fmt.Sprintf("it tells of %s twice", id)
				}
				told[id] = true
			}
			if err == nil && !a.More && wrong == "" {
				wrong = lacks(r, told, started)
			}
			before, more, r.Next = &a, a.More, a.Next
			return wrong, err
		})
	}
}

// startedAt gives the clients who have been told that their instance is started, at a site that knows it.
func (w *World) startedAt(at name) (all []*client) {
	for _, c := range w.clients {
		if c.started && c.of.origin == at && !w.watch.lost[at] {
			all = append(all, c)
		}
	}
	return all
}

// lacks says what a list of all, come to its end, does not have.
func lacks(r api.ListRequest, told map[uuid.UUID]bool, started []*client) string {
	for _, c := range started {
		if r.All && r.Since.IsZero() && c.isOf(r.Process) && !told[c.instance.ID] {
			return c.id() + " is started there, and is not told of"
		}
	}
	return ""
}

// isOf: the client's instance is of a process, as a list's filter names it.
func (c *client) isOf(process string) bool {
	return process == "" || process == c.of.id || process+"@1" == c.of.id
}

// listed says what of a page was not asked for; before is the page before.
func (w *World) listed(at name, r api.ListRequest, a api.ListAnswer, before *api.ListAnswer) string {
	if len(a.Instances) > r.Limit || a.More != (a.Next != "") {
		return fmt.Sprintf("%d instances, more: %t, next: %q", len(a.Instances), a.More, a.Next)
	}
	last := time.Time{}
	if before != nil && len(before.Instances) > 0 {
		last = before.Instances[len(before.Instances)-1].Started
	}
	for i := range a.Instances {
		x := &a.Instances[i]
		c := w.client(x.Instance)
		ended := x.State == api.InstanceFinished || x.State == api.InstanceTerminated
		switch {
		case c == nil && w.watch.children[x.Instance]: // its parent's node has begun it, and says whose it is
		case c == nil:
			return fmt.Sprintf("it tells of %s, which nobody starts", x.Instance)
		case x.Process != c.of.id, x.Origin != string(c.of.origin), !r.Everywhere && c.of.origin != at:
			return fmt.Sprintf("it tells of %s of %s, started at %s; that is of %s, started at %s", c.id(), x.Process, x.Origin, c.of.id, c.of.origin)
		}
		switch {
		case c != nil && !c.isOf(r.Process), r.State != "" && x.State != r.State, ended && !r.All && r.State == "", x.Started.Before(r.Since):
			return fmt.Sprintf("it tells of %s of %s, which is %s since %v", x.Instance, x.Process, x.State, x.Started)
		case !last.IsZero() && x.Started.After(last):
			return fmt.Sprintf("it tells of %s after what was started before it", x.Instance)
		}
		if c == nil {
			last = x.Started
			continue
		}
		for _, e := range x.Errors {
			if wrong := c.of.activityOf(e.Scope, e.Activity, e.Node); wrong != "" {
				return wrong
			}
		}
		last = x.Started
	}
	return w.strange(a.Unreachable)
}

// client gives that of an instance; nil: nobody starts it.
func (w *World) client(id uuid.UUID) *client {
	for _, c := range w.clients {
		if c.instance.ID == id {
			return c
		}
	}
	return nil
}

// linksOf says what of a site's links is not so: there is one to each other site, and each lane is as
// far as the disks of these two are.
func (x *watch) linksOf(at name, links []api.Link) string {
	others := slices.DeleteFunc(slices.Clone(x.world.plan.Sites), func(n name) bool { return n == at })
	for i := range links {
		peer := name(links[i].Peer)
		known := slices.Index(others, peer)
		if known < 0 {
			return fmt.Sprintf("it tells of a link to %s, twice or without cause", peer)
		}
		others = slices.Delete(others, known, known+1)
		if wrong := x.linkOf(at, peer, &links[i]); wrong != "" {
			return wrong
		}
	}
	if len(others) > 0 {
		return fmt.Sprintf("it tells of no link to %s", names(others))
	}
	return ""
}

// linkOf says what of one link is not so.
func (x *watch) linkOf(at, peer name, l *api.Link) string {
	here, there := x.shadows[at], x.shadows[peer]
	for _, s := range l.Lanes {
		out, in := lane{Peer: peer, Lane: message.Lane(s.Lane)}, lane{Peer: at, Lane: message.Lane(s.Lane)}
		if x.anew(x.world.site(at), out) {
			continue
		}
		sent, taken, theirs := here.sent[out], there.accepted[in].Number, there.sent[in]
		if s.Next > sent+1 || s.Acknowledged > taken || s.Expected > theirs+1 {
			return fmt.Sprintf("lane %d to %s: next %d, acknowledged %d, expected %d; %d are put for it, which has %d, and has put %d itself", s.Lane, peer, s.Next, s.Acknowledged, s.Expected, sent, taken, theirs)
		}
	}
	return ""
}
