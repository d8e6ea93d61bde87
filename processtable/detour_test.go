package processtable

import (
	"strings"
	"testing"
)

// withDetours is the sample in format 2: A resolves credit on B's behalf when it is dead
// (N6), and so may C and D, which in this tale are above it.
func withDetours() *Table {
	t := sample()
	t.Format = 2
	t.Detours = []Detour{{Activity: "credit", OutControl: []ActivityID{"ship"}, OutData: []ActivityID{"ship"}}}
	t.Resolvers = []Resolver{{Node: "C", Activities: []ActivityID{"credit"}}, {Node: "D", Activities: []ActivityID{"credit"}}}
	return t
}

func TestDetoursComeBack(t *testing.T) {
	got, err := Decode(mustEncode(t, withDetours()))
	if err != nil {
		t.Fatal(err)
	}
	if d := diff(withDetours(), got); d != "" {
		t.Errorf("the decoded table differs (-want +got):\n%s", d)
	}
}

// A detour may lead to sink, and on to an activity elsewhere.
func TestDetoursMayGoOn(t *testing.T) {
	table := withDetours()
	table.Roster = append(table.Roster, Place{Activity: "bill", Node: "C"}, Place{Activity: "close", Node: "D"})
	table.Detours[0].OutControl = []ActivityID{"ship", "bill"}
	table.Detours = append(
		table.Detours,
		Detour{Activity: "bill", OutControl: []ActivityID{"close"}, OutData: []ActivityID{"close"}},
		Detour{Activity: "close", OutControl: []ActivityID{Sink}},
	)
	last := table.Activities[4]
	last.InControl = append(last.InControl, InControl{"close"})
	got, err := Decode(mustEncode(t, table))
	if err != nil {
		t.Fatal(err)
	}
	if d := diff(table, got); d != "" {
		t.Errorf("the decoded table differs (-want +got):\n%s", d)
	}
}

// Invariant 11: who may resolve what, in a decoded table and in one made by hand.
func TestMayResolve(t *testing.T) {
	decoded, err := Decode(mustEncode(t, withDetours()))
	if err != nil {
		t.Fatal(err)
	}
	for what, table := range map[string]*Table{"decoded": decoded, "by hand": withDetours()} {
		for _, tc := range []struct {
			node     NodeID
			activity ActivityID
			want     bool
		}{
			{"C", "credit", true},
			{"D", "credit", true},
			{"B", "credit", false}, // its host needs no leave
			{"C", "receive", false},
			{"C", Source, false},
			{"nobody", "credit", false},
		} {
			if got := table.MayResolve(tc.node, tc.activity, "A"); got != tc.want {
				t.Errorf("%s: %s may resolve %s: %v", what, tc.node, tc.activity, got)
			}
		}
	}
	if sample().MayResolve("C", "credit", "A") {
		t.Error("a table of format 1 lets nobody")
	}
}

func TestRunsAlone(t *testing.T) {
	not := and()
	not.Op, not.Args = 2, append(not.Args, variable(0))
	one := Activity{Kind: KindProgram, InControl: []InControl{{"a"}}, Start: and(variable(0))}
	empty, two, behaves, negated := one, one, one, one
	empty.Kind = KindEmpty
	two.InControl, two.Start = []InControl{{"a"}, {"b"}}, and(variable(0), variable(1))
	behaves.Behaviour = "b"
	negated.Start = not
	if !one.RunsAlone() {
		t.Error("a program after one activity does not run when its connector is TRUE")
	}
	for _, a := range []*Activity{&empty, &two, &behaves, &negated} {
		if a.RunsAlone() {
			t.Errorf("%+v", a)
		}
	}
}

func TestDiesAlone(t *testing.T) {
	not := and()
	not.Op, not.Args = 2, append(not.Args, variable(0))
	for _, tc := range []struct {
		name string
		a    Activity
		want bool
	}{
		{"one connector", Activity{Kind: KindProgram, InControl: []InControl{{"a"}}, Start: and(variable(0))}, true},
		{"empty", Activity{Kind: KindEmpty, InControl: []InControl{{"a"}}, Start: and(variable(0))}, true},
		{"two connectors", Activity{Kind: KindProgram, InControl: []InControl{{"a"}, {"b"}}, Start: and(variable(0), variable(1))}, false},
		{"it starts on FALSE", Activity{Kind: KindProgram, InControl: []InControl{{"a"}}, Start: not}, false},
		{"after source", Activity{Kind: KindProgram, InControl: []InControl{{Source}}, Start: and(variable(0))}, false},
		{"source", Activity{Kind: KindSource}, false},
		{"sink", Activity{Kind: KindSink, InControl: []InControl{{"a"}}, Start: and()}, false},
	} {
		if got := tc.a.DiesAlone(); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}

func TestRefusalsOfDetours(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(t *Table)
		want   string
	}{
		{"format 1", func(t *Table) { t.Format = 1 }, "format 1 has no detours and no resolvers"},
		{"unknown activity", func(t *Table) { t.Detours[0].Activity = "nobody" }, `the roster has no "nobody"`},
		{"unknown target", func(t *Table) { t.Detours[0].OutData[0] = "nobody" }, `the roster has no "nobody"`},
		{"sink", func(t *Table) { t.Detours[0].Activity = Sink }, "detours[0]: byte 959: number 4 is over the limit of 3"},
		{"of an activity here", func(t *Table) { t.Detours[0].Activity = "ship" }, "detour of ship: it is hosted here"},
		{"twice", func(t *Table) { t.Detours = append(t.Detours, t.Detours[0]) }, "detour of credit: it is not in the order of the roster, or occurs twice"},
		{"no way to it", func(t *Table) {
			t.Activities[1].OutControl = t.Activities[1].OutControl[:1]
			t.Activities[1].OutControl[0] = OutControl{To: "ship", Node: "A"}
		}, "detour of credit: want one control connector into it, of an activity here or with a detour, not 0"},
		{"two ways to it", func(t *Table) {
			t.Activities[2].OutControl = append(t.Activities[2].OutControl, OutControl{To: "credit", Node: "B"})
		}, "detour of credit: want one control connector into it, of an activity here or with a detour, not 2"},
		{"no way out", func(t *Table) { t.Detours[0].OutControl = nil }, "detour of credit: no control connector leads out of it"},
		{"to itself", func(t *Table) { t.Detours[0].OutData = []ActivityID{"credit"} }, "detour of credit: a connector leads from it to itself"},
		{"to one twice", func(t *Table) { t.Detours[0].OutControl = []ActivityID{"ship", "ship"} }, "detour of credit: two connectors of one kind lead to ship"},
		{"to sink beside others", func(t *Table) { t.Detours[0].OutControl = []ActivityID{"ship", Sink} }, "control connectors to sink and to activities"},
		{"a control connector too few", func(t *Table) { t.Detours[0].OutControl = []ActivityID{Sink} }, "ship has a control connector from it, but the detour has none to ship"},
		{"a data connector too few", func(t *Table) { t.Detours[0].OutData = nil }, "ship has a data connector from it, but the detour has none to ship"},
		{"a control connector too many", func(t *Table) { t.Detours[0].OutControl = []ActivityID{"ship", "file"} }, "a control connector leads to file, but file has none from it"},
		{"a data connector too many", func(t *Table) { t.Detours[0].OutData = []ActivityID{"ship", "file"} }, "a data connector leads to file, but file has none from it"},

		{"resolver of no name", func(t *Table) { t.Resolvers[0].Node = "@origin" }, `resolver "@origin": want the names of other nodes`},
		{"resolver is this node", func(t *Table) { t.Resolvers[0].Node = "A" }, `resolver "A": want the names of other nodes`},
		{"resolvers out of order", func(t *Table) { t.Resolvers[1].Node = "B"; t.Resolvers[1].Activities[0] = "receive" }, `resolver "B": want the names of other nodes, in order`},
		{"resolver twice", func(t *Table) { t.Resolvers[1].Node = "C" }, `resolver "C": want the names of other nodes, in order, each once`},
		{"resolver of nothing", func(t *Table) { t.Resolvers[0].Activities = nil }, `resolver "C": want the names of other nodes, in order, each once and with activities`},
		{"resolver of what does not lead here", func(t *Table) {
			t.Roster = append(t.Roster, Place{Activity: "bill", Node: "D"})
			t.Resolvers[0].Activities[0] = "bill"
		}, "resolver C: no connector leads from bill to an activity here"},
		{"resolver of sink", func(t *Table) { t.Resolvers[0].Activities[0] = Sink }, "resolver C: no connector leads from sink to an activity here"},
		{"resolver of source", func(t *Table) { t.Resolvers[0].Activities[0] = Source }, `the roster has no "source"`},
		{"resolver is the host", func(t *Table) { t.Resolvers = t.Resolvers[:1]; t.Resolvers[0].Node = "B" }, "resolver B: it hosts credit itself"},
		{"one activity twice", func(t *Table) { t.Resolvers[0].Activities = []ActivityID{"credit", "credit"} }, "resolver C: credit is not in the order of the roster, or occurs twice"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			table := withDetours()
			tc.change(table)
			_, err := Encode(table)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Encode: %v\nwant %s", err, tc.want)
			}
		})
	}
}

func TestRefusalsOfDetoursInBytes(t *testing.T) {
	key := func(k int) any { return uint64(k) }
	for _, tc := range []struct {
		name   string
		change func(m map[any]any)
		want   string
	}{
		{"detour of two", func(m map[any]any) { m[key(keyDetours)] = []any{[]any{1, []any{2}}} }, "detours[0]: byte 958: array of 2 items, expected 3"},
		{"detour of four", func(m map[any]any) { m[key(keyDetours)] = []any{[]any{1, []any{2}, []any{2}, 1}} }, "detours[0]: byte 958: array of 4 items, expected 3"},
		{"detour is a map", func(m map[any]any) { m[key(keyDetours)] = []any{map[any]any{1: 1}} }, "detours[0]: byte 957: expected array, not map"},
		{"activity beyond the roster", func(m map[any]any) { m[key(keyDetours)] = []any{[]any{9, []any{2}, []any{2}}} }, "detours[0]: byte 959: number 9 is over the limit of 3"},
		{"target beyond the roster", func(m map[any]any) { m[key(keyDetours)] = []any{[]any{1, []any{5}, []any{2}}} }, "detours[0][0]: byte 961: number 5 is over the limit of 4"},
		{"resolver of one", func(m map[any]any) { m[key(keyResolvers)] = []any{[]any{"C"}} }, "resolvers[0]: byte 966: array of 1 items, expected 2"},
		{"resolver is a number", func(m map[any]any) { m[key(keyResolvers)] = []any{[]any{1, []any{1}}} }, "resolvers[0]: byte 966: expected text, not unsigned integer"},
		{"no roster", func(m map[any]any) { delete(m, key(keyRoster)) }, "detours[0]: byte 919: there is no roster before it"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := Decode(rewriteOf(t, withDetours(), tc.change)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Decode: %v\nwant %s", err, tc.want)
			}
		})
	}
}
