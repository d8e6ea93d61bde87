package processtable

import (
	"slices"
	"strings"
	"testing"

	"fmqm/condition"
	"fmqm/container"
)

// withBundle is the table of a node of a process whose only activity, count at A, is a bundle of calls
// that are done at B or A.
func withBundle(node NodeID) *Table {
	visit := container.NewStructure("Visit", []container.Member{
		{Name: "shop", Type: container.Scalar(container.String)},
		{Name: "day", Type: container.Scalar(container.Int)},
	})
	counted := container.NewStructure("Counted", []container.Member{{Name: "counted", Type: container.Scalar(container.Int)}})
	visits := container.NewStructure("", []container.Member{
		{Name: "shop", Type: container.NewList(container.Scalar(container.String))},
		{Name: "day", Type: container.Scalar(container.Int)},
	})
	results := container.NewStructure("", []container.Member{
		{Name: MemberResults, Type: container.NewList(counted)},
		{Name: MemberFailed, Type: container.Scalar(container.Int)},
	})
	elements, worked := Composite{Activity: "count", Elements: true}, Composite{Activity: "count", Iterations: 1}
	bundle := &Activity{
		Name: "count", Kind: KindBundle, Input: visits, Output: results,
		InControl: []InControl{{Source}}, Start: and(variable(0)), OutControl: []OutControl{{To: Sink, Node: Origin}},
		Bundle: &Bundle{Member: "shop", Parallel: 20, Until: checked("_FAILED > 3"), Failed: checked("counted < 0")},
	}
	call := &Activity{
		Name: "count", Kind: KindCall, Path: []Composite{elements}, Input: visit, Output: counted, Start: and(), Continues: true,
		Deadline: &Moment{Fixed: 1}, Call: &Call{Node: checked("shop"), Of: []NodeID{"B", "A"}},
	}
	work := program("count", Activity{Path: []Composite{elements, worked}, Input: visit, Output: counted, Start: and(), Continues: true, Exit: checked("_RC == 0")})
	source := &Activity{Name: Source, Kind: KindSource, Input: container.Empty, Output: container.Empty, Start: and(), OutControl: []OutControl{{To: "count", Node: "A"}}}
	sink := &Activity{Name: Sink, Kind: KindSink, Input: container.Empty, Output: container.Empty, Start: and(), InControl: []InControl{{"count"}}}
	t := &Table{
		Format: BundleFormat, Process: ProcessID{Name: "stock", Version: 1}, Node: node, Definition: DefinitionHash{6},
		Roster: []Place{{Activity: "count", Node: "A"}}, Starts: []NodeID{"A"}, Input: container.Empty, Output: container.Empty,
		Activities: []*Activity{source, bundle, call, work, sink},
		Workers:    []Worker{{Activity: "count", Each: true, Nodes: []NodeID{"B", "A"}}},
	}
	if node != "A" {
		t.Activities = []*Activity{work}
	}
	return t
}

// A bundle, one execution of it, and what does the work of that have one name, and each its row.
func TestRowsOfOneName(t *testing.T) {
	for node, rows := range map[NodeID]int{"A": 3, "B": 1} {
		encoded, err := Encode(withBundle(node))
		if err != nil {
			t.Fatal(err)
		}
		table, err := Decode(encoded)
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for begun, kind := range []Kind{KindBundle, KindCall, KindProgram} {
			row := RowID{Name: "count", Begun: uint8(begun)}
			if begun > 0 {
				row.Inside = "count"
			}
			if a := table.Activity(row); a != nil {
				if found++; a.Kind != kind || a.Row() != row {
					t.Errorf("%s: row %v is of kind %d with the row %v", node, row, a.Kind, a.Row())
				}
			}
			if n, ok := table.NodeOf(row); ok != (begun < 2) || ok && n != "A" {
				t.Errorf("%s: row %v lives at %q, %v", node, row, n, ok)
			}
			if table.Hosts(row, "B", "B") != (begun == 2) || !table.Hosts(row, "A", "B") {
				t.Errorf("%s: row %v: it is hosted elsewhere than it should", node, row)
			}
		}
		if found != rows {
			t.Errorf("%s: %d rows, want %d", node, found, rows)
		}
		if !table.HasPart("B") || table.HasPart("C") || !slices.Equal(table.Nodes(), []NodeID{"A", "B"}) {
			t.Errorf("%s: the nodes with a part are not A and B", node)
		}
		if w := withBundle(node).Activities[len(table.Activities)/2+rows/3].Words(); rows == 3 && w&(condition.WordError|condition.WordTimeout) == 0 {
			t.Errorf("%s: what is begun cannot read the words of its activity", node)
		}
	}
}

func TestBundlesAndCallsThatAreNone(t *testing.T) {
	const bundle, call, work = 1, 2, 3
	for what, test := range map[string]struct {
		change func(*Table)
		want   string
	}{
		"format":          {func(t *Table) { t.Format = ModelFormat }, "no bundles and no calls"},
		"no parallel":     {func(t *Table) { t.Activities[bundle].Bundle.Parallel = 0 }, "parallel is below 1"},
		"too parallel":    {func(t *Table) { t.Activities[bundle].Bundle.Parallel = MaxParallel + 1 }, "parallel"},
		"no such member":  {func(t *Table) { t.Activities[bundle].Bundle.Member = "day" }, "a list as \"day\""},
		"a whole":         {func(t *Table) { t.Activities[bundle].Bundle.Member = "" }, "is not that of one execution"},
		"exit":            {func(t *Table) { t.Activities[bundle].Exit = checked("_RC == 0") }, "are those of what it begins"},
		"output":          {func(t *Table) { t.Activities[bundle].Output = t.Activities[call].Output }, "which no bundle gives"},
		"deadline":        {func(t *Table) { t.Activities[bundle].Deadline = &Moment{Fixed: 1} }, "is that of one execution"},
		"connector":       {func(t *Table) { t.Activities[call].InControl = []InControl{{Source}} }, "neither connectors nor a start condition"},
		"start":           {func(t *Table) { t.Activities[work].Start = condition.Logic{Op: condition.LogicOr} }, "neither connectors nor a start condition"},
		"no node":         {func(t *Table) { t.Activities[call].Call.Node = nil }, "an expression for the node"},
		"other nodes":     {func(t *Table) { t.Activities[call].Call.Of = []NodeID{"A"} }, "the same nodes for its work"},
		"not for each":    {func(t *Table) { t.Workers[0].Each = false }, "the roster calls for"},
		"no workers":      {func(t *Table) { t.Workers = nil }, "the roster calls for"},
		"twice":           {func(t *Table) { t.Workers[0].Nodes = []NodeID{"A", "A"} }, "the same nodes for its work"},
		"an empty":        {func(t *Table) { t.Activities[work].Kind, t.Activities[work].Program = KindEmpty, "" }, "no errors to go on after"},
		"late":            {func(t *Table) { t.Activities[work].Deadline = &Moment{Fixed: 1} }, "has no deadline"},
		"goes on":         {func(t *Table) { t.Activities[work].Continues = false }, "other errors to go on after"},
		"missing row":     {func(t *Table) { t.Activities = slices.Delete(t.Activities, call, call+1) }, "the roster calls for"},
		"elements in one": {func(t *Table) { t.Activities[work].Path[1].Elements = true }, "path"},
		"no bundle":       {func(t *Table) { t.Activities[bundle].Bundle = nil }, "the roster calls for"},
	} {
		table := withBundle("A")
		test.change(table)
		if _, err := Encode(table); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
