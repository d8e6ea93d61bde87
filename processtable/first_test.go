package processtable

import (
	"strings"
	"testing"

	"fmqm/condition"
	"fmqm/container"
)

// withFirst is the table of a node that hosts all of a process: two of north, south and west are enough for
// order, and sink waits for all.
func withFirst() *Table {
	empty := container.Empty
	askers := []ActivityID{"north", "south", "west"}
	t := &Table{
		Format: BundleFormat, Process: ProcessID{Name: "quotes", Version: 1}, Node: "A", Definition: DefinitionHash{7},
		Starts: []NodeID{"A"}, Input: empty, Output: empty,
	}
	source := &Activity{Name: Source, Kind: KindSource, Input: empty, Output: empty, Start: and()}
	sink := &Activity{Name: Sink, Kind: KindSink, Input: empty, Output: empty, Start: and(), InControl: []InControl{{"order"}}}
	order := program("order", Activity{
		Input: empty, Output: empty, First: 2, Start: condition.Logic{Op: condition.LogicAtLeast, N: 2}, OutControl: []OutControl{{To: Sink, Node: Origin}},
	})
	t.Activities = []*Activity{source}
	for i, name := range askers {
		t.Roster = append(t.Roster, Place{Activity: name, Node: "A"})
		source.OutControl = append(source.OutControl, OutControl{To: name, Node: "A"})
		order.InControl, order.Start.Args = append(order.InControl, InControl{name}), append(order.Start.Args, variable(i))
		sink.InControl = append(sink.InControl, InControl{name})
		t.Activities = append(t.Activities, program(name, Activity{
			Input: empty, Output: empty, InControl: []InControl{{Source}}, Start: and(variable(0)),
			OutControl: []OutControl{{To: "order", Node: "A"}, {To: Sink, Node: Origin}},
		}))
	}
	t.Roster = append(t.Roster, Place{Activity: "order", Node: "A"})
	t.Activities = append(t.Activities, order, sink)
	return t
}

// What only format 7 says of a start comes back.
func TestFirstComesBack(t *testing.T) {
	got, err := Decode(mustEncode(t, withFirst()))
	if err != nil {
		t.Fatal(err)
	}
	if d := diff(withFirst(), got); d != "" {
		t.Errorf("the decoded table differs (-want +got):\n%s", d)
	}
}

func TestRefusalsOfFirst(t *testing.T) {
	const order = 4
	says := "first: its start condition does not say the same of all connectors"
	number := "first: want a number from 1 to that of the control connectors into an activity"
	for _, tc := range []struct {
		name   string
		change func(*Table)
		want   string
	}{
		{"of format 6", func(t *Table) { t.Format = ModelFormat }, "format 6 has no start with the first connectors, and no notices"},
		{"of another number", func(t *Table) { t.Activities[order].First = 1 }, says},
		{"of another condition", func(t *Table) { t.Activities[order].Start.Op, t.Activities[order].Start.N = condition.LogicOr, 0 }, says},
		{"of some connectors", func(t *Table) { t.Activities[order].Start.Args[2] = variable(1) }, says},
		{"of more than there are", func(t *Table) { t.Activities[order].First = 4 }, number},
		{"of sink", func(t *Table) { t.Activities[order+1].First = 1 }, number},
		{"of one that waits for all", func(t *Table) {
			t.Activities[order].First, t.Activities[order].Start.Op, t.Activities[order].Start.N = 0, condition.LogicAnd, 0
		}, "sink follows only what has no successors, or none that wait for it"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			table := withFirst()
			tc.change(table)
			if _, err := Encode(table); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v\nwant %s", err, tc.want)
			}
		})
	}
}
