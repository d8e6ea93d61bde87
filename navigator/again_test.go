package navigator

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

// spoken is what the audit keeps of a message that went with effects.
func spoken(m message.Message, o behaviour.Outcome) behaviour.Spoken {
	return behaviour.Spoken{
		Instance: m.Instance, Origin: m.Origin, Scope: m.SourceScope, Source: m.Source, Within: m.Scope, Number: m.Number, Clock: o.Clock, RC: o.RC, Output: o.Output, Ending: o.Ending, Reason: o.Reason,
		Target: m.Activity, Node: m.Queue.Node, Control: m.Control, Data: m.Data, Lane: m.Lane, Rank: m.Rank, Onward: m.Onward,
	}
}

// S4: every message that a termination sends, with data or without, is built again from
// what the audit keeps of it, and is the same message.
func TestS4MessagesAreBuiltAgain(t *testing.T) {
	p := newModel(t, "a", "x", "y", "z").at("N", "x", "y").
		control("a -> x: n > 1", "a -> z: otherwise").
		data("a -> x: n = n", "a -> y: text = text, inner.a = _RC", "a -> sink: list = list").
		prepare()
	a := p.activities.Get(processtable.RowID{Name: "a"})
	urgent := folded(t, a)
	urgent.Rank = message.RankOf(9)
	for name, e := range map[string]behaviour.Effects{
		"ran":     a.Conclude(urgent, ran(t, 0, `{"n": 5, "text": "t", "list": [1, 2]}`), noon),
		"skipped": a.skip(folded(t, a)),
	} {
		if len(e.Put) != 4 {
			t.Fatalf("%s: %d messages", name, len(e.Put))
		}
		for _, m := range e.Put {
			again, err := p.Again(spoken(m, e.Outcome))
			if err != nil || !cmp.Equal(again, m) {
				t.Errorf("%s: %v %s", name, err, cmp.Diff(m, again))
			}
		}
	}
}

// S4: so are the record of a host that was passed around, and what was sent on its behalf.
func TestS4WhatWasPassedAroundIsBuiltAgain(t *testing.T) {
	p := passing(t).prepare()
	m := message.Message{Header: message.Header{
		Queue: message.Queue{Process: p.table.Process, Node: "N"}, Definition: p.Definition(), Instance: instance, Origin: origin,
		Activity: "y", Source: "x", Kind: message.KindConnector, Control: message.False, Lane: message.LaneControl,
		Clock: 4, OnBehalf: "N", Onward: true,
	}}
	again, err := p.Again(spoken(m, behaviour.Outcome{Clock: 4}))
	if err != nil || !cmp.Equal(again, m) {
		t.Errorf("%v %s", err, cmp.Diff(m, again))
	}
}

// What cannot be built says which message, and why.
func TestS4WhatCannotBeBuilt(t *testing.T) {
	p := newModel(t, "a", "x").control("a -> x").data("a -> x: n = n").prepare()
	output, err := container.EncodeCBOR(value(t, `{}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		source, target processtable.ActivityID
		output         []byte
		want           string
	}{
		{"b", "x", nil, "build a message from b to x again: b is not in the table of p@1"},
		{"a", "x", []byte{0xff}, "build a message from a to x again: read the output: "},
		{"a", "sink", output, "build a message from a to sink again: the table has no data connector between them"},
	} {
		_, err := p.Again(behaviour.Spoken{Source: tc.source, Target: tc.target, Output: tc.output, Data: message.DataPresent})
		contains(t, err, tc.want)
	}
}

// R41: an activity that another node has passed around has told nobody of its end; it tells a node that has lost its store
// that it is dead, as it would have said it itself: of one that has ended, and in the words of the table's format.
func TestR41WhatHasToldNobodyOfItsEndSaysThatItIsDead(t *testing.T) {
	for _, format := range []int{1, processtable.ModelFormat} {
		m := passing(t)
		m.table.Format = format
		p := m.prepare()
		x := p.activities.Get(processtable.RowID{Name: "x"})
		skipped := x.skip(folded(t, x, from(t, x, "a", F, `{"n": 1}`)))
		for node, want := range map[processtable.NodeID]int{"N": 1, here: 1, origin: 1, "elsewhere": 0} {
			unsaid := p.Unsaid(behaviour.Spoken{Instance: instance, Origin: origin, Source: "x", Clock: skipped.Outcome.Clock, Node: node, Reason: "not said"})
			if len(unsaid) != want {
				t.Fatalf("to %s it says %d things", node, len(unsaid))
			}
			for _, s := range unsaid {
				again, err := p.Again(s)
				said := skipped.Put[slices.IndexFunc(skipped.Put, func(m message.Message) bool { return m.Activity == s.Target })]
				if said.Trace = ""; err != nil || !cmp.Equal(again, said) {
					t.Errorf("%v %s", err, cmp.Diff(said, again))
				}
			}
		}
	}
	if unsaid := passing(t).prepare().Unsaid(behaviour.Spoken{Source: "y", Node: here}); unsaid != nil {
		t.Errorf("of an activity that is not hosted here it says %+v", unsaid)
	}
}

// R41: of the work of a call that was cancelled its call is told. It is in error, and a retry begins the work anew; where it
// has a deadline it waits for that, which may be what had cancelled the work.
func TestR41ACallIsToldThatItsWorkWasCancelled(t *testing.T) {
	process := counting(t, plan{parallel: 3, called: true})
	call, s := calling(t, process)
	e := call.Conclude(s, behaviour.Result{Begins: true}, noon)
	fold(t, call, s, ownOf(s, e)...)
	i := slices.IndexFunc(e.Put, func(m message.Message) bool { return m.Kind == message.KindBegin })
	begun := e.Put[i]
	unsaid := process.Unsaid(behaviour.Spoken{
		Instance: instance, Origin: origin, Scope: begun.Scope, Source: begun.Activity, Clock: 7, Reason: "k has ended, and cancels it", Node: here,
	})
	if len(unsaid) != 1 {
		t.Fatalf("it says %+v", unsaid)
	}
	said, err := process.Again(unsaid[0])
	if err != nil || said.Entry() != s.Entry {
		t.Fatalf("it says %+v, %v", said.Header, err)
	}
	fold(t, call, s, said)
	if e = call.Decide(s, noon); e.Outcome.What != behaviour.InError || e.Outcome.Reason != "its work at H was cancelled, before H lost its store: k has ended, and cancels it" {
		t.Errorf("it is %+v", e.Outcome)
	}
	limited := *call.Activity
	limited.Deadline = &processtable.Moment{}
	waits := *call
	waits.Activity = &limited
	if waits.hasReturned(s) {
		t.Error("its deadline does not end it any more")
	}
	if r, err := waits.called(s, s.Snapshot, noon); r != nil || err != nil {
		t.Errorf("with a deadline it is %v, %v", r, err)
	}
	fold(t, call, s, ownOf(s, e)...)
	again, err := call.Resume(s, behaviour.Retry{}, noon)
	if err != nil {
		t.Fatal(err)
	}
	fold(t, call, s, ownOf(s, again)...)
	e = call.Conclude(s, behaviour.Result{Begins: true}, noon)
	if !slices.ContainsFunc(e.Put, func(m message.Message) bool { return m.Kind == message.KindBegin && m.Scope != begun.Scope }) {
		t.Errorf("a retry begins %+v", e.Put)
	}
}

// calling is the call of counting in the scope of an element, whose work here is to begin.
func calling(t *testing.T, process *Process) (*Activity, *State) {
	t.Helper()
	call := process.activities.Get(processtable.RowID{Name: "count", Inside: "count", Begun: 1})
	input := container.New(visit)
	input.Fields[0] = string(here)
	encoded, err := container.EncodeCBOR(input)
	if err != nil {
		t.Fatal(err)
	}
	return call, folded(t, call, message.Message{
		Header: message.Header{
			Queue: message.Queue{Process: process.table.Process, Node: here}, Definition: process.Definition(), Instance: instance, Origin: origin,
			Scope: "count[0]", SourceScope: "", Activity: "count", Source: "count", Kind: message.KindBegin, Clock: 2,
		},
		Body: message.EncodeBegin(message.Begin{Input: encoded}),
	})
}

// ownOf are the messages of effects that are for the entry itself.
func ownOf(s *State, e behaviour.Effects) []message.Message {
	return slices.DeleteFunc(slices.Clone(e.Put), func(m message.Message) bool { return m.Entry() != s.Entry })
}
