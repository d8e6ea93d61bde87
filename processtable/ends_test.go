package processtable

import (
	"strings"
	"testing"

	"fmqm/condition"
	"fmqm/container"
)

// worked is withTimes whose try works out what it sends to the sink of its block, and appends to its
// list, and whose join asks how others ended.
func worked() *Table {
	t := withTimes()
	t.Format = ModelFormat
	words := container.NewStructure("Words", []container.Member{
		{Name: "why", Type: container.Scalar(container.String)}, {Name: "all", Type: container.NewList(container.Scalar(container.String))},
	})
	text := container.Scalar(container.String)
	sum := checked("(_ERROR + \"!\")")
	sum.Reads = condition.WordError
	mappings := []Mapping{
		{Expr: sum, OfWords: true, To: container.Path{0}, Type: text, Source: sum.Text, Target: "why"},
		{Expr: checked("(\"x\")"), Append: true, To: container.Path{1}, Type: text, Source: "(\"x\")", Target: "append(all)"},
		{Word: condition.WordError, Append: true, To: container.Path{1}, Type: text, Source: "_ERROR", Target: "append(all)"},
	}
	block, last, try, join := t.Activities[1], t.Activities[3], t.Activities[4], t.Activities[6]
	block.Output, last.Input = words, words
	try.OutData[0].Mappings, last.InData[0].Mappings = mappings, mappings
	asks := func(op condition.LogicOp, n int) condition.Logic { return condition.Logic{Op: op, Var: n} }
	join.Start = and(asks(condition.LogicFailed, 0), condition.Logic{Op: condition.LogicOr, Args: []condition.Logic{asks(condition.LogicRan, 1), asks(condition.LogicSkipped, 1)}})
	return t
}

// What only format 6 says comes back.
func TestWhatIsWorkedOutAndAskedComesBack(t *testing.T) {
	got, err := Decode(mustEncode(t, worked()))
	if err != nil {
		t.Fatal(err)
	}
	if d := diff(worked(), got); d != "" {
		t.Errorf("the decoded table differs (-want +got):\n%s", d)
	}
}

func TestRefusalsOfWhatIsWorkedOut(t *testing.T) {
	const last, try, join = 3, 4, 6
	mapping := func(n int, change func(*Mapping)) func(*Table) {
		return func(t *Table) {
			change(&t.Activities[try].OutData[0].Mappings[n]) // the sink inside has the same ones
		}
	}
	for _, tc := range []struct {
		name   string
		change func(*Table)
		want   string
	}{
		{"of format 5", func(t *Table) { t.Format = BlockFormat }, "format 5 has no mappings that work out or append, and no start condition that asks"},
		{"an expression and a member", mapping(0, func(m *Mapping) { m.From = container.Path{0} }), "an expression is worked out, and copies neither a member nor a word"},
		{"an expression and a word", mapping(0, func(m *Mapping) { m.Word = condition.WordError }), "an expression is worked out, and copies neither"},
		{"words of no expression", mapping(2, func(m *Mapping) { m.OfWords = true }), "only an expression can be of words"},
		{"appended to no list", mapping(0, func(m *Mapping) { m.Append = true }), "leads to string, to which nothing can be appended"},
		{"a list appended", mapping(1, func(m *Mapping) { m.Type = container.NewList(m.Type) }), "not [string]"},
		{"other mappings at the other end", func(t *Table) {
			ms := append([]Mapping{}, t.Activities[last].InData[0].Mappings...)
			ms[2].Append, ms[2].To = false, container.Path{0}
			t.Activities[last].InData[0].Mappings = ms
		}, "incoming data connector from try: try does not have the same one to it"},
		{"a connector that is none", func(t *Table) { t.Activities[join].Start.Args[0].Var = 2 }, "start condition: connector 2 of 2"},
		{"another behaviour that works out", func(t *Table) {
			a, ms := t.Activities[try], t.Activities[try].OutData[0].Mappings[:2]
			a.Path[0].Catches, t.Activities[1].Continues = false, false // all inside have the same path
			*a = Activity{Name: a.Name, Behaviour: "count-to", Path: a.Path, Input: a.Input, Output: a.Output, InControl: a.InControl, OutControl: []OutControl{{To: "join", Node: "A"}}, OutData: a.OutData}
			a.OutData[0].Mappings, t.Activities[last].InData[0].Mappings, t.Activities[try+1].CancelledBy = ms, ms, nil
		}, "mappings that work something out are FlowMark's"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			table := worked()
			tc.change(table)
			if _, err := Encode(table); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Encode: %v\nwant %s", err, tc.want)
			}
		})
	}
}

// N5, N6: what dies or runs with its only connector does so however the activity before it ended.
func TestWhatDiesAlone(t *testing.T) {
	for _, tc := range []struct {
		start      condition.Logic
		dies, runs bool
	}{
		{variable(0), true, true},
		{condition.Logic{Op: condition.LogicRan}, false, false},
		{condition.Logic{Op: condition.LogicSkipped}, false, false},
		{condition.Logic{Op: condition.LogicFailed}, false, false},
		{and(variable(0), condition.Logic{Op: condition.LogicRan}), true, false},
		{and(), false, true},
	} {
		a := &Activity{Name: "b", Kind: KindProgram, InControl: []InControl{{"a"}}, Start: tc.start}
		if a.DiesAlone() != tc.dies || a.RunsAlone() != tc.runs {
			t.Errorf("%+v: dies alone: %v, runs alone: %v", tc.start, a.DiesAlone(), a.RunsAlone())
		}
	}
}
