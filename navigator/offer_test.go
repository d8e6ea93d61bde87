package navigator

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fmqm/behaviour"
	"fmqm/condition"
	"fmqm/message"
	"fmqm/processtable"
)

const (
	lab   processtable.NodeID = "L"
	depot processtable.NodeID = "D"
)

// ofLab is somebody of another node that offers the item.
var ofLab = message.Doer{Person: "eve@L", For: "kim@L"}

// elsewhere makes an approval one that is offered at nodes beside its home.
func elsewhere(nodes ...processtable.NodeID) func(*model) {
	return func(m *model) {
		m.table.Format = processtable.PeopleFormat
		m.table.Roster = []processtable.Place{{Activity: "approve", Node: here}}
		m.set("approve", func(row *processtable.Activity) { row.Manual.Offered = nodes })
		others := m.rows["approve"].Manual.Elsewhere(here)
		m.table.Workers = []processtable.Worker{{Activity: "approve", Nodes: others}}
	}
}

// atHome is an approval that is offered at nodes, and decided TRUE: with what is sent to them.
func atHome(t testing.TB, change func(*model), nodes ...processtable.NodeID) (*Activity, *State, []message.Message) {
	t.Helper()
	a := approval(t, func(m *model) {
		elsewhere(nodes...)(m)
		if change != nil {
			change(m)
		}
	})
	s := folded(t, a, from(t, a, processtable.Source, message.True, `{"n": 3, "text": "tyres"}`))
	e := a.Decide(s, noon)
	if e.Outcome.What == behaviour.Nothing && e.Invoke == nil {
		kept(t, a, s, e)
		e = a.Decide(s, noon)
	}
	if e.Invoke == nil || e.Invoke.Program != behaviour.Begin || !slices.Equal(e.Invoke.To[len(e.Invoke.To)-len(a.elsewhere):], a.elsewhere) {
		t.Fatalf("before there is room it comes to %+v", e)
	}
	e = a.Conclude(s, behaviour.Result{Begins: true, Started: noon, Ended: noon}, noon)
	if tales(e) != "offered" {
		t.Fatalf("decided TRUE it comes to %s", show(a.process, e))
	}
	kept(t, a, s, e)
	return a, s, sentOn(e)
}

// sentOn are the messages to other entries.
func sentOn(e behaviour.Effects) (all []message.Message) {
	for _, m := range e.Put {
		if m.Kind != message.KindSnapshot {
			all = append(all, m)
		}
	}
	return all
}

// saysTo says what messages are, and to where.
func saysTo(all []message.Message) string {
	texts := make([]string, len(all))
	for i, m := range all {
		texts[i] = fmt.Sprintf("%s %s %s/%s", m.Kind, m.Queue.Node, m.Scope, m.Activity)
		if m.Kind == message.KindOffer {
			texts[i] += fmt.Sprint(" ", m.Number)
		}
	}
	return strings.Join(texts, ", ")
}

// offerAt is the row that offers an approval at a node, and an entry of it.
func offerAt(t testing.TB, home *Activity, node processtable.NodeID, m message.Message) (*Activity, *State) {
	t.Helper()
	table := *home.process.table
	table.Node = node
	row := &processtable.Activity{
		Name: home.Name, Kind: processtable.KindManual, Manual: home.Manual, Input: home.Input, Output: home.Output, MaxIterations: 1,
		Path: []processtable.Composite{{Activity: home.Name, Iterations: home.MaxIterations}}, Retry: processtable.Retry{Attempts: 1},
		Start: condition.Logic{Op: condition.LogicAnd}, Notify: processtable.AtOffers(home.Notify),
	}
	table.Activities = []*processtable.Activity{row}
	p, err := Prepare(&table, nil)
	if err != nil {
		t.Fatal(err)
	}
	a := p.activities.Get(row.Row())
	return a, a.Empty(m.Entry()).(*State)
}

// R47: home offers an item at other nodes, once for each iteration, with what people there are shown; each offers it to its own.
func TestR47AnItemIsOfferedAtSeveralNodes(t *testing.T) {
	deadline := func(m *model) {
		m.set("approve", func(row *processtable.Activity) {
			row.Deadline = &processtable.Moment{Fixed: int64(time.Hour)}
		})
	}
	a, s, sent := atHome(t, deadline, lab, depot)
	if got := saysTo(sent); got != "begin L approve#1/approve, begin D approve#1/approve" {
		t.Fatalf("it sends %s", got)
	}
	if home := a.Item(s); home == nil || !home.Away || !slices.Equal(home.Elsewhere, []processtable.NodeID{lab, depot}) || home.Home != nil {
		t.Errorf("at home it is %+v", home)
	}
	there, offer := offerAt(t, a, lab, sent[0])
	fold(t, there, offer, sent[0])
	e := there.Decide(offer, noon.Add(time.Minute))
	if tales(e) != "offered" || len(sentOn(e)) > 0 {
		t.Fatalf("there it comes to %s", show(there.process, e))
	}
	kept(t, there, offer, e)
	item := there.Item(offer)
	if item == nil || item.Title != "Approve 3 of tyres" || !item.Due.Equal(noon.Add(time.Hour)) || item.Home == nil || item.Home.Node != here ||
		item.Home.Entry != s.Entry || item.At != a.Item(s).At || item.Away || len(item.Elsewhere) > 0 {
		t.Errorf("there it is %+v, at home %+v", item, item.Home)
	}
	if _, err := there.Command(offer, behaviour.Work{Wish: message.WishClaim, By: ofLab}, noon); err == nil {
		t.Error("it is claimed where it is only offered")
	}
	if again := there.Decide(offer, noon); !again.Waits() {
		t.Errorf("once it is offered it comes to %s", show(there.process, again))
	}
}

// R47: home is among them only if it is listed.
func TestR47HomeOffersToItsOwnPeopleIfItIsListed(t *testing.T) {
	a, s, sent := atHome(t, nil, here, lab)
	if got := saysTo(sent); got != "begin L approve#1/approve" {
		t.Errorf("it sends %s", got)
	}
	if item := a.Item(s); item.Away {
		t.Error("home is listed, and its people are not offered it")
	}
}

// R48: who offers an item is told who has it, and that it is offered again; and its offer ends with the item.
func TestR48OffersFollowTheirItem(t *testing.T) {
	a, s, sent := atHome(t, nil, lab, depot)
	there, offer := offerAt(t, a, lab, sent[0])
	fold(t, there, offer, sent[0])
	kept(t, there, offer, there.Decide(offer, noon))
	asked, again := message.WordID{6: 0x70, 8: 0x80}, message.WordID{6: 0x70, 8: 0x81}
	for _, step := range []struct {
		word behaviour.Work
		tell string
		by   message.Doer
	}{
		{behaviour.Work{Wish: message.WishClaim, By: ofLab, Asked: asked}, "offer L approve#1/approve 2, offer D approve#1/approve 2", ofLab},
		{behaviour.Work{Wish: message.WishClaim, By: ofLab, Asked: again}, "offer L approve#1/approve 4, offer D approve#1/approve 4", ofLab},
		{behaviour.Work{Wish: message.WishSave, By: ofLab, Output: []byte(`{"n": 2}`)}, "", ofLab},
		{behaviour.Work{Wish: message.WishRelease, By: ofLab}, "offer L approve#1/approve 5, offer D approve#1/approve 5", message.Doer{}},
		{behaviour.Work{Wish: message.WishClaim, By: ann}, "offer L approve#1/approve 6, offer D approve#1/approve 6", ann},
		{behaviour.Work{Wish: message.WishTransfer, By: ann, To: bob}, "offer L approve#1/approve 8, offer D approve#1/approve 8", bob},
	} {
		e, err := a.Command(s, step.word, noon)
		if err != nil || saysTo(sentOn(e)) != step.tell {
			t.Fatalf("%s tells %s, %v, want %s", step.word.Wish, saysTo(sentOn(e)), err, step.tell)
		}
		kept(t, a, s, e)
		if step.tell == "" {
			continue
		}
		for _, m := range sentOn(e)[:1] {
			fold(t, there, offer, m)
		}
		follow := there.Decide(offer, noon)
		if len(follow.Takes) != 1 || follow.Outcome.What != behaviour.Nothing {
			t.Fatalf("told of %s it comes to %s, and takes %v", step.word.Wish, show(there.process, follow), follow.Takes)
		}
		kept(t, there, offer, follow)
		item := there.Item(offer)
		if item.By != step.by || item.Claim != a.Item(s).Claim || item.Asked != step.word.Asked {
			t.Fatalf("after %s the offer is of %+v", step.word.Wish, item.Item)
		}
		if again := there.Decide(offer, noon); !again.Waits() {
			t.Fatalf("after that it comes to %s", show(there.process, again))
		}
	}
	e, err := a.Command(s, behaviour.Work{Wish: message.WishComplete, By: bob}, noon)
	if err != nil || !strings.Contains(saysTo(e.Put), "cancel L approve#1/approve, cancel D approve#1/approve") {
		t.Fatalf("completed it sends %s, %v", saysTo(e.Put), err)
	}
	i := slices.IndexFunc(e.Put, func(m message.Message) bool { return m.Kind == message.KindCancel })
	fold(t, there, offer, e.Put[i])
	if end := there.Decide(offer, noon); !end.Ends || tales(end) != "withdrawn bob carl, cancelled" || len(end.Put) > 0 || end.Outcome.Reason != "bob@H has completed approve" {
		t.Errorf("cancelled, the offer comes to %s: %s, %q", show(there.process, end), tales(end), end.Outcome.Reason)
	}
}

// R48: whatever takes the item away withdraws the offers; a marker ends them by itself, and an error has withdrawn them before.
func TestR48WhateverEndsTheItemWithdrawsItsOffers(t *testing.T) {
	withdrawn := "cancel L approve#1/approve"
	for _, tc := range []struct {
		name   string
		change func(*model)
		end    func(t *testing.T, a *Activity, s *State) behaviour.Effects
		want   string
	}{
		{"a deadline", func(m *model) {
			m.set("approve", func(row *processtable.Activity) { row.Deadline = &processtable.Moment{Fixed: int64(time.Hour)} })
		}, func(t *testing.T, a *Activity, s *State) behaviour.Effects {
			due := s.Snapshot.Deadline
			fold(t, a, s, message.Message{Header: message.Header{
				Queue: message.Queue{Process: a.process.table.Process, Node: here}, Instance: instance, Activity: a.Name, Kind: message.KindDue,
				Source: timerDeadline, Number: message.DueNumber(due),
			}})
			return a.Decide(s, noon)
		}, withdrawn},
		{"a cancel", nil, func(t *testing.T, a *Activity, s *State) behaviour.Effects {
			m := own(a, message.KindCancel, message.EncodeCancel(message.Cancel{Reason: "no more"}))
			m.Source = "other"
			fold(t, a, s, m)
			return a.Decide(s, noon)
		}, withdrawn},
		{"an operator who skips it", nil, func(t *testing.T, a *Activity, s *State) behaviour.Effects {
			e, err := a.Command(s, behaviour.ByHand{By: "alice at H"}, noon)
			if err != nil {
				t.Fatal(err)
			}
			return e
		}, withdrawn},
		{"an exit condition that is FALSE", func(m *model) { m.exit("approve", "n > 5") }, func(t *testing.T, a *Activity, s *State) behaviour.Effects {
			e, err := a.Command(s, behaviour.Work{Wish: message.WishComplete, By: ann}, noon)
			if err != nil {
				t.Fatal(err)
			}
			return e
		}, withdrawn},
		{"a marker", nil, func(_ *testing.T, a *Activity, s *State) behaviour.Effects {
			s.Stopped = true
			return a.Decide(s, noon)
		}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, s, _ := atHome(t, tc.change, lab)
			var cancels []message.Message
			for _, m := range tc.end(t, a, s).Put {
				if m.Kind == message.KindCancel {
					cancels = append(cancels, m)
				}
			}
			if got := saysTo(cancels); got != tc.want {
				t.Errorf("it cancels %q, want %q", got, tc.want)
			}
		})
	}
}

// R48: in whatever order an offer hears of its item, it comes to the same (invariant 2); and so it does with a repeat.
func TestR48AnOfferIsAFoldOfWhatItWasTold(t *testing.T) {
	a, s, sent := atHome(t, nil, lab)
	messages := []message.Message{sent[0]}
	for _, w := range []behaviour.Work{
		{Wish: message.WishClaim, By: ofLab}, {Wish: message.WishRelease, By: ofLab}, {Wish: message.WishClaim, By: ann}, {Wish: message.WishTransfer, By: ann, To: bob},
	} {
		e, err := a.Command(s, w, noon)
		if err != nil {
			t.Fatal(err)
		}
		kept(t, a, s, e)
		messages = append(messages, sentOn(e)...)
	}
	rapid.Check(t, func(r *rapid.T) {
		there, offer := offerAt(t, a, lab, sent[0])
		for _, i := range append(rapid.Permutation([]int{0, 1, 2, 3, 4}).Draw(r, "order"), rapid.IntRange(0, 4).Draw(r, "again")) {
			fold(t, there, offer, messages[i])
			if rapid.Bool().Draw(r, "decides") {
				if e := there.Decide(offer, noon); !e.Waits() {
					kept(t, there, offer, e)
				}
			}
		}
		if e := there.Decide(offer, noon); !e.Waits() {
			kept(t, there, offer, e)
		}
		if item := there.Item(offer); item == nil || item.By != bob || item.Claim != 3 {
			r.Fatalf("the offer is of %+v", item)
		}
		if e := there.Decide(offer, noon); !e.Waits() {
			r.Fatalf("it does not come to rest")
		}
	})
}

// S4: what offers were told is built again as it was said.
func TestR48WhatOffersWereToldIsBuiltAgain(t *testing.T) {
	a, s, sent := atHome(t, nil, lab)
	again := func(m message.Message, output []byte) {
		t.Helper()
		got, err := a.Again(behaviour.Spoken{
			Instance: m.Instance, Origin: m.Origin, Source: m.Source, Clock: m.Clock - 1, Output: output, Kind: m.Kind, Number: m.Number, Within: m.Scope,
			Target: m.Activity, Node: lab, Lane: m.Lane,
		})
		if err != nil || got.Key() != m.Key() || got.Entry() != m.Entry() || string(got.Body) != string(m.Body) {
			t.Errorf("%s is built again as %+v, %v", m.Kind, got, err)
		}
	}
	again(sent[0], sent[0].Body)
	e, err := a.Command(s, behaviour.Work{Wish: message.WishClaim, By: ofLab}, noon)
	if err != nil {
		t.Fatal(err)
	}
	again(sentOn(e)[0], e.Outcome.Output)
}

// Invariant 11: only its home begins an offer, tells it of its item, or cancels it.
func TestR48OnlyHomeSpeaksToAnOffer(t *testing.T) {
	a, s, sent := atHome(t, nil, lab, depot)
	e, err := a.Command(s, behaviour.Work{Wish: message.WishClaim, By: ofLab}, noon)
	if err != nil {
		t.Fatal(err)
	}
	there, _ := offerAt(t, a, lab, sent[0])
	there.process.table.Starts = []processtable.NodeID{origin, here}
	for _, m := range []message.Message{sent[0], sentOn(e)[0]} {
		if reason := there.process.Refuses(here, &m.Header); reason != "" {
			t.Errorf("%s of home is refused: %s", m.Kind, reason)
		}
		if reason := there.process.Refuses(depot, &m.Header); reason == "" {
			t.Errorf("%s of another node is taken", m.Kind)
		}
		if reason := a.process.Refuses(here, &m.Header); reason == "" {
			t.Errorf("%s is taken where nothing is offered of another node", m.Kind)
		}
	}
}

// R49: a home that has lost its store is told of offers that had ended, and offers the item anew, in scopes of which nothing has
// ended; who has it keeps it where his own node still offers it.
func TestR49AnItemIsOfferedAnewWhereItsOffersHadEnded(t *testing.T) {
	ofDepot := message.Doer{Person: "dan@D"}
	for _, tc := range []struct {
		name string
		by   message.Doer // who has it by what home still knows
		anew bool
	}{
		{"nobody has it", message.Doer{}, true},
		{"who has it is of a node whose offer had ended", ofLab, true},
		{"who has it is of another node", ofDepot, false},
		{"who has it is here", ann, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, s, sent := atHome(t, func(m *model) { m.table.Starts = append(m.table.Starts, "O") }, here, lab, depot)
			if tc.by != (message.Doer{}) {
				e, err := a.Command(s, behaviour.Work{Wish: message.WishClaim, By: tc.by}, noon)
				if err != nil {
					t.Fatal(err)
				}
				kept(t, a, s, e)
			}
			there, offer := offerAt(t, a, lab, sent[0])
			said := there.process.Unsaid(behaviour.Spoken{
				Instance: instance, Origin: s.Origin, Scope: offer.Entry.Scope, Source: a.Name, Clock: 7, Reason: "ann@H has completed approve", Node: here,
			})
			if len(said) != 1 {
				t.Fatalf("it says %+v", said)
			}
			m, err := there.process.Again(said[0])
			if err != nil {
				t.Fatal(err)
			}
			if reason := a.process.Refuses(lab, &m.Header); reason != "" {
				t.Fatalf("home refuses it: %s", reason)
			}
			if reason := a.process.Refuses(depot, &m.Header); reason == "" {
				t.Error("home takes it of another node")
			}
			fold(t, a, s, m)
			e := a.Decide(s, noon)
			if !tc.anew {
				if !e.Waits() {
					t.Fatalf("it comes to %s", show(a.process, e))
				}
				return
			}
			if tales(e) != "withdrawn" || e.Outcome.Reason != "its offer at L was cancelled, before H lost its store: ann@H has completed approve" ||
				saysTo(sentOn(e)) != "cancel L approve#1/approve, cancel D approve#1/approve" {
				t.Fatalf("it comes to %s: %s, %q, sends %s", show(a.process, e), tales(e), e.Outcome.Reason, saysTo(sentOn(e)))
			}
			kept(t, a, s, e)
			if e = a.Decide(s, noon); e.Invoke == nil || e.Invoke.Run != 1 {
				t.Fatalf("then it comes to %s", show(a.process, e))
			}
			e = a.Conclude(s, behaviour.Result{Begins: true, Started: noon, Ended: noon}, noon)
			if tales(e) != "offered" || saysTo(sentOn(e)) != "begin L approve~1#1/approve, begin D approve~1#1/approve" {
				t.Fatalf("it is offered by %s, which sends %s", tales(e), saysTo(sentOn(e)))
			}
			kept(t, a, s, e)
			if again := a.Decide(s, noon); !again.Waits() {
				t.Errorf("once it is offered it comes to %s", show(a.process, again))
			}
		})
	}
}
