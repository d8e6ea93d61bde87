package navigator

import (
	"slices"
	"strings"
	"testing"

	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

// did adds hidden connectors such as "a -> b".
func (m *model) did(connectors ...string) *model {
	for _, arrow := range connectors {
		from, to := m.ends(arrow)
		hidden := processtable.Mapping{Did: true, Type: container.Scalar(container.String), Source: processtable.DidMember, Target: processtable.DidMember}
		for i := range from.OutData {
			if from.OutData[i].To == to.Name {
				from.OutData[i].Mappings = append(from.OutData[i].Mappings, hidden)
				at := slices.IndexFunc(to.InData, func(d processtable.InData) bool { return d.From == from.Name })
				to.InData[at].Mappings = from.OutData[i].Mappings
				hidden.Did = false
			}
		}
		if hidden.Did {
			from.OutData = append(from.OutData, processtable.OutData{To: to.Name, Mappings: []processtable.Mapping{hidden}})
			to.InData = append(to.InData, processtable.InData{From: from.Name, Mappings: []processtable.Mapping{hidden}})
		}
	}
	return m
}

// R42: who did an activity comes beside its data, and is no member of the input.
func TestWhoDidItComesBesideTheData(t *testing.T) {
	p := newModel(t, "take", "assess", "approve").control("source -> take", "take -> assess", "assess -> approve").
		data("assess -> approve: n = n").did("take -> approve", "assess -> approve").prepare()
	row := func(name processtable.ActivityID) *Activity { return p.activities.Get(processtable.RowID{Name: name}) }
	end := func(name processtable.ActivityID, before processtable.ActivityID, r behaviour.Result) message.Message {
		t.Helper()
		e := row(name).Conclude(folded(t, row(name), from(t, row(name), before, message.True, "")), r, noon)
		for _, m := range e.Put {
			if m.Activity == "approve" {
				return m
			}
		}
		t.Fatalf("%s sends approve nothing: %s", name, show(p, e))
		return message.Message{}
	}
	taken := ran(t, 0, "")
	taken.By = message.Doer{Person: "ann@ward"}
	assessed := ran(t, 0, `{"n": 7}`)
	assessed.By = message.Doer{Person: "bob@ward", For: "carl@lab"}
	approve := row("approve")
	s := folded(t, approve, end("take", "source", taken), end("assess", "take", assessed))
	if got := approve.Doers(s); len(got) != 2 || got["take"] != taken.By || got["assess"] != assessed.By {
		t.Errorf("who did what: %v", got)
	}
	e := approve.Decide(s, noon)
	if got := show(p, e); !strings.Contains(got, `{"n":7,"text":"none"`) {
		t.Errorf("the input has more or less than what is mapped: %s", got)
	}

	skipped := from(t, approve, "take", message.Unresolved, "")
	if got := approve.Doers(folded(t, approve, skipped, end("assess", "take", assessed))); len(got) != 1 {
		t.Errorf("who did what was skipped: %v", got)
	}
	if got := approve.Doers(folded(t, approve, end("take", "source", ran(t, 0, "")))); len(got) != 0 {
		t.Errorf("nobody did it: %v", got)
	}

	late := end("assess", "take", assessed)
	late.Body, _ = container.EncodeValues([]container.Value{int64(7), "not a person"})
	if err := approve.Fold(folded(t, approve), late); err == nil || !strings.Contains(err.Error(), "want name@node") {
		t.Errorf("who did it is %v", err)
	}
}

// R42: also what a deadline has ended says who did it, as it says the words of the engine.
func TestWhoDidItComesWithWords(t *testing.T) {
	p := newModel(t, "assess", "approve").set("assess", func(a *processtable.Activity) { a.Deadline = &processtable.Moment{Fixed: 1} }).
		control("source -> assess", "assess -> approve").data("assess -> approve: n = n").did("assess -> approve").prepare()
	assess, approve := p.activities.Get(processtable.RowID{Name: "assess"}), p.activities.Get(processtable.RowID{Name: "approve"})
	r := assess.ended(folded(t, assess), message.Ending{TimedOut: true}, noCode, noon)
	r.By = message.Doer{Person: "ann@ward"}
	e := assess.evaluate(folded(t, assess, from(t, assess, "source", message.True, "")), &r, noon)
	var s *State
	for _, m := range e.Put {
		if m.Activity == "approve" {
			s = folded(t, approve, m)
		}
	}
	if s == nil || s.data[0] != message.DataWords || approve.Doers(s)["assess"] != r.By {
		t.Fatalf("assess says nothing: %s", show(p, e))
	}
}

// R42: each element of a bundle has from its begin who did what it asks for.
func TestElementsHaveWhoDidIt(t *testing.T) {
	p := counting(t, plan{parallel: 2})
	count := p.activities.Get(processtable.RowID{Name: "count"})
	one := p.activities.Get(processtable.RowID{Name: "count", Inside: "count", Begun: 1})
	hidden := processtable.Mapping{Did: true, Type: container.Scalar(container.String)}
	count.InData[0].Mappings = append(count.InData[0].Mappings, hidden)
	count.dataTypes[0] = typesOf(count.InData[0].Mappings)
	m := from(t, count, "source", message.Unresolved, "")
	m.Data = message.DataPresent
	m.Body, _ = container.EncodeValues([]container.Value{"s", []container.Value{int64(1), int64(2)}, "ann@ward"})
	e := count.bundle(folded(t, count, m), true, noon)
	begun := 0
	for _, m := range e.Put {
		if m.Kind != message.KindBegin {
			continue
		}
		begun++
		s := &State{Basis: behaviour.Basis{Entry: m.Entry()}}
		if err := one.Fold(s, m); err != nil {
			t.Fatal(err)
		}
		if got := one.Doers(s); len(got) != 1 || got["source"] != (message.Doer{Person: "ann@ward"}) {
			t.Errorf("%s has %v", m.Scope, got)
		}
	}
	if begun != 2 {
		t.Errorf("%d elements begin", begun)
	}
}

// R42: who has started the parent has started the child.
func TestWhoStartsTheParentStartsTheChild(t *testing.T) {
	child := newModel(t, "x").control("source -> x", "x -> sink").did("source -> x").prepare()
	source, x := child.activities.Get(processtable.RowID{Name: processtable.Source}), child.activities.Get(processtable.RowID{Name: "x"})
	parent := message.Parent{Process: processtable.ProcessID{Name: "q", Version: 1}, Node: here, Instance: instance, Activity: "sub", Iteration: 1, Attempt: 1}
	encoded, err := container.EncodeCBOR(value(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	by := message.Doer{Person: "ann@ward"}
	m := own(source, message.KindStart, message.EncodeStart(message.Start{Parent: parent, Input: encoded, By: by}))
	e := source.Decide(folded(t, source, m), noon)
	recorded, told := false, false
	for _, m := range e.Put {
		switch {
		case m.Kind == message.KindRecord:
			r, err := message.DecodeRecord(m.Body)
			recorded = err == nil && r.By == by
		case m.Activity == "x":
			told = x.Doers(folded(t, x, m))[processtable.Source] == by
		}
	}
	if !recorded || !told {
		t.Errorf("recorded %t, told %t: %s", recorded, told, show(child, e))
	}
}
