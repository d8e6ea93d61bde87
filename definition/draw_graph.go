package definition

import (
	"fmt"
	"slices"
	"strings"

	"fmqm/internal/text"
	"fmqm/processtable"
)

// What the pictures of a process have in common.

// controlInto counts the control connectors that lead to each activity.
func controlInto(g *Graph) map[string]int {
	into := map[string]int{}
	for _, k := range g.Control {
		into[k.Target]++
	}
	return into
}

// startOf is the start condition of an activity into which so many control connectors
// lead, as the language writes it; "" where there is nothing to be said.
func startOf(a *Activity, connectors int) string {
	switch a.Start.Kind {
	case StartAny:
		return "any"
	case StartAtLeast:
		return fmt.Sprintf("at_least %d of %d", a.Start.N, connectors)
	case StartFirst:
		return showFirst(a.Start.N, connectors)
	case StartExpression:
		return text.Line(a.Start.Text)
	case StartAll:
	}
	if connectors > 1 {
		return "all"
	}
	return ""
}

// activityLabel gives the name with the program, if that has another, and when it starts
// and ends.
func activityLabel(a *Activity, connectors int, separator string) string {
	label := a.Name
	if a.Block != nil {
		label = "block " + a.Name + " at node " + a.Node
	}
	if a.Program != "" && a.Program != a.Name {
		label += separator + a.Program
	}
	if a.Child != nil {
		label += separator + "process " + a.Child.String()
	}
	if start := startOf(a, connectors); start != "" {
		label += separator + "start: " + start
	}
	for _, more := range moreOf(a) {
		label += separator + more
	}
	return label
}

// moreOf says what ends an activity beside its program, what it ends, and how it chooses.
func moreOf(a *Activity) []string {
	var all []string
	if b := a.Bundle; b != nil {
		all = append(all, fmt.Sprintf("for each %s, ×%d parallel", forEach(b.Member), b.Parallel))
		if b.Until != nil {
			all = append(all, "ends when "+text.Line(b.Until.Checked.Text))
		}
		if b.Failed != nil {
			all = append(all, "failed: "+text.Line(b.Failed.Checked.Text))
		}
	}
	if c := a.Call; c != nil {
		all = append(all, fmt.Sprintf("at %s of %s", text.Line(c.Node.Checked.Text), fewNodes(c.Of)))
	}
	if a.Independent {
		all = append(all, "autonomy: independent")
	}
	if a.Exit != nil {
		all = append(all, "until "+text.Line(a.Exit.Checked.Text))
	}
	if a.Wait != nil {
		all = append(all, "wait "+text.Line(waitForm.written(a.Wait.inTable())))
	}
	if a.Receive != nil {
		all = append(all, "receive "+text.Line(receives(a.Receive.inTable())))
	}
	if a.Send != nil {
		all = append(all, "send "+text.Line(sends(a.Send.inTable())))
	}
	if a.Staff != nil {
		staff := "staff " + text.Line(a.Staff.Text)
		if len(a.OfferedAt) > 0 {
			staff += ", at " + fewNodes(a.OfferedAt)
		}
		all = append(all, staff)
	}
	if a.Priority != nil {
		all = append(all, "priority "+text.Line(writtenPriority(a.Priority.inTable())))
	}
	if a.Deadline != nil {
		all = append(all, "deadline "+text.Line(deadlineForm.written(a.Deadline.inTable())))
	}
	if len(a.Notify) > 0 {
		all = append(all, "notify "+text.Line(showNotices(noticesInTable(a.Notify))))
	}
	if a.Continues {
		all = append(all, "on error: continue")
	}
	if len(a.Cancels) > 0 {
		all = append(all, "cancels "+strings.Join(a.Cancels, ", "))
	}
	if a.FirstMatch {
		all = append(all, "choice: first_match")
	}
	return all
}

// steps gives the activities of a graph that are no blocks, and blocks those that are.
func steps(g *Graph) []*Activity {
	return slices.DeleteFunc(slices.Clone(g.Activities), func(a *Activity) bool { return a.Block != nil })
}

func blocks(g *Graph) []*Activity {
	return slices.DeleteFunc(slices.Clone(g.Activities), func(a *Activity) bool { return a.Block == nil })
}

// everyActivity gives those of a process, also inside of blocks.
func everyActivity(p *Process) []*Activity {
	var all []*Activity
	for _, a := range p.All() {
		all = append(all, a)
	}
	return all
}

func namesOf(activities []*Activity) []string {
	names := make([]string, len(activities))
	for i, a := range activities {
		names[i] = a.Name
	}
	return names
}

type host struct {
	node       string
	activities []*Activity
}

// hosts gives the nodes of activities with those that they host, in the order in which they come.
func hosts(activities []*Activity) []host {
	var all []host
	at := map[string]int{}
	for _, a := range activities {
		i, ok := at[a.Node]
		if !ok {
			i = len(all)
			at[a.Node] = i
			all = append(all, host{node: a.Node})
		}
		all[i].activities = append(all[i].activities, a)
	}
	return all
}

type edge struct {
	block              string // that it is inside of; empty: none
	from, to, label    string
	data               bool
	fromBlock, toBlock bool // an end of it is a block
}

// edges gives every connector of a block's graph, or of the process's, in file order: control, also
// those of source and sink, then data.
func edges(g *Graph, of string) []edge {
	follows, leads, block := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, k := range g.Control {
		leads[k.Source], follows[k.Target] = true, true
	}
	for _, a := range blocks(g) {
		block[a.Name] = true
	}
	var all []edge
	add := func(from, to, label string, data bool) {
		all = append(all, edge{of, from, to, label, data, block[from], block[to]})
	}
	for _, a := range g.Activities {
		if !follows[a.Name] {
			add(string(processtable.Source), a.Name, "", false)
		}
	}
	for _, k := range g.Control {
		label := ""
		if k.Condition != nil {
			label = text.Line(k.Condition.Checked.Text)
		}
		if k.Otherwise {
			label = otherwise
		}
		add(k.Source, k.Target, label, false)
	}
	for _, a := range g.Activities {
		if !leads[a.Name] {
			add(a.Name, string(processtable.Sink), "", false)
		}
	}
	for _, d := range g.Data {
		maps := make([]string, len(d.Mappings))
		for i, m := range d.Mappings {
			maps[i] = m.Target + ": " + m.Source
		}
		add(d.Source, d.Target, strings.Join(maps, ", "), true)
	}
	return all
}
