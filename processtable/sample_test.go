package processtable

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fmqm/condition"
	"fmqm/container"
)

// The types of the sample are made anew for each table, as a compiler on another
// machine would.
func orderType() *container.Type {
	return container.NewStructure("Order", []container.Member{
		{Name: "item", Type: container.Scalar(container.String), Default: "screw"},
		{Name: "amount", Type: container.Scalar(container.Double)},
		{Name: "lines", Type: container.NewList(container.Scalar(container.String))},
	})
}

func creditType() *container.Type {
	return container.NewStructure("Credit", []container.Member{
		{Name: "approved", Type: container.Scalar(container.Bool)},
		{Name: "order", Type: orderType()},
		{Name: "attempts", Type: container.Scalar(container.Int)},
		{Name: "lists", Type: container.NewList(container.NewList(container.Scalar(container.Bytes)))},
	})
}

func checked(text string) *condition.Checked {
	return &condition.Checked{Text: text, Expr: []byte("expr of " + text), ReadsRC: text == "_RC == 0"}
}

func variable(i int) condition.Logic { return condition.Logic{Op: condition.LogicVar, Var: i} }

func and(args ...condition.Logic) condition.Logic {
	return condition.Logic{Op: condition.LogicAnd, Args: args}
}

func program(name ActivityID, a Activity) *Activity {
	a.Name, a.Kind, a.Program = name, KindProgram, ProgramID("run-"+name)
	if a.MaxIterations == 0 {
		a.MaxIterations = 10_000
	}
	a.Again = Backoff{After: time.Second, Max: time.Minute}
	a.Retry = Retry{Attempts: 1, Backoff: Backoff{After: time.Second, Max: time.Minute}}
	return &a
}

func itemMapping() []Mapping {
	return []Mapping{{
		From: container.Path{0}, To: container.Path{0}, Type: container.Scalar(container.String),
		Source: "item", Target: "item",
	}}
}

// sample is the table of start node A of a small process: receive at A; credit at B;
// ship and file at A. It has something of everything.
func sample() *Table {
	order, credit := orderType(), creditType()
	return &Table{
		Format:     1,
		Process:    ProcessID{Name: "purchase-order", Version: 3},
		Node:       "A",
		Definition: DefinitionHash{1, 2, 3},
		Roster:     []Place{{Activity: "receive", Node: "A"}, {Activity: "credit", Node: "B"}, {Activity: "ship", Node: "A"}, {Activity: "file", Node: "A"}},
		Starts:     []NodeID{"A", "C"},
		Input:      order,
		Output:     credit,
		Activities: []*Activity{
			{
				Name: Source, Kind: KindSource, Input: container.Empty, Output: orderType(), Start: and(),
				OutControl: []OutControl{{To: "receive", Node: "A"}},
				OutData:    []OutData{{To: "receive", Node: "A", Mappings: itemMapping()}},
			},
			program("receive", Activity{
				Input: orderType(), Output: orderType(),
				InControl: []InControl{{Source}}, Start: and(variable(0)),
				OutControl: []OutControl{
					{To: "credit", Node: "B", Condition: checked("amount > 1000.0")},
					{To: "ship", Node: "A", Otherwise: true},
				},
				InData: []InData{{From: Source, Mappings: itemMapping()}},
				OutData: []OutData{{To: "credit", Node: "B", Mappings: []Mapping{{
					From: container.Path{2}, To: container.Path{2, 0}, Type: container.NewList(container.Scalar(container.String)),
					Source: "lines", Target: "order.lines",
				}}}},
			}),
			program("ship", Activity{
				Input: creditType(), Output: creditType(), RCIsData: true, RCContinue: true,
				InControl: []InControl{{"receive"}, {"credit"}},
				Start: condition.Logic{Op: condition.LogicOr, Args: []condition.Logic{
					{Op: condition.LogicNot, Args: []condition.Logic{variable(0)}},
					{Op: condition.LogicAtLeast, N: 1, Args: []condition.Logic{variable(1), variable(0)}},
				}},
				OutControl: []OutControl{{To: "file", Node: "A", Condition: checked("_RC == 0")}},
				InData: []InData{{From: "credit", Mappings: []Mapping{
					{RC: true, To: container.Path{2}, Type: container.Scalar(container.Int), Source: condition.RC, Target: "attempts"},
					{From: container.Path{1}, To: container.Path{1}, Type: orderType(), Source: "order", Target: "order"},
				}}},
				OutData: []OutData{{To: Sink, Node: Origin, Mappings: []Mapping{{
					From: container.Path{0}, To: container.Path{0}, Type: container.Scalar(container.Bool), Source: "approved", Target: "approved",
				}}}},
				Exit: checked("_RC == 0"),
				Feedback: []Mapping{{
					From: container.Path{2}, To: container.Path{2}, Type: container.Scalar(container.Int), Source: "attempts", Target: "attempts",
				}},
			}),
			{
				Name: "file", Kind: KindEmpty, Input: container.Empty, Output: container.Empty, NoOutput: true,
				InControl: []InControl{{"ship"}}, Start: and(variable(0)),
				OutControl:    []OutControl{{To: Sink, Node: Origin}},
				MaxIterations: 1, Retry: Retry{Attempts: 1},
			},
			{
				Name: Sink, Kind: KindSink, Input: creditType(), Output: container.Empty, Start: and(),
				InControl: []InControl{{"file"}},
				InData: []InData{{From: "ship", Mappings: []Mapping{{
					From: container.Path{0}, To: container.Path{0}, Type: container.Scalar(container.Bool), Source: "approved", Target: "approved",
				}}}},
			},
		},
	}
}

// drawTable makes a table of node A for any process of up to 12 activities over four
// nodes: control connectors lead forward, data connectors map one member.
func drawTable(t *rapid.T) *Table {
	nodes := []NodeID{"A", "B", "C", "D"}
	node := rapid.SampledFrom(nodes)
	count := rapid.IntRange(1, 12).Draw(t, "activities")
	table := &Table{
		Format:     rapid.SampledFrom([]int{1, 2, 4}).Draw(t, "format"),
		Process:    ProcessID{Name: "p", Version: rapid.IntRange(1, MaxVersion).Draw(t, "version")},
		Node:       "A",
		Definition: DefinitionHash{7},
		Starts:     rapid.SliceOfNDistinct(node, 1, 4, rapid.ID[NodeID]).Draw(t, "starts"),
		Input:      orderType(),
		Output:     orderType(),
	}
	all := make([]*Activity, count)
	places := map[ActivityID]NodeID{Sink: Origin}
	for i := range all {
		name := ActivityID(fmt.Sprintf("t%d", i+1))
		places[name] = node.Draw(t, "node")
		table.Roster = append(table.Roster, Place{Activity: name, Node: places[name]})
		all[i] = program(name, Activity{Input: orderType(), Output: orderType(), RCIsData: rapid.Bool().Draw(t, "rc")})
		if rapid.Bool().Draw(t, "exit") {
			all[i].Exit = checked(rapid.SampledFrom([]string{"_RC == 0", "amount > 1.0"}).Draw(t, "text"))
			all[i].Feedback = itemMapping()
		}
	}
	source := &Activity{Name: Source, Kind: KindSource, Input: container.Empty, Output: orderType(), Start: and()}
	sink := &Activity{Name: Sink, Kind: KindSink, Input: orderType(), Output: container.Empty, Start: and()}
	join := func(from, to *Activity, c *condition.Checked) {
		from.OutControl = append(from.OutControl, OutControl{To: to.Name, Node: places[to.Name], Condition: c})
		to.InControl = append(to.InControl, InControl{from.Name})
		if rapid.Bool().Draw(t, "data") {
			from.OutData = append(from.OutData, OutData{To: to.Name, Node: places[to.Name], Mappings: itemMapping()})
			to.InData = append(to.InData, InData{From: from.Name, Mappings: itemMapping()})
		}
	}
	for i, from := range all {
		for _, to := range all[i+1:] {
			if rapid.IntRange(0, 2).Draw(t, "edge") == 0 {
				join(from, to, checked(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "condition")))
			}
		}
	}
	for _, a := range all {
		if len(a.InControl) == 0 {
			join(source, a, nil)
		}
		if len(a.OutControl) == 0 {
			join(a, sink, nil)
		}
		for i := range a.InControl {
			a.Start.Args = append(a.Start.Args, variable(i))
		}
		a.Start.Op = rapid.SampledFrom([]condition.LogicOp{condition.LogicAnd, condition.LogicOr}).Draw(t, "start")
	}
	if table.Format == 4 {
		drawBehaviours(t, all)
	}
	for _, a := range append(append([]*Activity{source}, all...), sink) {
		added := a == source || a == sink
		if added && table.IsStart() || places[a.Name] == "A" {
			table.Activities = append(table.Activities, a)
		}
	}
	return table
}

// drawBehaviours makes some rows those of another behaviour, and puts some into composites.
func drawBehaviours(t *rapid.T, all []*Activity) {
	for _, a := range all {
		for i := range rapid.IntRange(0, MaxPath).Draw(t, "nesting") {
			a.Path = append(a.Path, Composite{
				Activity: ActivityID(fmt.Sprintf("around%d", i)), Iterations: rapid.IntRange(1, 9).Draw(t, "iterations"), Elements: rapid.Bool().Draw(t, "bundle"),
			})
		}
		if rapid.Bool().Draw(t, "other") {
			*a = Activity{
				Name: a.Name, Behaviour: "other", Spec: rapid.SliceOf(rapid.Byte()).Draw(t, "spec"), Path: a.Path, Program: a.Program,
				Input: a.Input, Output: a.Output, InControl: a.InControl, OutControl: a.OutControl, InData: a.InData, OutData: a.OutData,
			}
			for i := range a.OutControl {
				a.OutControl[i].Condition = nil
			}
		}
	}
}

func mustEncode(t testing.TB, table *Table) []byte {
	t.Helper()
	b, err := Encode(table)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
