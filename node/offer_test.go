package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/message"
	"fmqm/node/command"
	"fmqm/node/work"
	"fmqm/processtable"
	"fmqm/queue/record"
	"fmqm/staff"
)

const offeredSites = `
process: two
version: 1
structures: {In: {n: int}}
input: In
output: In
starts: [A]
activities:
  y: {node: A, staff: role("clerk"), input: In, output: In, offered_at: [B]}
  c: {node: C, empty: true}
data: [source -> y, y -> sink]
control: [y -> c]
`

// offering are a home, A, and a node that offers its item, B. The test carries what one says to the other.
type offering struct {
	*testing.T
	a, b *keeper
	id   message.InstanceID
	lose func(kind string) bool // answers of A that are lost
	told []message.Message      // that A has sent to B
}

func newOffering(t *testing.T) *offering {
	o := offeringOf(t, offeredSites)
	o.start()
	o.hear(api.ItemOffered)
	return o
}

func offeringOf(t *testing.T, sites string) *offering {
	o := &offering{T: t, a: newKeeper(t, "A", sites), b: newKeeper(t, "B", sites), id: uuid.Must(uuid.NewV7())}
	o.begin()
	return o
}

// start has home offer its item.
func (o *offering) start() {
	o.Helper()
	o.a.must(o.a.start(o.id, `{"n": 7}`))
	o.a.await(o.id, "y", record.EventOffered)
}

// begin has both know their people, and B ask A.
func (o *offering) begin() {
	for _, k := range []*keeper{o.a, o.b} {
		clerk, lead := staff.Word{Text: "clerk"}, staff.Word{Text: "lead"}
		d := staff.Draft{Roles: []staff.Word{clerk, lead}}
		for _, name := range []string{"eve", "kim"} {
			d.People = append(d.People, staff.DraftPerson{Name: staff.Word{Text: name}, Roles: []staff.Word{clerk}})
		}
		d.People = append(d.People, staff.DraftPerson{Name: staff.Word{Text: "lea"}, Roles: []staff.Word{lead}})
		people, problems := d.Check(staff.Site{Node: k.name})
		if len(problems) > 0 {
			o.Fatal(problems)
		}
		k.SetStaff(people)
	}
	o.a.queue.Transmission("B").PeerReads(message.Current())
	o.b.commands.ReadsWords = func(processtable.NodeID) bool { return true }
	o.b.query = func(ctx context.Context, _ processtable.NodeID, kind string, body []byte) ([]byte, error) {
		answer, err := o.a.respond(ctx, "B", kind, body)
		if o.lose != nil && o.lose(kind) {
			return nil, errors.New("the link was lost")
		}
		return answer, err
	}
}

// hear takes to B what A has for it, and waits until it shows its one item so.
func (o *offering) hear(state api.ItemState) api.WorkItem {
	o.Helper()
	o.carry()
	var item api.WorkItem
	o.until(func() bool {
		all := o.items(o.b)
		if len(all) == 1 {
			item = all[0]
		}
		return item.State == state
	})
	return item
}

func (o *offering) until(holds func() bool) {
	o.Helper()
	look, end := time.NewTicker(time.Millisecond), time.After(time.Minute)
	defer look.Stop()
	for !holds() {
		select {
		case <-look.C:
		case <-end:
			o.Fatal("it does not come to that")
		}
	}
}

func (o *offering) items(k *keeper) []api.WorkItem {
	o.Helper()
	a, err := k.Work(o.Context(), api.WorkRequest{All: true, Limit: 10})
	k.must(err)
	return a.Items
}

func (o *offering) say(verb api.WorkVerb, who string) error {
	o.Helper()
	item := o.items(o.b)[0].Item
	return o.meanwhile(func() error {
		_, err := o.b.SayWork(o.Context(), item, verb, api.WorkWord{As: who})
		return err
	})
}

// meanwhile takes to B what A has for it while somebody says something, unless A's answers are lost.
func (o *offering) meanwhile(says func() error) error {
	done := make(chan error, 1)
	go func() { done <- says() }()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-look.C:
			if o.lose == nil {
				o.carry()
			}
		}
	}
}

// carry takes to B what A has for it.
func (o *offering) carry() {
	if sent := o.a.sent("B"); len(sent) > 0 {
		o.told = append(o.told, sent...)
		o.b.take(sent...)
	}
}

// N27: the answer to a claim is lost. Who has asked is told that he has not got it, and what home has given him is given back; the next
// one gets it, and keeps it when both nodes begin anew; what is told twice changes nothing.
func TestN27AClaimWhoseAnswerIsLost(t *testing.T) {
	o := newOffering(t)
	o.lose = func(kind string) bool { return kind == command.AskWork }
	if err := o.say(api.WorkClaim, "eve"); api.CodeOf(err) != api.CodeUnreachable || !strings.Contains(err.Error(), "not claimed") {
		t.Fatalf("without an answer: %v", err)
	}
	if got := o.items(o.a); len(got) != 1 || got[0].ClaimedBy != "eve@B" {
		t.Fatalf("home has %+v", got)
	}
	o.lose = nil
	o.carry()
	o.a.await(o.id, "y", record.EventReleased)
	o.hear(api.ItemOffered)
	o.a.must(o.say(api.WorkClaim, "kim"))
	if item := o.hear(api.ItemClaimed); item.ClaimedBy != "kim@B" || item.Claim != 2 || item.Node != "A" {
		t.Errorf("B has %+v", item)
	}
	for _, k := range []*keeper{o.a, o.b} {
		k.restart()
	}
	o.begin()
	o.until(func() bool { return len(o.items(o.a)) == 1 && len(o.items(o.b)) == 1 })
	if item := o.items(o.b)[0]; item.ClaimedBy != "kim@B" || item.Item != o.items(o.a)[0].Item {
		t.Errorf("begun anew B has %+v", item)
	}
	if err := o.say(api.WorkClaim, "eve"); api.CodeOf(err) != api.CodeRefused || !strings.Contains(err.Error(), "kim@B has claimed it") {
		t.Errorf("another is told %v", err)
	}
	o.a.must(o.say(api.WorkComplete, "kim"))
	o.carry()
	o.until(func() bool { return len(o.items(o.b)) == 0 })
	o.b.take(o.told...) // as a peer does that was restored
	o.b.settled()
	if all := o.items(o.b); len(all) != 0 {
		t.Errorf("told once more B has %+v", all)
	}
	history, err := o.a.queue.History(o.id)
	o.a.must(err)
	var claims []string
	for i := range history {
		if h := &history[i]; h.Event == record.EventClaimed || h.Event == record.EventReleased || h.Event == record.EventCompleted {
			claims = append(claims, fmt.Sprint(h.Event, " ", h.By))
		}
	}
	said := func(e record.Event, by string) string { return fmt.Sprint(e, " ", by) }
	if want := []string{said(record.EventClaimed, "eve@B"), said(record.EventReleased, "eve@B"), said(record.EventClaimed, "kim@B"), said(record.EventCompleted, "kim@B")}; !slices.Equal(claims, want) {
		t.Errorf("history has %v, want %v", claims, want)
	}
}

// Invariant 11: a peer asks about what it offers, for its own people, and for nothing else.
func TestN27WhatAPeerMayAskAboutAnItem(t *testing.T) {
	o := newOffering(t)
	word := func() message.WordID { return o.b.commands.NewWordID() }
	good := command.WorkQuestion{Process: "two@1", Instance: o.id, Activity: "y", Iteration: 1, Word: word(), Wish: message.WishClaim, Person: "eve@B"}
	for _, tc := range []struct {
		name   string
		peer   processtable.NodeID
		change func(*command.WorkQuestion)
		want   string
	}{
		{"who has no part in the process", "D", func(*command.WorkQuestion) {}, "no table of two@1 at A"},
		{"who does not offer it", "C", func(q *command.WorkQuestion) { q.Person = "eve@C" }, "y is not offered at C"},
		{"for a person of home", "B", func(q *command.WorkQuestion) { q.Person = "eve@A" }, `B cannot speak for "eve@A"`},
		{"in the place of somebody of home", "B", func(q *command.WorkQuestion) { q.For = "kim@A" }, `B cannot speak for "kim@A"`},
		{"for nobody", "B", func(q *command.WorkQuestion) { q.Person = "" }, "B did not say who asks"},
		{"an operator's word", "B", func(q *command.WorkQuestion) { q.Wish = message.WishSkip }, `"skip" is nothing that is done to a work item`},
		{"no execution", "B", func(q *command.WorkQuestion) { q.Iteration = 0 }, "is no execution"},
		{"without an identifier", "B", func(q *command.WorkQuestion) { q.Word = message.WordID{} }, "is no execution, or the word has no identifier"},
		{"another activity", "B", func(q *command.WorkQuestion) { q.Activity = "c" }, "activity c of two@1 is not hosted at A"},
		{"a scope that is none", "B", func(q *command.WorkQuestion) { q.Scope = "y#1#2" }, "the scope of y is none"},
		{"another scope", "B", func(q *command.WorkQuestion) { q.Scope = "y#1" }, "is not hosted at A"},
		{"an iteration that is over", "B", func(q *command.WorkQuestion) { q.Iteration = 2 }, "overtaken"},
	} {
		q := good
		q.Word = word()
		tc.change(&q)
		if err := o.a.commands.WorkFor(t.Context(), tc.peer, q); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %s", tc.name, err, tc.want)
		}
	}
	if item := o.items(o.a)[0]; item.State != api.ItemOffered {
		t.Fatalf("refused, it is %+v", item)
	}
	for range 2 { // a repeat is answered as the first
		o.a.must(o.a.commands.WorkFor(t.Context(), "B", good))
	}
	for _, change := range []func(*command.WorkQuestion){
		func(q *command.WorkQuestion) { q.Person = "kim@B" },
		func(q *command.WorkQuestion) { q.Wish = message.WishRelease },
	} { // with its identifier, and another word
		q := good
		change(&q)
		if err := o.a.commands.WorkFor(t.Context(), "B", q); err == nil || !strings.Contains(err.Error(), "is another, claim, that eve@B has said") {
			t.Errorf("%s by %s under the same identifier: %v", q.Wish, q.Person, err)
		}
	}
	of := work.ItemQuestion{Process: "two@1", Instance: o.id, Activity: "y", Iteration: 1}
	for peer, want := range map[processtable.NodeID]string{"B": `{"n":7}`, "C": "", "D": ""} {
		r, err := o.a.desk.ItemTo(peer, of)
		if err != nil || string(r.Draft) != want && (want != "" || r.Draft != nil) {
			t.Errorf("%s is told of the draft %s, %v", peer, r.Draft, err)
		}
	}
	of.Iteration = 2
	if r, err := o.a.desk.ItemTo("B", of); err != nil || r.Draft != nil {
		t.Errorf("of another iteration B is told %s, %v", r.Draft, err)
	}
}
