package processtable

import (
	"strings"
	"testing"
)

// withBehaviours is the sample in format 4: ship is of another behaviour, and stands in a
// bundle inside of a block; file is FlowMark's, and in the block.
func withBehaviours() *Table {
	t := withDetours()
	t.Format = 4
	ship, file := t.Activities[2], t.Activities[3]
	t.Activities[2] = &Activity{
		Name: "ship", Behaviour: "count-to", Spec: []byte{3}, Program: "run-ship",
		Path:  []Composite{{Activity: "round", Iterations: 10}, {Activity: "line", Iterations: 2, Elements: true}},
		Input: ship.Input, Output: ship.Output,
		InControl: ship.InControl, OutControl: []OutControl{{To: "file", Node: "A"}}, InData: ship.InData, OutData: ship.OutData,
	}
	file.Path = []Composite{{Activity: "round", Iterations: 10}}
	return t
}

func TestRowsOfOtherBehavioursComeBack(t *testing.T) {
	encoded := mustEncode(t, withBehaviours())
	got, err := Decode(encoded)
	if err != nil {
		t.Fatal(err)
	}
	if d := diff(withBehaviours(), got); d != "" {
		t.Errorf("the decoded table differs (-want +got):\n%s", d)
	}
	if ship := got.Activity(RowID{Name: "ship", Inside: "line"}); !ship.Follows("credit") || !ship.Follows("receive") || ship.Follows("file") || ship.DiesAlone() {
		t.Error("the ports of ship are other ones")
	}
	// L6: a site that reads no format 4 is not sent it, also in an envelope of which only the
	// beginning is known.
	signed := mustSignFor(t, encoded, definerKey(1), production)
	if got := []int{ReaderOf(encoded), ReaderOf(signed), ReaderOf(signed[:300])}; got[0] != 4 || got[1] != 4 || got[2] != 4 {
		t.Errorf("the formats that a reader must know are %v, want 4", got)
	}
}

func TestRefusalsOfBehaviours(t *testing.T) {
	receive, ship, file := 1, 2, 3
	for _, tc := range []struct {
		name   string
		change func(t *Table)
		want   string
	}{
		{"of format 2", func(t *Table) { t.Format = 2 }, "activity ship: format 2 has no behaviours and no composites"},
		{"a path of format 2", func(t *Table) {
			*t = *withDetours()
			t.Activities[file].Path = []Composite{{Activity: "round", Iterations: 1}}
		}, "activity file: format 2 has no behaviours"},
		{"of no name", func(t *Table) { t.Activities[ship].Behaviour = "count to" }, `activity ship: behaviour "count to" is not a name`},
		{"of source", func(t *Table) { t.Activities[0].Behaviour = "count-to" }, "activity source: behaviour count-to: source and sink are FlowMark's"},
		{"program of no name", func(t *Table) { t.Activities[ship].Program = "." }, `activity ship: program "." is not a name`},
		{"with a kind", func(t *Table) { t.Activities[ship].Kind = KindProgram }, "behaviour count-to: kind, start and exit condition"},
		{"with attempts", func(t *Table) { t.Activities[ship].Retry.Attempts = 1 }, "what it needs stands in its spec"},
		{"with a transition condition", func(t *Table) { t.Activities[ship].OutControl[0].Condition = checked("_RC == 0") }, "outgoing control connector to file: transition conditions are FlowMark's"},
		{"a connector that the other end has not", func(t *Table) { t.Activities[ship].OutControl = nil }, "incoming control connector from ship: ship has none to it"},
		{"spec of FlowMark's", func(t *Table) { t.Activities[receive].Spec = []byte{1} }, "activity receive: it has a spec, and no behaviour that reads it"},
		{"spec too large", func(t *Table) { t.Activities[ship].Spec = make([]byte, MaxSpec+1) }, "is over the limit of 262144"},
		{"inside of itself", func(t *Table) { t.Activities[ship].Path[1].Activity = "ship" }, `path: "ship" cannot name a composite around it`},
		{"twice inside of one", func(t *Table) { t.Activities[ship].Path[1].Activity = "round" }, `path: "round" cannot name a composite around it, or occurs twice`},
		{"inside of nothing that repeats", func(t *Table) { t.Activities[ship].Path[0].Iterations = 0 }, "path: round has neither iterations nor elements"},
		{"source in a block", func(t *Table) { t.Activities[0].Path = []Composite{{Activity: "round", Iterations: 1}} }, "source and sink are inside of nothing"},
		{"nested too deep", func(t *Table) { t.Activities[ship].Path = make([]Composite, MaxPath+1) }, "path: byte"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			table := withBehaviours()
			tc.change(table)
			if _, err := Encode(table); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Encode: %v\nwant %s", err, tc.want)
			}
		})
	}
	for key, value := range map[int]any{keyBehaviour: "count-to", keySpec: []byte{1}, keyPath: []any{[]any{"round", 1, false}}} {
		b := rewriteOf(t, withDetours(), func(m map[any]any) {
			m[uint64(keyActivities)].([]any)[1].(map[any]any)[uint64(key)] = value
		})
		if _, err := Decode(b); err == nil || !strings.Contains(err.Error(), "format 2 has no such field: it is of format 4 on") {
			t.Errorf("key %d in a table of format 2: %v", key, err)
		}
	}
}
