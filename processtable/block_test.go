package processtable

import (
	"strings"
	"testing"
	"time"

	"fmqm/condition"
	"fmqm/container"
)

// withBlock is the table of node A of a process with a block: round, at A, has check at A and ask
// at B, and is repeated up to three times.
func withBlock() *Table {
	empty := container.Empty
	inside := []Composite{{Activity: "round", Iterations: 3}}
	added := func(name ActivityID, kind Kind, path []Composite) *Activity {
		return &Activity{Name: name, Kind: kind, Input: empty, Output: empty, Start: and(), Path: path}
	}
	source, sink := added(Source, KindSource, nil), added(Sink, KindSink, nil)
	source.OutControl, sink.InControl = []OutControl{{To: "round", Node: "A"}}, []InControl{{"round"}}
	first, last := added(Source, KindSource, inside), added(Sink, KindSink, inside)
	first.OutControl, last.InControl = []OutControl{{To: "check", Node: "A"}}, []InControl{{"ask"}}
	return &Table{
		Format: BlockFormat, Process: ProcessID{Name: "claim", Version: 1}, Node: "A", Definition: DefinitionHash{5},
		Roster: []Place{{Activity: "round", Node: "A"}, {Activity: "check", Node: "A", Inside: "round"}, {Activity: "ask", Node: "B", Inside: "round"}},
		Starts: []NodeID{"A"}, Input: empty, Output: empty,
		Activities: []*Activity{
			source,
			{
				Name: "round", Kind: KindBlock, Input: empty, Output: empty, Exit: checked("_RC == 0"),
				InControl: []InControl{{Source}}, Start: and(variable(0)), OutControl: []OutControl{{To: Sink, Node: Origin}},
				MaxIterations: 3, Retry: Retry{Attempts: 1},
			},
			first, last,
			program("check", Activity{
				Input: empty, Output: empty, Path: inside,
				InControl: []InControl{{Source}}, Start: and(variable(0)), OutControl: []OutControl{{To: "ask", Node: "B"}},
			}),
			sink,
		},
		Detours: []Detour{{Activity: "ask", OutControl: []ActivityID{Sink}}},
	}
}

// withTimes is the table of a node that hosts all of a process: a block that catches errors, and in it
// an activity with a deadline, which goes on after errors and cancels a wait.
func withTimes() *Table {
	text := container.NewStructure("Text", []container.Member{{Name: "why", Type: container.Scalar(container.String)}})
	empty, inside := container.Empty, []Composite{{Activity: "block", Iterations: 1, Catches: true}}
	sat := func(a *Activity) *Activity {
		if a.Name != Source {
			a.InControl, a.Start = []InControl{{Source}}, and(variable(0))
		} else {
			a.Start = and()
		}
		return a
	}
	end := func(name ActivityID, kind Kind, path []Composite) *Activity {
		return &Activity{Name: name, Kind: kind, Input: empty, Output: empty, Start: and(), Path: path}
	}
	source, sink := end(Source, KindSource, nil), end(Sink, KindSink, nil)
	sink.InControl, source.OutControl = []InControl{{"block"}}, []OutControl{{To: "block", Node: "A"}}
	first, last := end(Source, KindSource, inside), end(Sink, KindSink, inside)
	last.Input = text
	reads := checked("_TIMEOUT || _ERROR != why")
	reads.Reads = condition.WordTimeout | condition.WordError
	toSink := []Mapping{{Word: condition.WordError, To: container.Path{0}, Type: container.Scalar(container.String), Source: "_ERROR", Target: "why"}}
	try := sat(program("try", Activity{Input: empty, Output: empty, Path: inside}))
	try.Deadline = &Moment{At: true, Expr: checked("sails - duration('48h')")}
	try.Continues, try.Cancels = true, []Place{{Activity: "pause", Node: "A"}}
	try.OutControl = []OutControl{{To: "join", Node: "A", Condition: reads}}
	try.OutData, last.InData = []OutData{{To: Sink, Node: "A", Mappings: toSink}}, []InData{{From: "try", Mappings: toSink}}
	pause := sat(&Activity{
		Name: "pause", Kind: KindWait, Input: empty, Output: empty, Path: inside, MaxIterations: 1, Retry: Retry{Attempts: 1},
		Wait: &Moment{Fixed: int64(time.Hour)}, CancelledBy: []ActivityID{"try"}, OutControl: []OutControl{{To: "join", Node: "A"}},
	})
	join := &Activity{
		Name: "join", Kind: KindEmpty, Input: empty, Output: empty, Path: inside, MaxIterations: 1, Retry: Retry{Attempts: 1},
		InControl: []InControl{{"try"}, {"pause"}}, Start: and(variable(0), variable(1)), OutControl: []OutControl{{To: Sink, Node: "A"}},
	}
	first.OutControl = []OutControl{{To: "try", Node: "A"}, {To: "pause", Node: "A"}}
	last.InControl = []InControl{{"join"}}
	block := sat(&Activity{
		Name: "block", Kind: KindBlock, Input: empty, Output: text, MaxIterations: 10_000, Retry: Retry{Attempts: 1}, Continues: true,
		Deadline: &Moment{Fixed: int64(24 * time.Hour)}, OutControl: []OutControl{{To: Sink, Node: Origin}},
	})
	return &Table{
		Format: BlockFormat, Process: ProcessID{Name: "times", Version: 1}, Node: "A", Definition: DefinitionHash{6},
		Roster: []Place{
			{Activity: "block", Node: "A"},
			{Activity: "try", Node: "A", Inside: "block"},
			{Activity: "pause", Node: "A", Inside: "block"},
			{Activity: "join", Node: "A", Inside: "block"},
		},
		Starts: []NodeID{"A"}, Input: empty, Output: empty,
		Activities: []*Activity{source, block, first, last, try, pause, join, sink},
	}
}

// N22, N23, N25: deadlines, waits, what goes on after errors and what is cancelled come back.
func TestTimesAndCancellingComeBack(t *testing.T) {
	got, err := Decode(mustEncode(t, withTimes()))
	if err != nil {
		t.Fatal(err)
	}
	if d := diff(withTimes(), got); d != "" {
		t.Errorf("the decoded table differs (-want +got):\n%s", d)
	}
	if w := got.Activity(RowID{Name: "try", Inside: "block"}).Words(); w != condition.WordTimeout|condition.WordError {
		t.Errorf("its words are %v", w)
	}
}

// N18: source and sink of a block are rows of its home, beside those of the process.
func TestABlockHasASourceAndASinkOfItsOwn(t *testing.T) {
	got, err := Decode(mustEncode(t, withBlock()))
	if err != nil {
		t.Fatal(err)
	}
	if d := diff(withBlock(), got); d != "" {
		t.Errorf("the decoded table differs (-want +got):\n%s", d)
	}
	for _, table := range []*Table{got, withBlock()} {
		if a := table.Activity(RowID{Name: Source, Inside: "round"}); a == nil || len(a.OutControl) != 1 || a.OutControl[0].To != "check" {
			t.Errorf("the source of round is %+v", a)
		}
		if a := table.Activity(RowID{Name: Source}); a == nil || a.OutControl[0].To != "round" {
			t.Errorf("the source of the process is %+v", a)
		}
		for row, want := range map[RowID]NodeID{
			{Name: Sink, Inside: "round"}: "A", {Name: Sink}: Origin, {Name: "ask", Inside: "round"}: "B", {Name: "round"}: "A",
			{Name: "ask"}: "", {Name: "round", Inside: "round"}: "", {Name: Sink, Inside: "check"}: "A", {Name: Sink, Inside: "nothing"}: "",
		} {
			if n, _ := table.NodeOf(row); n != want {
				t.Errorf("NodeOf(%v) = %q, want %q", row, n, want)
			}
		}
	}
}

// choosing is withBlock whose sources lead to what others lead to as well, with conditions, and whose
// block takes the first match of what leads out of it.
func choosing() *Table {
	t := withBlock()
	inside := t.Activities[4].Path
	t.Roster = append(t.Roster, Place{Activity: "file", Node: "A"}, Place{Activity: "note", Node: "A", Inside: "round"})
	source, round, first, last, check, sink := t.Activities[0], t.Activities[1], t.Activities[2], t.Activities[3], t.Activities[4], t.Activities[5]
	file := program("file", Activity{
		Input: container.Empty, Output: container.Empty, Start: and(variable(0), variable(1)),
		InControl: []InControl{{Source}, {"round"}}, OutControl: []OutControl{{To: Sink, Node: Origin}},
	})
	note := program("note", Activity{
		Input: container.Empty, Output: container.Empty, Start: and(variable(0)), Path: inside,
		InControl: []InControl{{Source}}, OutControl: []OutControl{{To: Sink, Node: "A"}},
	})
	source.OutControl = append(source.OutControl, OutControl{To: "file", Node: "A", Condition: checked("a")})
	round.OutControl, round.FirstMatch = []OutControl{{To: "file", Node: "A", Condition: checked("b")}}, true
	first.OutControl = []OutControl{{To: "check", Node: "A", Condition: checked("a")}, {To: "note", Node: "A", Otherwise: true}}
	last.InControl = append(last.InControl, InControl{"note"})
	sink.InControl = []InControl{{"file"}}
	t.Activities = []*Activity{source, round, first, last, check, file, note, sink}
	return t
}

// What only format 5 says of choices is read as it was written.
func TestChoices(t *testing.T) {
	got, err := Decode(mustEncode(t, choosing()))
	if err != nil {
		t.Fatal(err)
	}
	if d := diff(choosing(), got); d != "" {
		t.Errorf("the decoded table differs (-want +got):\n%s", d)
	}
}

func TestRefusalsOfChoices(t *testing.T) {
	const source, first, check = 0, 2, 4
	for _, tc := range []struct {
		name   string
		change func(*Table)
		want   string
	}{
		{"an otherwise to nothing", func(t *Table) { t.Activities[first].OutControl[0].Condition = nil }, "activity source: want at most one otherwise, beside other outgoing control connectors"},
		{"two otherwise", func(t *Table) {
			t.Activities[first].OutControl[0] = OutControl{To: "check", Node: "A", Otherwise: true}
		}, "activity source: want at most one otherwise"},
		{"a condition and an otherwise", func(t *Table) { t.Activities[first].OutControl[0].Otherwise = true }, "outgoing control connector to check: it cannot have a condition"},
		{"a condition to sink", func(t *Table) { t.Activities[6].OutControl[0].Condition = checked("a") }, "outgoing control connector to sink: it cannot have a condition"},
		{"a source that takes the first match", func(t *Table) { t.Activities[source].FirstMatch = true }, "activity source: it runs no program and has no exit condition, repetition, retry or choice"},
		{"another behaviour that does", func(t *Table) {
			a := t.Activities[check]
			*a = Activity{Name: a.Name, Behaviour: "count-to", Path: a.Path, Input: a.Input, Output: a.Output, InControl: a.InControl, OutControl: a.OutControl, FirstMatch: true}
		}, "feedback, repetition, retry and choice are FlowMark's"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			table := choosing()
			tc.change(table)
			if _, err := Encode(table); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Encode: %v\nwant %s", err, tc.want)
			}
		})
	}
}

func TestRefusalsOfBlocks(t *testing.T) {
	const block, source, check = 1, 2, 4
	other := []Composite{{Activity: "round", Iterations: 4}}
	for _, tc := range []struct {
		name   string
		change func(*Table)
		want   string
	}{
		{"of format 4", func(t *Table) { t.Format = 4 }, "which does not stand before it, or format 4 has no blocks"},
		{"inside of what comes later", func(t *Table) { t.Roster[0], t.Roster[1] = t.Roster[1], t.Roster[0] }, `roster: check is inside of "round", which does not stand before it`},
		{"nothing is inside", func(t *Table) { t.Roster[1].Inside, t.Roster[2].Inside = "", "" }, "it has 6 activities, but the roster calls for 4"},
		{"a program with something inside", func(t *Table) { t.Activities[block].Kind, t.Activities[block].Program = KindProgram, "p" }, "activity round: kind 1 does not fit the roster"},
		{"a block with a program", func(t *Table) { t.Activities[block].Program = "p" }, "activity round: program p: an activity of this kind has no program"},
		{"a path that the roster does not have", func(t *Table) { t.Activities[check].Path = nil }, `activity 4 is "check", but the roster calls for check`},
		{"a path through what is inside", func(t *Table) {
			t.Activities[check].Path = []Composite{{Activity: "ask", Iterations: 1}, {Activity: "round", Iterations: 3}}
		}, `path: the roster does not have round inside of "ask"`},
		{"other iterations than the block's", func(t *Table) { t.Activities[check].Path = other }, "path: round has other numbers there than it has itself"},
		{"a source that gives other things", func(t *Table) { t.Activities[source].Output = orderType() }, "activity source: its output is not the input of what it is the source of"},
		{"over the border", func(t *Table) { t.Activities[block].OutControl[0] = OutControl{To: "ask", Node: "B"} }, `outgoing control connector to "ask": it is not another activity of the process, or of the same block`},
		{"from outside", func(t *Table) {
			t.Activities[check].InControl = append(t.Activities[check].InControl, InControl{"round"})
		}, `incoming control connector from "round": it is not another activity of the process, or of the same block`},
		{"a detour over the border", func(t *Table) { t.Detours[0].OutData = []ActivityID{"round"} }, "detour of ask: a data connector leads to round, which is not inside of the same block"},
		{"an end that sink has not", func(t *Table) { t.Activities[3].InControl = nil }, "detour of ask: a control connector leads to sink, but sink has none from it"},
		{"a block of another behaviour", func(t *Table) {
			a := t.Activities[block]
			*a = Activity{Name: a.Name, Behaviour: "count-to", Input: a.Input, Output: a.Output, InControl: a.InControl, OutControl: a.OutControl}
		}, "activity round: something is inside of it, and its behaviour count-to is none of a block"},
		{"a deadline of an empty activity", func(t *Table) { *t = *withTimes(); t.Activities[6].Deadline = &Moment{} }, "activity join: kind 2 has no such deadline"},
		{"a wait without a time", func(t *Table) { *t = *withTimes(); t.Activities[5].Wait = nil }, "activity pause: a wait, and nothing else, has a time at which it goes on"},
		{"a span backwards", func(t *Table) { *t = *withTimes(); t.Activities[5].Wait.Fixed = -1 }, "and not counted backwards"},
		{"two times at once", func(t *Table) { *t = *withTimes(); t.Activities[4].Deadline.Fixed = 1 }, "a time that is over is fixed, or an expression"},
		{"an empty one that goes on after errors", func(t *Table) { *t = *withTimes(); t.Activities[6].Continues = true }, "and no errors to go on after"},
		{"cancels itself", func(t *Table) { *t = *withTimes(); t.Activities[4].Cancels[0].Activity = "try" }, `it cancels "try" at "A": that is no other activity there`},
		{"cancels elsewhere", func(t *Table) { *t = *withTimes(); t.Activities[4].Cancels[0].Node = "B" }, `it cancels "pause" at "B": that is no other activity there`},
		{"cancels over the border", func(t *Table) { *t = *withTimes(); t.Activities[4].Cancels[0] = Place{Activity: "block", Node: "A"} }, `it cancels "block" at "A": that is no other`},
		{"cancels what does not know it", func(t *Table) { *t = *withTimes(); t.Activities[5].CancelledBy = nil }, "it cancels pause, which does not know of that"},
		{"cancelled by nobody", func(t *Table) {
			*t = *withTimes()
			t.Activities[5].CancelledBy = append(t.Activities[5].CancelledBy, "nobody")
		}, `it is cancelled by "nobody"`},
		{"two words at once", func(t *Table) { *t = *withTimes(); t.Activities[4].OutData[0].Mappings[0].Word = 3 }, "a word of the engine is of its own type"},
		{"a word of another type", func(t *Table) { *t = *withTimes(); t.Activities[4].OutData[0].Mappings[0].Word = condition.WordTimeout }, "a word of the engine is of its own type"},
		{"times in format 2", func(t *Table) { *t = *withDetours(); t.Activities[1].Deadline = &Moment{Fixed: 1} }, "activity receive: format 2 has no words of the engine but _RC, no deadlines"},
		{"a scope that is too long", func(t *Table) {
			path := make([]Composite, MaxPath)
			for i := range path {
				path[i] = Composite{Activity: ActivityID(strings.Repeat("b", 63) + string(rune('a'+i))), Iterations: 10_000}
			}
			t.Activities[check].Path = append(path[1:], t.Activities[check].Path...)
		}, "path: a scope of it may have 1248 bytes, above the limit of 1024"},
		{"a start condition that cannot be", func(t *Table) { t.Activities[block].Start = condition.Logic{} }, "activity round: start condition: operator 0 is unknown"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			table := withBlock()
			tc.change(table)
			if _, err := Encode(table); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Encode: %v\nwant %s", err, tc.want)
			}
		})
	}
}
