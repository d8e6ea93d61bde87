package navigator

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

// R15: source terminates when the instance is started; its output is the process's
// input. N1: the same transaction puts the instance's record into sink's queue.
func TestR15Start(t *testing.T) {
	m := newModel(t, "a", "b").at("N", "b").control("source -> a", "source -> b", "a -> sink", "b -> sink").
		data("source -> b: n = n", "source -> sink: text = text")
	p := m.prepare()
	input := value(t, `{"n": 4, "text": "in"}`)
	start := behaviour.Start{Instance: instance, Key: "monday", Input: input, Trace: "00-trace", Now: noon}
	e, err := p.Start(start)
	if err != nil {
		t.Fatal(err)
	}
	source := p.activities.Get(processtable.RowID{Name: processtable.Source})
	expect(t, source, e, "terminated, ends", "to a at H: TRUE", "to b at N: TRUE data 4", `to sink at H: data "in"`, "to sink at H: record")
	for _, put := range e.Put {
		if put.Instance != instance || put.Origin != here || put.Clock != 1 || put.Trace != "00-trace" || put.Definition != p.Definition() {
			t.Errorf("header %+v", put.Header)
		}
		if _, err := message.Encode(put); err != nil {
			t.Error(err)
		}
	}
	encoded, err := container.EncodeCBOR(input)
	if err != nil {
		t.Fatal(err)
	}
	record, err := message.DecodeRecord(e.Put[3].Body)
	if err != nil {
		t.Fatal(err)
	}
	want := message.Record{Process: m.table.Process, Started: noon, InputHash: sha256.Sum256(encoded), Key: "monday", Input: encoded}
	if diff := cmp.Diff(want, record); diff != "" {
		t.Error(diff)
	}
	if o := e.Outcome; !bytes.Equal(o.Output, encoded) || o.Iteration != 1 || o.Clock != 1 || !o.Started.Equal(noon) {
		t.Errorf("outcome %+v", o)
	}
	again, err := p.Start(start)
	if diff := cmp.Diff(e, again); err != nil || diff != "" { // N2
		t.Errorf("the same start is another: %v %s", err, diff)
	}
	for _, put := range e.Put { // what was put fits its targets
		fold(t, p.activities.Get(rowOf(put)), &State{}, put)
	}
}

func TestR15StartIsRefused(t *testing.T) {
	m := newModel(t, "a").control("source -> a", "a -> sink").data("source -> a: text = text")
	p := m.prepare()
	huge := value(t, "")
	huge.Fields[1] = strings.Repeat("x", container.MaxEncoded)
	_, err := p.Start(behaviour.Start{Instance: instance, Input: huge, Now: noon})
	contains(t, err, "start p@1: encode the input: the encoded container has over 1048576 bytes")
	_, err = p.Start(behaviour.Start{Instance: instance, Now: noon})
	contains(t, err, "start p@1: encode the input: a structure without a value")

	// N1: only where the table has source.
	elsewhere := *m.table
	elsewhere.Starts, elsewhere.Activities = []processtable.NodeID{"N"}, []*processtable.Activity{m.rows["a"]}
	p, err = Prepare(&elsewhere, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Start(behaviour.Start{Instance: instance, Input: value(t, ""), Now: noon})
	contains(t, err, "start p@1: it may not be started at H, only at [N]")
}

// A table from a compiler that this node cannot follow is refused as a whole, with
// the activity and the condition.
func TestPrepareRefusesWhatItCannotLoad(t *testing.T) {
	for _, change := range []func(*processtable.Activity){
		func(row *processtable.Activity) { row.OutControl[0].Condition.Expr = []byte{0xff} },
		func(row *processtable.Activity) {
			row.Exit, row.OutControl[0].Condition = row.OutControl[0].Condition, nil
			row.Exit.Expr = row.Exit.Expr[:5]
		},
	} {
		m := newModel(t, "a", "b").control("a -> b: n > 1")
		change(m.rows["a"])
		_, err := Prepare(m.table, nil)
		contains(t, err, `prepare p@1 at H: activity a: condition "n > 1": `)
	}
}

// N10: no connector of a table leads across the border of a composite, in or out or to another one
// beside it; what is inside of the same is connected as ever.
func TestN10NoConnectorCrossesTheBorderOfAComposite(t *testing.T) {
	block, other := []processtable.Composite{{Activity: "block", Iterations: 3}}, []processtable.Composite{{Activity: "other", Iterations: 3}}
	inner := append(slices.Clone(block), processtable.Composite{Activity: "line", Iterations: 1, Elements: true})
	for _, tc := range []struct {
		name string
		a, b []processtable.Composite
		want string // empty: it is taken
	}{
		{"inside of the same", block, block, ""},
		{"into one", nil, block, "a is inside of nothing, and b is inside of block: connect the composite"},
		{"out of one", block, nil, "a is inside of block, and b is inside of nothing"},
		{"to one beside it", block, other, "a is inside of block, and b is inside of other"},
		{"to one inside of it", block, inner, "a is inside of block, and b is inside of block/line"},
	} {
		for _, kind := range []string{"control", "data"} {
			m := newModel(t, "a", "b")
			if kind == "control" {
				m.control("a -> b")
			} else {
				m.data("a -> b: n = n")
			}
			m.rows["a"].Path, m.rows["b"].Path = tc.a, tc.b
			_, err := Prepare(m.table, nil)
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("%s, %s: %v", tc.name, kind, err)
			case tc.want != "":
				contains(t, err, "prepare p@1 at H: the "+kind+" connector from a to b leads across the border of a composite: "+tc.want)
			}
		}
	}
	// Source and sink of the process are inside of nothing.
	m := newModel(t, "a").control("source -> a")
	m.rows["a"].Path = block
	_, err := Prepare(m.table, nil)
	contains(t, err, "the control connector from source to a leads across the border of a composite")
}

// L5: every refusal says what the message has, and what was expected.
func TestRefusals(t *testing.T) {
	m := newModel(t, "a", "b", "c", "x").control("a -> x", "b -> x").data("b -> x: n = n", "c -> x: n = n")
	x := m.activity("x")
	with := func(source processtable.ActivityID, change func(*message.Message)) message.Message {
		msg := from(t, x, source, T, "")
		change(&msg)
		return msg
	}
	for _, tc := range []struct {
		m    message.Message
		want string
	}{
		{with("b", func(m *message.Message) { m.Source = "x" }), "no connector leads from x to x"},
		{with("b", func(m *message.Message) { m.SourceScope = "y#1" }), "is from scope \"y#1\": no connector leads out of a composite"},
		{with("b", func(m *message.Message) { m.Definition[0] = 9 }), "message from b is of definition 0902030000000000, the table of p@1 here of 0102030000000000: the sites were given different definitions"},
		{with("b", func(m *message.Message) { m.Origin = "" }), "message from b does not say where the instance was started"},
		{with("b", func(m *message.Message) { m.Control = message.Unresolved }), "control connector from b to x: the table and the message differ on whether there is one"},
		{with("c", func(m *message.Message) { m.Control = T }), "control connector from c to x: the table and the message differ on whether there is one"},
		{with("a", func(m *message.Message) { m.Data = message.DataAbsent }), "data connector from a to x: the table and the message differ on whether there is one"},
		{with("b", func(m *message.Message) { m.Data = message.DataNone }), "data connector from b to x: the table and the message differ on whether there is one"},
		{with("b", func(m *message.Message) { m.Body = []byte{0x81, 0x60} }), "data from b to x: "},
		{with("b", func(m *message.Message) { m.Body = nil }), "data from b to x: "},
		{own(x, message.KindSnapshot, nil), "snapshot of x: "},
		{own(x, message.KindRecord, message.EncodeRecord(message.Record{})), "an instance record is for sink, not for x"},
		{own(x, message.KindNotice, message.EncodeNotice(message.Notice{})), "a notice is for sink, not for x"},
		{own(x, message.KindTable, nil), "a process table is not for an activity"},
		{own(x, 77, nil), "message of unknown kind 77"},
	} {
		s := folded(t, x, from(t, x, "a", T, ""))
		before := s.clone()
		err := x.Fold(s, tc.m)
		contains(t, err, tc.want)
		if diff := cmp.Diff(before, s, whole); diff != "" {
			t.Errorf("%v: the state changed: %s", err, diff)
		}
	}
	sink := newModel(t, "a").control("a -> sink").activity(processtable.Sink)
	contains(t, sink.Fold(&State{}, own(sink, message.KindRecord, []byte{1})), "instance record: ")
}

// A repeat with other content than the first is known and changes nothing (R1).
func TestR1ARepeatIsKnown(t *testing.T) {
	x := newModel(t, "a", "x").control("a -> x").data("a -> x: n = n").activity("x")
	s := folded(t, x, from(t, x, "a", T, `{"n": 1}`), from(t, x, "a", F, `{"n": 2}`))
	if e := x.Decide(s, noon); e.Invoke == nil || e.Invoke.Input.Fields[0] != int64(1) || s.Waiting(x) != 0 {
		t.Errorf("effects %s", show(x.process, e))
	}
}
