package work

import (
	"cmp"
	"context"
	"strings"

	"fmqm/api"
	"fmqm/behaviour"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/node/command"
	"fmqm/node/question"
	"fmqm/node/report"
	"fmqm/node/thread"
	"fmqm/node/worklist"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/staff"
)

// Desk is where the items of a node are offered. Its methods are safe for concurrent use.
type Desk struct {
	Options
	list        *worklist.List
	abandoned   abandoned
	arrivals    arrivals
	notices     notices
	expressions expressions
}

// Options make a Desk. All are to be set.
type Options struct {
	Self      processtable.NodeID
	Site      Site
	Queue     *queue.Manager
	Scheduler task.Scheduler
}

// Site is the node whose items they are.
type Site interface {
	question.Carrier
	// Process is what the table of a process says; nil: it is not taken up here.
	Process(processtable.ProcessID) behaviour.Process
	// Staff is who works here now; nil: nobody.
	Staff() *staff.Staff
	// SayWork puts what somebody says about an item, and waits for the answer.
	SayWork(context.Context, command.WorkOrder) (api.Word, error)
	// SayWorkAt asks another node, the home of an item that is offered here; NewWordID makes the word's identifier.
	SayWorkAt(_ context.Context, home processtable.NodeID, _ command.WorkOrder) (unknown bool, _ error)
	NewWordID() message.WordID
	// Report says what this node knows of an instance.
	Report(report.Question) (report.Report, error)
}

// New makes a desk without items: process threads tell of them.
func New(o Options) *Desk { return &Desk{Options: o, list: worklist.New()} }

// Show takes down how an item is now, as its process thread tells.
func (d *Desk) Show(p behaviour.Process, e *thread.Show) {
	key := worklist.Key{Process: p.Table().Process, Entry: e.Entry}
	if _, notice := e.Entry.Scope.OfNotice(); notice {
		d.showNotice(p, key, e)
		return
	}
	defer d.classAnew(key)
	if e.Item == nil {
		d.list.Remove(key)
		d.forgetAbandoned(key)
		d.arrivals.tell(key, nil)
		return
	}
	i := e.Item
	at := &e.Entry
	var home *worklist.Home
	if i.Home != nil {
		home = &worklist.Home{Node: i.Home.Node, Entry: i.Home.Entry}
		at = &home.Entry
	}
	class, open := "nobody", worklist.Rule(nobody{})
	if !i.Away {
		class, open = d.class(p, e.Entry, i)
	}
	item := worklist.Item{
		Key: key, ID: message.ItemID(at, i.At), Home: home, Asked: i.Asked, Elsewhere: i.Elsewhere, Away: i.Away, At: i.At, Title: i.Title, Priority: i.Priority, Offered: i.Offered, Due: i.Due,
		Claim: i.Claim, By: i.By, Claimed: i.Claimed, Drafted: i.Draft != nil, Class: class, Rule: open,
		Suspended: e.Suspended,
	}
	d.list.Put(item)
	d.arrivals.tell(key, &item)
	if i.Asked != (message.WordID{}) {
		d.giveBack(key)
	}
}

// Counts is how many items there are, and how many of them nobody has.
func (d *Desk) Counts() (all, offered int) { return d.list.Len() }

// asker is somebody who asks about items.
type asker struct {
	api.Caller
	name     staff.Name // for whom: of this node's staff; empty: no person
	operator bool       // he may see and do what operators may, for others too
}

// person is how histories have him; empty: he is no person of this node.
func (d *Desk) person(w *asker) string {
	if w.name == "" {
		return ""
	}
	return string(staff.At(w.name, d.Self))
}

// asks finds out who asks, and for whom.
func (d *Desk) asks(ctx context.Context, as string) (asker, error) {
	c := api.CallerOf(ctx)
	c.As = cmp.Or(as, c.As)
	w := asker{Caller: c, name: staff.Name(c.Person), operator: c.MaySome(api.RightOperator)}
	if c.Rights == nil && c.Person != "" { // who works here is no operator unless the configuration says so
		w.operator = false
	}
	if c.As != "" {
		if !w.operator {
			return w, api.Errorf(api.CodeRefused, "ask an operator", "%s may not act for %s at %s", named(&c), c.As, d.Self)
		}
		w.name = staff.Name(strings.TrimSuffix(c.As, "@"+string(d.Self)))
	}
	switch s := d.Site.Staff(); {
	case s == nil:
		return w, api.Errorf(api.CodeRefused, "give `staff: {file: FILE}` in its configuration, and reload it", "%s has no staff: nothing can be offered to anybody there", d.Self)
	case w.name != "" && !s.Has(w.name):
		return w, d.unknown(string(w.name))
	case w.name == "" && !w.operator:
		return w, d.nobodyHere(&c)
	}
	return w, nil
}

// nobodyHere refuses who is no person of the staff. Who shows an operator's certificate is told that it is no person's, as the
// staff may have somebody of that name.
func (d *Desk) nobodyHere(c *api.Caller) error {
	if c.Proved != api.ProvedCertificate {
		return api.Errorf(api.CodeRefused, "let the staff of "+string(d.Self)+" have that login", "%s is no person of the staff of %s", named(c), d.Self)
	}
	return api.Errorf(api.CodeRefused, "ask with a certificate of `fmqmd pki issue --person`, or over the staff's socket; who has the right operator writes --as PERSON",
		"%s is no person of the staff of %s: the certificate is an operator's", named(c), d.Self)
}

func (d *Desk) unknown(name string) error {
	return api.Errorf(api.CodeRefused, "see fmqmd staff list there", "%s is not in the staff of %s", name, d.Self)
}

func named(c *api.Caller) string {
	if c.Name == "" {
		return "who asks"
	}
	return c.Name
}

// Work gives a page of the worklist of who asks.
func (d *Desk) Work(ctx context.Context, r api.WorkRequest) (api.WorkAnswer, error) {
	w, err := d.asks(ctx, r.As)
	switch {
	case err != nil:
		return api.WorkAnswer{}, err
	case r.All && !w.operator:
		return api.WorkAnswer{}, api.Errorf(api.CodeRefused, "leave --all out", "%s may not see what is offered to others at %s", named(&w.Caller), d.Self)
	case !r.All && w.name == "":
		return api.WorkAnswer{}, api.Errorf(api.CodeRefused, "see all with --all, or those of somebody with --as PERSON", "%s is no person of the staff of %s", named(&w.Caller), d.Self)
	}
	q := worklist.Query{
		Person: string(w.name), Name: d.person(&w), All: r.All, Claimed: r.Claimed, Epoch: d.epoch(), Activity: processtable.ActivityID(r.Activity), Limit: r.Limit,
		Process: func(id processtable.ProcessID) bool {
			of, _, versioned := strings.Cut(r.Process, "@")
			return d.sees(&w, id, r.All) && (r.Process == "" || id.String() == r.Process || !versioned && id.Name == of)
		},
	}
	if r.After != "" {
		after, err := d.find(&w, r.After)
		if err != nil {
			return api.WorkAnswer{}, err
		}
		q.After = &after
	}
	page, more := d.list.Page(q)
	a := api.WorkAnswer{More: more}
	for i := range page {
		a.Items = append(a.Items, d.shown(&page[i]))
	}
	return a, nil
}

// sees says whether a process's items are there for somebody. Who works here needs no right over it: what he may have is
// his staff expression's to say.
func (d *Desk) sees(w *asker, id processtable.ProcessID, all bool) bool {
	if !all && w.Person != "" {
		return true
	}
	if all {
		return w.May(api.RightOperator, id.String())
	}
	return w.May(api.RightClerk, id.String())
}

// find gives the item whose name begins with a text, of those that somebody may see.
func (d *Desk) find(w *asker, id string) (worklist.Item, error) {
	id = strings.ToLower(id)
	var seen []worklist.Item
	for _, i := range d.list.Find(id) {
		mine := w.name != "" && d.sees(w, i.Process, false) && (i.By.Person == d.person(w) || i.Rule.May(string(w.name)) || d.isTold(i.Key, w.name))
		if mine || w.operator && d.sees(w, i.Process, true) {
			seen = append(seen, i)
		}
	}
	switch {
	case len(seen) == 1:
		return seen[0], nil
	case len(seen) == 0:
		return worklist.Item{}, api.Errorf(api.CodeNotFound, "see fmqm work list; what has ended is in fmqm history", "no item %s is offered to %s at %s", id, d.nameOf(w), d.Self)
	}
	names := make([]string, 0, severalShown)
	for _, i := range seen[:min(len(seen), severalShown)] {
		names = append(names, i.ID)
	}
	return worklist.Item{}, api.Errorf(api.CodeUsage, "write more of its letters", "%d items begin with %s: %s", len(seen), id, strings.Join(names, ", "))
}

// severalShown is how many items an error names.
const severalShown = 10

func (d *Desk) nameOf(w *asker) string {
	if w.name != "" {
		return d.person(w)
	}
	return named(&w.Caller)
}

// shown is an item in the words of the API.
func (d *Desk) shown(i *worklist.Item) api.WorkItem {
	at := d.shownAt(i)
	out := api.WorkItem{
		Item: i.ID, Kind: api.ItemWork, Instance: i.Entry.Instance, Process: i.Process.String(), Activity: string(i.Entry.Activity),
		Scope: string(at.Entry.Scope.Shown()), Node: string(at.Node), Title: i.Title, State: api.ItemOffered, Priority: i.Priority,
		Offered: i.Offered, Due: i.Due, Draft: i.Drafted, Claim: i.Claim,
	}
	if i.By != (message.Doer{}) {
		out.State, out.ClaimedBy, out.For, out.Claimed = api.ItemClaimed, i.By.Person, i.By.For, i.Claimed
	}
	if i.Suspended {
		out.State = api.ItemSuspended
	}
	if i.Notice {
		out.Kind = api.ItemNotice
		if of, there := d.list.Of(i.Key.Work()); there {
			out.Of = of.ID
		}
	}
	return out
}

// epoch changes whenever what was found out of the staff may not hold any more.
func (d *Desk) epoch() worklist.Epoch {
	s, now := d.Site.Staff(), d.Scheduler.Now()
	until, _ := s.Until(now)
	return worklist.Epoch{Staff: s, Until: until}
}
