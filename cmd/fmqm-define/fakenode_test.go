package main

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"fmqm/api"
	"fmqm/api/apitest"
	"fmqm/processtable"
)

// fakeNode answers uploads and lists as node A does, without anything behind it.
type fakeNode struct {
	mu     sync.Mutex
	tables map[string]api.Table // by PROCESS@VERSION.NODE
	texts  map[string]string    // by PROCESS@VERSION
}

// heard says of each node that A has a link to whether it answers.
var heard = map[string]bool{"A": true, "B": true, "C": true, "D": false}

// keeper is a fake node that also keeps texts.
type keeper struct {
	*apitest.Backend
	node *fakeNode
}

func newFakeNode() api.Backend {
	n := &fakeNode{tables: map[string]api.Table{}, texts: map[string]string{}}
	return keeper{&apitest.Backend{OnUpload: n.upload, OnDefinitions: n.definitions}, n}
}

func (k keeper) DefinitionOf(_ context.Context, process, at string) (a api.DefinitionAnswer, err error) {
	n := k.node
	n.mu.Lock()
	defer n.mu.Unlock()
	highest := 0
	for key := range n.tables {
		id, _ := processtable.ParseProcessID(key[:strings.LastIndex(key, ".")])
		if id.Name == process && id.Version > highest {
			highest, a.Process = id.Version, id.String()
		}
	}
	if highest == 0 {
		a.Process = process
	}
	text, is := n.texts[a.Process]
	if a.Text = text; !is || at == "C" {
		return a, api.Errorf(api.CodeNotFound, "upload its file again", "no site of %s that was asked keeps the text of its definition", process)
	}
	a.Node, a.Definition = "A", n.tables[a.Process+".A"].Definition
	return a, nil
}

func (n *fakeNode) upload(_ context.Context, r api.UploadRequest) (api.UploadAnswer, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	answer := api.UploadAnswer{Nodes: []api.UploadNode{}, Warnings: []string{}, KeepsTexts: true}
	for _, t := range r.Tables {
		if _, err := processtable.Decode(t.Table); err != nil {
			return answer, api.Errorf(api.CodeRefused, "compile it again", "table for %s: %v", t.Node, err)
		}
		answer.Nodes = append(answer.Nodes, n.plan(t, r.AllowNewNode))
		if t.Node == "B" {
			answer.Warnings = append(answer.Warnings, "program check-credit is not registered at B")
		}
	}
	if r.PlanOnly {
		return answer, nil
	}
	for _, d := range r.Definitions {
		n.texts[d.Process] = d.Text
	}
	refuses := slices.ContainsFunc(answer.Nodes, func(l api.UploadNode) bool { return l.Plan == api.PlanRefuse })
	for i := range answer.Nodes {
		n.do(&answer.Nodes[i], r.Tables[i], refuses)
	}
	return answer, nil
}

func (n *fakeNode) plan(t api.Table, allowNew bool) api.UploadNode {
	line := api.UploadNode{Node: t.Node, Process: t.Process, Plan: api.PlanAdd}
	answers, linked := heard[t.Node]
	table, err := processtable.Decode(t.Table)
	has, ok := n.tables[t.Process+"."+t.Node]
	switch {
	case t.Node == "B" && strings.HasPrefix(t.Process, "guarded@") && (err != nil || table.Definer == nil):
		line.Plan, line.Reason = api.PlanRefuse, t.Process+" is not signed"
	case !linked && !allowNew:
		line.Plan, line.Reason = api.PlanRefuse, "nobody has a link to "+t.Node
	case !answers:
		line.Plan, line.Reason = api.PlanUnknown, "it is unreachable"
	case ok && has.Definition == t.Definition:
		line.Plan = api.PlanUnchanged
	case ok:
		line.Plan, line.Reason = api.PlanRefuse, t.Process+" has other content there: raise the version"
	}
	return line
}

func (n *fakeNode) do(l *api.UploadNode, t api.Table, refuses bool) {
	switch {
	case l.Plan == api.PlanUnchanged:
		l.Result = api.ResultUnchanged
	case refuses:
		l.Result = api.ResultRefused
	case l.Plan == api.PlanUnknown:
		l.Result = api.ResultQueued
	default:
		l.Result = api.ResultStored
		n.tables[t.Process+"."+t.Node] = t
	}
}

func (n *fakeNode) definitions(context.Context) (api.DefinitionsAnswer, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	answer := api.DefinitionsAnswer{Definitions: []api.Definition{}}
	for _, t := range n.tables {
		table, err := processtable.Decode(t.Table)
		if err != nil {
			return answer, err
		}
		if table.Node != "A" {
			continue
		}
		d := api.Definition{
			Process: string(table.Process.Name), Version: int(table.Process.Version), Definition: t.Definition, Node: "A",
			Starts: []string{"A"}, Activities: []api.Place{},
		}
		if table.Definer != nil {
			d.Definer = processtable.DefinerText(table.Definer)
			d.Network, d.Expires = table.Terms.Network, table.Terms.NotAfter
		}
		for _, p := range table.Roster {
			d.Activities = append(d.Activities, api.Place{Activity: string(p.Activity), Node: string(p.Node)})
		}
		answer.Definitions = append(answer.Definitions, d)
	}
	slices.SortFunc(answer.Definitions, func(a, b api.Definition) int {
		return cmp.Or(cmp.Compare(a.Process, b.Process), cmp.Compare(a.Version, b.Version))
	})
	return answer, nil
}
