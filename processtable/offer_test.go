package processtable

import (
	"slices"
	"strings"
	"testing"

	"fmqm/container"
)

// withOffers is the table of a node of a process whose activity approve is at home at A, and offered there, at B and at C; and inform at
// B and C, for each of many.
func withOffers(node NodeID) *Table {
	empty := container.Empty
	each := container.NewStructure("", []container.Member{{Name: MemberStruct, Type: container.NewList(empty)}})
	t := &Table{
		Format: PeopleFormat, Process: ProcessID{Name: "offers", Version: 1}, Node: node, Definition: DefinitionHash{8},
		Roster: []Place{{Activity: "approve", Node: "A"}, {Activity: "inform", Node: "A"}}, Starts: []NodeID{"A"}, Input: empty, Output: empty,
		Workers: []Worker{{Activity: "approve", Nodes: []NodeID{"B", "C"}}, {Activity: "inform", Each: true, Nodes: []NodeID{"C", "B"}}},
	}
	manual := func(name ActivityID, offered []NodeID, path ...Composite) *Activity {
		return &Activity{
			Name: name, Kind: KindManual, Path: path, Input: empty, Output: empty, Start: and(), MaxIterations: 1, Retry: Retry{Attempts: 1},
			Manual: &Manual{Staff: &Who{Is: WhoRole, Of: checked(`"clerk"`)}, Title: []TitlePart{{Text: string(name)}}, Offered: offered},
		}
	}
	all, others := []NodeID{"B", "A", "C"}, []NodeID{"C", "B"}
	if node != "A" {
		t.Activities = []*Activity{
			manual("approve", all, Composite{Activity: "approve", Iterations: 1}),
			manual("inform", others, Composite{Activity: "inform", Elements: true}, Composite{Activity: "inform", Iterations: 1}),
		}
		return t
	}
	approve := manual("approve", all)
	approve.InControl, approve.Start, approve.OutControl = []InControl{{Source}}, and(variable(0)), []OutControl{{To: "inform", Node: "A"}}
	t.Activities = []*Activity{
		{Name: Source, Kind: KindSource, Input: empty, Output: empty, Start: and(), OutControl: []OutControl{{To: "approve", Node: "A"}}},
		approve,
		{
			Name: "inform", Kind: KindBundle, Input: each, Output: empty, Bundle: &Bundle{Parallel: 3}, Start: and(variable(0)),
			InControl: []InControl{{"approve"}}, OutControl: []OutControl{{To: Sink, Node: Origin}},
		},
		manual("inform", others, Composite{Activity: "inform", Elements: true}),
		{Name: Sink, Kind: KindSink, Input: empty, Output: empty, Start: and(), InControl: []InControl{{"inform"}}},
	}
	return t
}

// What is offered at other nodes has a row at each of them, and the table says which they are (N27).
func TestOffersAreRowsOfTheirOwn(t *testing.T) {
	for _, node := range []NodeID{"A", "B", "C"} {
		encoded, err := Encode(withOffers(node))
		if err != nil {
			t.Fatalf("%s: %v", node, err)
		}
		read, err := Decode(encoded)
		if err != nil {
			t.Fatalf("%s: %v", node, err)
		}
		row := RowID{Name: "approve", Inside: "approve", Begun: 1}
		if offers := read.Activity(row) != nil; offers != (node != "A") || !read.Hosting(node) || read.Hosts(row, node, "A") != offers {
			t.Errorf("%s has the row that offers approve: %v", node, offers)
		}
	}
	for _, tc := range []struct {
		name   string
		node   NodeID
		change func(*Table)
		want   string
	}{
		{"another node than the row says", "A", func(t *Table) { t.Workers[0].Nodes = []NodeID{"B"} }, "and the table has such rows at [B]"},
		{"another order", "C", func(t *Table) { t.Workers[0].Nodes = []NodeID{"C", "B"} }, "and the table has such rows at"},
		{"twice", "C", func(t *Table) { t.Activities[0].Manual.Offered = []NodeID{"B", "A", "C", "B"} }, "or occurs twice"},
		{"no workers", "A", func(t *Table) { t.Workers = t.Workers[1:] }, "and the table has such rows at"},
		{"too many", "A", func(t *Table) { t.Activities[1].Manual.Offered = slices.Repeat([]NodeID{"B"}, MaxOffered+1) }, ""},
		{"a deadline of its own", "C", func(t *Table) { t.Activities[0].Deadline = &Moment{Fixed: 1} }, "home has those"},
		{"at the origin", "C", func(t *Table) { t.Roster[0].Node = Origin }, ""},
		{"for each, and not of each", "A", func(t *Table) { t.Workers[1].Each = false }, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			table := withOffers(tc.node)
			tc.change(table)
			encoded, err := Encode(table)
			if err == nil {
				_, err = Decode(encoded)
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("it is refused with %v, want %q", err, tc.want)
			}
		})
	}
}
