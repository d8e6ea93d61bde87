package work

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"fmqm/api"
	"fmqm/container"
	"fmqm/message"
	"fmqm/node/command"
	"fmqm/node/question"
	"fmqm/node/thread"
	"fmqm/node/worklist"
	"fmqm/processtable"
	"fmqm/staff"
	"fmqm/staff/who"
)

// Items that are offered here and are another node's, and those of this node that others offer (N27).

// inquireElsewhere says whether this node knows why people of another one may not have an item, who may by their own staff.
func (d *Desk) inquireElsewhere(e *thread.Inquire, s *staff.Staff) thread.Found {
	found := thread.Found{Token: e.Token, May: make([]thread.May, len(e.Vouched))}
	for i, doer := range e.Vouched {
		may := &found.May[i]
		activity, by, barred := who.Bars(e.Item.Staff, s, doersOf(e.Item), doerOf(doer))
		if may.Doer, may.Is = doer, !barred; barred {
			may.Why = fmt.Sprintf("%s did %s, and as far as %s knows that may be the same person", by, activity, d.Self)
			if string(by) == doer.Person {
				may.Why = fmt.Sprintf("%s did %s", by, activity)
			}
		}
	}
	return found
}

// nodeNames lists nodes, not all if there are many.
func nodeNames(all []processtable.NodeID) string {
	names := make([]string, 0, severalShown)
	for _, n := range all[:min(len(all), severalShown)] {
		names = append(names, string(n))
	}
	if more := len(all) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// sayElsewhere asks an item's home for what somebody here says about it. Before he is given it the staff of this node is asked.
func (d *Desk) sayElsewhere(ctx context.Context, i *worklist.Item, o command.WorkOrder) error {
	if err := d.mayHere(i, &o); err != nil {
		return err
	}
	o.Over = d.mayTake(i, &o)
	_, err := d.askHome(ctx, i, o)
	return err
}

// mayTake says whether who says a word may take an item from another of this node: he administers its process, or is told that it is late.
func (d *Desk) mayTake(i *worklist.Item, o *command.WorkOrder) bool {
	p := d.Site.Process(i.Process)
	if o.Wish != message.WishTransfer && o.Wish != message.WishRelease || o.Person == "" || i.By.Person == o.Person || p == nil {
		return false
	}
	s := d.Site.Staff()
	return d.administers(p, s, d.Scheduler.Now(), o.Person) || d.isToldAs(p, i.Entry, s, o.Person)
}

// askHome asks the home of an item, and gives up a claim that is not answered: who asks is told that he has not got it. Who had it before he
// asked keeps it, whatever home says to the claim late: he was told that it is his.
func (d *Desk) askHome(ctx context.Context, i *worklist.Item, o command.WorkOrder) (unknown bool, err error) {
	if o.Word == (message.WordID{}) {
		o.Word = d.Site.NewWordID()
	}
	if d.wasGivenUp(o.Word) {
		return false, api.Errorf(api.CodeRefused, "claim it anew", "%s %s: that claim was given up, since %s had not answered: if it was granted it is given back", o.Wish, i.Home.Entry.Path(), i.Home.Node)
	}
	o.Entry = i.Home.Entry
	had := i.By.Person == o.Person && !d.wasGivenUp(i.Asked) || d.arrivals.holds(i.Key, o.Person)
	claims := o.Wish == message.WishClaim && !had
	a, end := d.expect(i, &o)
	defer end()
	unknown, err = d.Site.SayWorkAt(ctx, i.Home.Node, o)
	switch {
	case err == nil && claims:
		d.arrived(ctx, i, a)
	case err == nil && o.Wish != message.WishClaim && o.Wish != message.WishSave:
		d.arrivals.forget(i.Key)
	}
	switch {
	case !unknown || o.Wish != message.WishClaim:
	case had:
		err = api.Errorf(api.CodeUnreachable, "see fmqm work list", "%s decides who gets it, and has not answered: you have it already, and nothing changes", i.Home.Node)
	default:
		d.giveUp(i.Key, o.Word)
	}
	return unknown, err
}

// mayHere asks the staff of this node whether those may have an item who are to be given it by a word, and whom they stand in for.
func (d *Desk) mayHere(i *worklist.Item, o *command.WorkOrder) error {
	ask := thread.Inquire{Entry: i.Key.Entry}
	switch {
	case o.Wish == message.WishTransfer:
		ask.People = []string{o.To}
	case o.Wish == message.WishClaim, o.Wish == message.WishComplete && i.By == (message.Doer{}):
		ask.People = []string{o.Person}
	default:
		return nil
	}
	p := d.Site.Process(i.Process)
	if p == nil {
		return gone(i)
	}
	state, offering, err := d.read(p, i.Key)
	if err != nil {
		return err
	}
	if ask.Item = offering.Item(state); ask.Item == nil {
		return gone(i)
	}
	found := d.Inquire(p, &ask)
	may := found.May[0]
	if !may.Is {
		return api.Errorf(api.CodeRefused, "see fmqm work list", "%s %s: %s", o.Wish, i.Home.Entry.Path(), thread.MayNot(ask.People[0], may.Why, found.Could))
	}
	if o.Wish == message.WishTransfer {
		o.To, o.ToFor = may.Doer.Person, may.Doer.For
	} else {
		o.For = may.Doer.For
	}
	return nil
}

func gone(i *worklist.Item) error {
	return api.Errorf(api.CodeNotFound, "see fmqm history "+i.Entry.Instance.String(), "item %s is not offered any more", i.ID)
}

// AskItem asks for the draft of an item that the asking node offers.
const AskItem = "item"

// ItemQuestion is asked with AskItem.
type ItemQuestion struct {
	Process   string                  `json:"process"`
	Instance  message.InstanceID      `json:"instance"`
	Scope     message.Scope           `json:"scope,omitempty"`
	Activity  processtable.ActivityID `json:"activity"`
	Iteration int                     `json:"iteration"`
	Run       int                     `json:"run,omitempty"`
}

// ItemReport answers it. Without a draft the item is not there any more, or was never offered at the asking node.
type ItemReport struct {
	Draft json.RawMessage `json:"draft,omitempty"`
	Saved bool            `json:"saved,omitempty"`
}

// ItemTo tells a peer of the draft of an item that it offers.
func (d *Desk) ItemTo(peer processtable.NodeID, q ItemQuestion) (ItemReport, error) {
	id, err := processtable.ParseProcessID(q.Process)
	if err != nil {
		return ItemReport{}, nil
	}
	key := worklist.Key{Process: id, Entry: message.Entry{Instance: q.Instance, Scope: q.Scope, Activity: q.Activity}}
	i, found := d.list.Of(key)
	p := d.Site.Process(id)
	if !found || p == nil || i.At != (message.Execution{Iteration: q.Iteration, Run: q.Run}) {
		return ItemReport{}, nil
	}
	state, offering, err := d.read(p, key)
	if err != nil {
		return ItemReport{}, err
	}
	if item := offering.Item(state); item == nil || !slices.Contains(item.Elsewhere, peer) {
		return ItemReport{}, nil
	}
	draft, err := offering.Draft(state)
	if err != nil {
		return ItemReport{}, err
	}
	text, err := container.EncodeJSON(draft)
	return ItemReport{Draft: text, Saved: i.Drafted}, err
}

// draftAtHome is the draft of an item that is offered here, as its home has it; nil: home has not told.
func (d *Desk) draftAtHome(ctx context.Context, i *worklist.Item) json.RawMessage {
	ctx, cancel := d.Scheduler.WithTimeout(ctx, question.Timeout)
	defer cancel()
	e := &i.Home.Entry
	a, err := question.Ask[ItemReport](ctx, d.Site, i.Home.Node, AskItem, ItemQuestion{
		Process: i.Process.String(), Instance: e.Instance, Scope: e.Scope, Activity: e.Activity, Iteration: i.At.Iteration, Run: i.At.Run,
	})
	if err != nil || !json.Valid(a.Draft) {
		return nil
	}
	return a.Draft
}

// Grants that nobody waits for any more: home was asked for a claim, and has not answered in time, so that who asked was told that
// he has not got it. If home has given it all the same, it tells so here, and the item is given back. Where this node has stopped meanwhile
// the item stays his: he sees it on his worklist.
type abandoned struct {
	mu      sync.Mutex
	words   map[message.WordID]worklist.Key
	stopped bool
}

// Pauses between two attempts to give an item back.
const (
	firstPause = time.Second
	mostPause  = time.Minute
)

// giveUp notes that nobody waits for the answer to a claim.
func (d *Desk) giveUp(k worklist.Key, word message.WordID) {
	a := &d.abandoned
	a.mu.Lock()
	if a.words == nil {
		a.words = map[message.WordID]worklist.Key{}
	}
	a.words[word] = k
	a.mu.Unlock()
	d.giveBack(k)
}

// giveBack gives an item back that home has given to somebody who does not wait for it any more.
func (d *Desk) giveBack(k worklist.Key) {
	if i, there := d.list.Of(k); there && i.Home != nil && d.isAbandoned(&i) {
		d.Scheduler.Go(func() { d.giveBackNow(k, i.Asked, firstPause) })
	}
}

func (d *Desk) isAbandoned(i *worklist.Item) bool {
	return d.wasGivenUp(i.Asked) && !d.isStopped()
}

func (d *Desk) isStopped() bool {
	d.abandoned.mu.Lock()
	defer d.abandoned.mu.Unlock()
	return d.abandoned.stopped
}

// wasGivenUp says whether nobody waits for the answer to a word any more.
func (d *Desk) wasGivenUp(word message.WordID) bool {
	d.abandoned.mu.Lock()
	defer d.abandoned.mu.Unlock()
	_, is := d.abandoned.words[word]
	return is
}

// giveBackNow asks home until it has answered, or has told otherwise that the item is not his.
func (d *Desk) giveBackNow(k worklist.Key, word message.WordID, pause time.Duration) {
	i, there := d.list.Of(k)
	if !there || i.Asked != word || !d.isAbandoned(&i) {
		return
	}
	unknown, err := d.Site.SayWorkAt(context.Background(), i.Home.Node, command.WorkOrder{
		Process: i.Process, Entry: i.Home.Entry, At: i.At, Wish: message.WishRelease, Person: i.By.Person, Claim: i.Claim, Word: d.Site.NewWordID(),
		Why: "nobody waited for the answer to the claim any more",
	})
	if unknown || api.CodeOf(err) == api.CodeUnreachable {
		d.Scheduler.AfterFunc(pause, func() {
			d.Scheduler.Go(func() { d.giveBackNow(k, word, min(2*pause, mostPause)) })
		})
	}
}

// forgetAbandoned lets go of what was given up of an item that is not there any more: what comes late is absorbed with it.
func (d *Desk) forgetAbandoned(k worklist.Key) {
	a := &d.abandoned
	a.mu.Lock()
	defer a.mu.Unlock()
	for word, key := range a.words {
		if key == k {
			delete(a.words, word)
		}
	}
}

// Stop ends what the desk does by itself.
func (d *Desk) Stop() {
	d.abandoned.mu.Lock()
	defer d.abandoned.mu.Unlock()
	d.abandoned.stopped = true
}

// offeredElsewhere says for people at which other nodes an item is offered; empty: at none.
func offeredElsewhere(i *worklist.Item) string {
	if len(i.Elsewhere) == 0 {
		return ""
	}
	return " at " + nodeNames(i.Elsewhere)
}

// place is where an item is decided about.
func (d *Desk) place(i *worklist.Item) worklist.Home {
	if i.Home != nil {
		return *i.Home
	}
	return worklist.Home{Node: d.Self, Entry: i.Entry}
}
