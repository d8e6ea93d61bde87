package work

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"fmqm/api"
	"fmqm/container"
	"fmqm/message"
	"fmqm/node/command"
	"fmqm/node/report"
	"fmqm/node/worklist"
	"fmqm/staff"
)

// wishOf are the words of the API as those of the queue.
var wishOf = map[api.WorkVerb]message.Wish{
	api.WorkClaim: message.WishClaim, api.WorkRelease: message.WishRelease, api.WorkTransfer: message.WishTransfer,
	api.WorkSave: message.WishSave, api.WorkComplete: message.WishComplete,
}

// SayWork lets somebody say something about an item, and waits until what follows is on disk.
func (d *Desk) SayWork(ctx context.Context, id string, verb api.WorkVerb, w api.WorkWord) (api.WorkDone, error) {
	who, err := d.asks(ctx, w.As)
	if err != nil {
		return api.WorkDone{}, err
	}
	i, err := d.meant(&who, id)
	if err != nil {
		return api.WorkDone{}, err
	}
	if err := d.fits(&i, verb, &w); err != nil {
		return api.WorkDone{}, err
	}
	o := command.WorkOrder{
		Process: i.Process, Entry: i.Entry, At: i.At, Wish: wishOf[verb], Person: d.person(&who), Why: w.Reason, Claim: w.Claim, Output: w.Output, Word: w.Word,
	}
	if i.Notice { // it is the same however often it comes
		o.At = message.Execution{}
	}
	if who.Person == "" || who.As != "" {
		if o.Operator = api.OperatorOf(ctx); o.Operator == "" {
			o.Operator = nobodyKnown
		}
	}
	switch {
	case o.Person == "" && verb != api.WorkRelease && verb != api.WorkTransfer:
		return api.WorkDone{}, api.Errorf(api.CodeRefused, "write for whom: --as PERSON", "%s %s: %s is no person of the staff of %s", verb, i.ID, named(&who.Caller), d.Self)
	case verb == api.WorkTransfer:
		to, known := d.Site.Staff().Surely(d.whole(w.To))
		if !known {
			return api.WorkDone{}, d.unknown(w.To)
		}
		o.To = string(staff.At(to, d.Self))
	case w.To != "":
		return api.WorkDone{}, api.Errorf(api.CodeUsage, "leave it out", "%s takes nobody to whom", verb)
	}
	at, result := d.shownAt(&i), api.WordDone
	if i.Home != nil {
		err = d.sayElsewhere(ctx, &i, o)
	} else {
		var answer api.Word
		answer, err = d.Site.SayWork(ctx, o)
		result = answer.Result
	}
	if err != nil {
		return api.WorkDone{}, err
	}
	kind := api.ItemWork
	if i.Notice {
		kind = api.ItemNotice
	}
	return api.WorkDone{
		Item: i.ID, Kind: kind, Instance: i.Entry.Instance, Process: i.Process.String(), Activity: string(i.Entry.Activity), Scope: string(at.Entry.Scope.Shown()),
		Node: string(at.Node), Word: verb, Result: result, By: o.Person, To: o.To,
	}, nil
}

// fits says why something is not said about an item; nil: it may be. A notice is only taken off the worklists.
func (d *Desk) fits(i *worklist.Item, verb api.WorkVerb, w *api.WorkWord) error {
	switch {
	case !i.Notice:
		return nil
	case verb == api.WorkComplete && (len(w.Output) == 0 || string(w.Output) == "{}"):
		w.Output = nil
		return nil
	case verb == api.WorkComplete:
		return api.Errorf(api.CodeRefused, "complete it without output", "item %s is a notice, and has no output", i.ID)
	}
	remedy := "take it off the worklists with fmqm work complete " + i.ID
	if of, there := d.list.Of(i.Key.Work()); there {
		remedy += fmt.Sprintf("; to pass the work on: fmqm work transfer %s PERSON", of.ID)
	}
	return api.Errorf(api.CodeRefused, remedy, "item %s is a notice, which nobody has: there is nothing to %s", i.ID, verb)
}

// nobodyKnown is who acts where nobody is known.
const nobodyKnown = "somebody"

// whole is a person of this node where no other is named.
func (d *Desk) whole(name string) staff.Person {
	if strings.Contains(name, "@") {
		return staff.Person(name)
	}
	return staff.At(staff.Name(name), d.Self)
}

// meant is the item that somebody says something about. One that he may not have is found by its whole name: he is
// told that he may not, and who may.
func (d *Desk) meant(w *asker, id string) (worklist.Item, error) {
	i, err := d.find(w, id)
	if api.CodeOf(err) != api.CodeNotFound || len(id) < message.ItemDigits {
		return i, err
	}
	if found := d.list.Find(strings.ToLower(id)); len(found) == 1 && d.sees(w, found[0].Process, false) {
		return found[0], nil
	}
	return i, err
}

// WorkItem gives an item with all that a form of it needs.
func (d *Desk) WorkItem(ctx context.Context, id, as string) (api.WorkShown, error) {
	w, err := d.asks(ctx, as)
	if err != nil {
		return api.WorkShown{}, err
	}
	i, err := d.find(&w, id)
	if err != nil {
		return api.WorkShown{}, err
	}
	p := d.Site.Process(i.Process)
	if p == nil {
		return api.WorkShown{}, gone(&i)
	}
	state, offering, err := d.read(p, i.Key)
	if err != nil {
		return api.WorkShown{}, err
	}
	item := offering.Item(state)
	if item == nil || item.At != i.At {
		return api.WorkShown{}, gone(&i)
	}
	out := api.WorkShown{WorkItem: d.shown(&i), OutputType: []api.MemberType{}}
	if row := p.Table().Activity(i.Entry.Row()); row != nil { // else a notice
		out.OutputType = api.MembersOf(row.Output)
	}
	draft, err := offering.Draft(state)
	if err == nil {
		out.Draft, err = container.EncodeJSON(draft)
	}
	if err == nil && i.Home != nil {
		if draft := d.draftAtHome(ctx, &i); draft != nil {
			out.Draft = draft
		}
	}
	if err == nil && item.Input != nil && len(item.Input.Type.Members) > 0 {
		out.Input, err = container.EncodeJSON(item.Input)
	}
	if of := item.Notice; err == nil && of != nil && of.Told != nil {
		if out.Error = of.Told.Text; of.Output != nil && len(of.Output.Type.Members) > 0 {
			out.Output, err = container.EncodeJSON(of.Output)
		}
	}
	if err != nil {
		return api.WorkShown{}, err
	}
	out.Eligible, out.People = d.count(p, i.Entry, item)
	at := d.shownAt(&i)
	told, err := d.Site.Report(report.Question{
		Instance: i.Entry.Instance, Process: i.Process.String(), History: true, Activity: at.Entry.Path(),
	})
	out.History = told.Events
	slices.SortStableFunc(out.History, func(a, b api.HistoryEvent) int { return cmp.Or(cmp.Compare(a.Clock, b.Clock), a.Time.Compare(b.Time)) })
	return out, err
}
