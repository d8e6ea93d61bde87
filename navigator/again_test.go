package navigator

import (
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
		Target: m.Activity, Node: m.Queue.Node, Control: m.Control, Data: m.Data, Lane: m.Lane, Onward: m.Onward,
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
	for name, e := range map[string]behaviour.Effects{
		"ran":     a.Conclude(folded(t, a), ran(t, 0, `{"n": 5, "text": "t", "list": [1, 2]}`), noon),
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
