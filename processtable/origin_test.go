package processtable

import (
	"slices"
	"strings"
	"testing"

	"fmqm/container"
)

// withOrigin is the table of A: note and the block round are where the instance was started, at A or Z, ask is at B.
func withOrigin() *Table {
	empty, inside := container.Empty, []Composite{{Activity: "round", Iterations: 1}}
	added := func(name ActivityID, kind Kind, path []Composite) *Activity {
		return &Activity{Name: name, Kind: kind, Input: empty, Output: empty, Start: and(), Path: path}
	}
	source, sink := added(Source, KindSource, nil), added(Sink, KindSink, nil)
	source.OutControl, sink.InControl = []OutControl{{To: "note", Node: Origin}}, []InControl{{"round"}}
	first, last := added(Source, KindSource, inside), added(Sink, KindSink, inside)
	first.OutControl, last.InControl = []OutControl{{To: "ask", Node: "B"}}, []InControl{{"ask"}}
	return &Table{
		Format: BundleFormat, Process: ProcessID{Name: "order", Version: 1}, Node: "A", Definition: DefinitionHash{7},
		Roster: []Place{{Activity: "note", Node: Origin}, {Activity: "round", Node: Origin}, {Activity: "ask", Node: "B", Inside: "round"}},
		Starts: []NodeID{"A", "Z"}, Input: empty, Output: empty,
		Activities: []*Activity{
			source,
			program("note", Activity{
				Input: empty, Output: empty, InControl: []InControl{{Source}}, Start: and(variable(0)), OutControl: []OutControl{{To: "round", Node: Origin}},
			}),
			{
				Name: "round", Kind: KindBlock, Input: empty, Output: empty, InControl: []InControl{{"note"}}, Start: and(variable(0)),
				OutControl: []OutControl{{To: Sink, Node: Origin}}, MaxIterations: 1, Retry: Retry{Attempts: 1},
			},
			first, last, sink,
		},
		Resolvers: []Resolver{{Node: Origin, Activities: []ActivityID{"ask"}}},
	}
}

// N20, R40: of an instance only the node that has started it hosts what is at the origin, with what the compiler has
// added to that; who else has a row of it has it for other instances.
func TestHostsAtTheOrigin(t *testing.T) {
	encoded, err := Encode(withOrigin())
	if err != nil {
		t.Fatal(err)
	}
	read, err := Decode(encoded)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []*Table{withOrigin(), read} {
		note, inner, ask := RowID{Name: "note"}, RowID{Name: Sink, Inside: "round"}, RowID{Name: "ask", Inside: "round"}
		for _, row := range []RowID{note, inner, {Name: Sink}} {
			if !table.Hosts(row, "A", "A") || !table.Hosts(row, "Z", "Z") || table.Hosts(row, "A", "Z") || table.Hosts(row, "A", "") {
				t.Errorf("%v is at %v", row, [][2]bool{{table.Hosts(row, "A", "A"), table.Hosts(row, "Z", "Z")}, {table.Hosts(row, "A", "Z"), table.Hosts(row, "A", "")}})
			}
		}
		if host, known := table.HostOf(ask, "Z"); host != "B" || !known {
			t.Errorf("ask is at %q", host)
		}
		if got := table.Nodes(); !slices.Equal(got, []NodeID{"A", "B", "Z"}) || table.HasPart(Origin) {
			t.Errorf("the nodes are %v", got)
		}
		if table.Hosting("A") || table.Hosting(Origin) || !table.Hosting("B") {
			t.Error("a node that starts instances hosts what is of others")
		}
		// ask leads to the origin on whose behalf only that may resolve it (N6).
		if !table.MayResolve("Z", "ask", "Z") || table.MayResolve("Z", "ask", "A") || table.MayResolve(Origin, "note", "A") {
			t.Error("who resolves for ask is not the origin")
		}
	}
}

// What is said of the origin is held to the roster, as what is said of other nodes is, and is of format 7.
func TestRefusalsOfTheOrigin(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(t *Table)
		want   string
	}{
		{"a lower format", func(t *Table) { t.Format, t.Resolvers = ModelFormat, nil }, "order@1.A: format 6 has no activities where the instance was started"},
		{"no start node", func(t *Table) { t.Starts = []NodeID{"Z"} }, "it has 6 activities, but the roster calls for 0"},
		{"a connector to the node itself", func(t *Table) { t.Activities[1].OutControl[0].Node = "A" }, `it says node "A", but the roster says @origin`},
		{"an inner sink that is missing", func(t *Table) { t.Activities = slices.Delete(t.Activities, 4, 5) }, "it has 5 activities, but the roster calls for 6"},
		{"who starts it", func(t *Table) { t.Starts[1] = Origin }, `starts: "@origin" is not a name`},
		{"who resolves for itself", func(t *Table) { t.Resolvers[0].Activities = []ActivityID{"note"} }, "resolver @origin: it hosts note itself"},
		{"who does work", func(t *Table) { t.Workers = []Worker{{Activity: "note", Nodes: []NodeID{Origin}}} }, `"@origin"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			table := withOrigin()
			tc.change(table)
			if _, err := Encode(table); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Encode: %v\nwant %s", err, tc.want)
			}
		})
	}
}
