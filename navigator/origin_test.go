package navigator

import (
	"slices"
	"testing"

	"fmqm/message"
	"fmqm/processtable"
)

// R40: what is at the origin is sent to where the instance was started, as sink is, also on a dead path, which stops
// there; and a full queue for that node holds back who sends there.
func TestR40WhatIsSentToTheOrigin(t *testing.T) {
	m := newModel(t, "a", "x", "y", "z").at(processtable.Origin, "x").at("N", "y").
		control("a -> x: n > 1", "a -> y: n > 1", "x -> z", "y -> x").data("a -> x: n = n")
	a := m.activity("a")
	s := folded(t, a)
	s.Origin = origin
	expect(t, a, a.Conclude(s, ran(t, 0, `{"n": 2}`), noon),
		"terminated, ends", "to x at O: TRUE data 2", "to y at N: TRUE")
	s.Origin = "Q"
	if got := a.sendsTo(s); !slices.Equal(got, []processtable.NodeID{"Q", "N"}) {
		t.Errorf("of an instance of Q it sends to %v", got)
	}
}

// R22, R40: an error is told to the block around where the instance was started, if that is its home.
func TestR40ABlockAtTheOriginIsTold(t *testing.T) {
	p := catching(t)
	i := slices.IndexFunc(p.table.Roster, func(at processtable.Place) bool { return at.Activity == "b" })
	p.table.Roster[i].Node = processtable.Origin
	j := p.activities.Get(processtable.RowID{Name: "i", Inside: "b"})
	s := folded(t, j)
	s.Origin, s.Entry.Scope = origin, "b#1"
	m, caught := j.throw(s, "no paper")
	if !caught || m.Queue.Node != origin || m.Kind != message.KindReturn {
		t.Errorf("it tells %s at %s (%v)", m.Activity, m.Queue.Node, caught)
	}
}
