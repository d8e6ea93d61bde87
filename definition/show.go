package definition

import (
	"fmt"
	"strings"

	"fmqm/condition"
	"fmqm/processtable"
)

// ShownTable is a process table for people: figure 5 of the paper, with what it
// leaves out for simplicity. Its JSON keys are API.
type ShownTable struct {
	Process    string           `json:"process"` // name@version
	Number     int              `json:"number"`  // of the process in this listing: the 0 of Q_A,0
	Node       string           `json:"node"`
	Queue      string           `json:"queue"`           // Q_A,0
	Bytes      int              `json:"bytes,omitempty"` // of the encoded table, without a signature; 0: not known
	Activities []ShownActivity  `json:"activities"`
	Structures []ShownStructure `json:"structures,omitempty"`
	Detours    []ShownDetour    `json:"detours,omitempty"`
	Resolvers  []ShownResolver  `json:"resolvers,omitempty"`
	Schedules  []string         `json:"schedules,omitempty"` // by which the node starts instances, as people write them

	Staff         string `json:"staff,omitempty"`         // who may start it, besides operators
	Administrator string `json:"administrator,omitempty"` // who is told when nobody may do an activity
	Priority      string `json:"priority,omitempty"`      // of activities without one of their own

	Search []string `json:"search,omitempty"` // members of the input that its instances are found by
}

// ShownDetour is an activity elsewhere whose connectors the node resolves on its host's
// behalf when it is on a dead path (N6).
type ShownDetour struct {
	Activity   string           `json:"activity"`
	Node       string           `json:"node"`
	OutControl []ShownConnector `json:"out_control"`
	OutData    []ShownConnector `json:"out_data"`
}

// ShownResolver is a node that may resolve connectors that lead here, on the behalf of
// the hosts of the activities that they come from (N6).
type ShownResolver struct {
	Node       string   `json:"node"`
	Activities []string `json:"activities"`
}

// ShownActivity is one row: an activity with its connectors.
type ShownActivity struct {
	Activity   string           `json:"activity"`
	Inside     []string         `json:"inside,omitempty"` // the blocks around it, outermost first
	Program    string           `json:"program,omitempty"`
	Child      string           `json:"subprocess,omitempty"` // name, or name@version, of which it begins an instance
	Autonomy   string           `json:"autonomy,omitempty"`   // independent
	Start      string           `json:"start"`
	InControl  []string         `json:"in_control"`
	OutControl []ShownConnector `json:"out_control"`
	InData     []ShownFilter    `json:"in_data"`
	OutData    []ShownConnector `json:"out_data"`
	Feedback   []string         `json:"feedback,omitempty"`
	Input      string           `json:"input,omitempty"`  // the name of a structure
	Output     string           `json:"output,omitempty"` // likewise
	Exit       string           `json:"exit,omitempty"`
	Choice     string           `json:"choice,omitempty"`   // first_match
	Wait       string           `json:"wait,omitempty"`     // for 2h, or until a time
	Deadline   string           `json:"deadline,omitempty"` // after 2h, or at a time
	Notify     string           `json:"notify,omitempty"`   // after 1h remind, every 30m; ...
	OnError    string           `json:"on_error,omitempty"` // continue
	Cancels    []string         `json:"cancels,omitempty"`
	Bundle     *ShownBundle     `json:"bundle,omitempty"`
	Call       *ShownCall       `json:"at,omitempty"`
	Role       string           `json:"begun,omitempty"`   // of a row that another of its name begins: each (of a bundle), work (of a call), or offer (of a manual one)
	Receive    string           `json:"receive,omitempty"` // what it waits for: "paid or called_off, key order"
	Send       string           `json:"send,omitempty"`    // what it sends: "paid, key order, to office"
	Staff      string           `json:"staff,omitempty"`   // who may do it
	Title      string           `json:"title,omitempty"`   // that they see
	OfferedAt  []string         `json:"offered_at,omitempty"`
	Priority   string           `json:"priority,omitempty"`  // 0 to 9, or an expression
	AtOrigin   bool             `json:"at_origin,omitempty"` // of the instances that were started here only
}

// ShownConnector is an outgoing connector: "t4, Q_D,0, CONDITION" in the paper.
type ShownConnector struct {
	To        string `json:"to"`
	Queue     string `json:"queue"`
	Condition string `json:"condition,omitempty"`
}

// ShownFilter is an incoming data connector: "t1, FILTER" in the paper.
type ShownFilter struct {
	From   string   `json:"from"`
	Filter []string `json:"filter"` // member, or target: source
}

// Shown are process tables as figure 5 draws them. Processes are numbered in the order in
// which they come. Its zero value is empty.
type Shown struct {
	Tables  []ShownTable
	numbers map[processtable.ProcessID]int
}

// Add adds a table. It keeps nothing of it but what is shown.
func (s *Shown) Add(t *processtable.Table) {
	if s.numbers == nil {
		s.numbers = map[processtable.ProcessID]int{}
	}
	n, ok := s.numbers[t.Process]
	if !ok {
		n = len(s.numbers)
		s.numbers[t.Process] = n
	}
	shown := ShownTable{Process: t.Process.String(), Number: n, Node: string(t.Node), Queue: queueLabel(t.Node, n)}
	for _, a := range t.Activities {
		row := showActivity(a, n)
		home, _ := t.NodeOf(a.Row())
		row.AtOrigin = home == processtable.Origin && !a.Added()
		shown.Activities = append(shown.Activities, row)
	}
	shown.Structures = showStructures(t)
	shown.Detours, shown.Resolvers = showDetours(t, n), showResolvers(t)
	for i := range t.Schedules {
		shown.Schedules = append(shown.Schedules, t.Schedules[i].String())
	}
	shown.Staff, shown.Administrator, shown.Priority = whoShown(t.Starters), whoShown(t.Administrator), writtenPriority(t.Priority)
	shown.Search = t.Search
	s.Tables = append(s.Tables, shown)
}

// queueLabel gives the paper's short name of a process queue.
func queueLabel(n processtable.NodeID, process int) string {
	name := string(n)
	if n == processtable.Origin {
		name = "origin"
	}
	return fmt.Sprintf("Q_%s,%d", name, process)
}

func showActivity(a *processtable.Activity, process int) ShownActivity {
	s := ShownActivity{
		Activity:   string(a.Name),
		Program:    string(a.Program),
		Start:      showStart(a),
		InControl:  []string{},
		OutControl: []ShownConnector{},
		InData:     []ShownFilter{},
		OutData:    []ShownConnector{},
		Input:      a.Input.Name,
		Output:     a.Output.Name,
	}
	s.Inside, s.Role = around(a), roleOf(a)
	if s.Role != "" {
		s.Start = "begun"
	}
	s.Bundle, s.Call = showBundle(a.Bundle), showCall(a.Call)
	for _, c := range a.InControl {
		s.InControl = append(s.InControl, string(c.From))
	}
	for _, c := range a.OutControl {
		o := ShownConnector{To: string(c.To), Queue: queueLabel(c.Node, process)}
		if c.Condition != nil {
			o.Condition = c.Condition.Text
		}
		if c.Otherwise {
			o.Condition = "otherwise"
		}
		s.OutControl = append(s.OutControl, o)
	}
	for _, d := range a.InData {
		s.InData = append(s.InData, ShownFilter{From: string(d.From), Filter: showMappings(d.Mappings)})
	}
	for _, d := range a.OutData {
		s.OutData = append(s.OutData, ShownConnector{To: string(d.To), Queue: queueLabel(d.Node, process)})
	}
	if len(a.Feedback) > 0 {
		s.Feedback = showMappings(a.Feedback)
	}
	if a.Exit != nil {
		s.Exit = a.Exit.Text
	}
	if a.Child != nil {
		s.Child = a.Child.String()
	}
	if a.Independent {
		s.Autonomy = "independent"
	}
	if a.Wait != nil {
		s.Wait = waitForm.written(a.Wait)
	}
	if a.Deadline != nil {
		s.Deadline = deadlineForm.written(a.Deadline)
	}
	if a.Receive != nil {
		s.Receive = receives(a.Receive)
	}
	if a.Send != nil {
		s.Send = sends(a.Send)
	}
	s.Notify = showNotices(a.Notify)
	if a.Continues {
		s.OnError = "continue"
	}
	for _, p := range a.Cancels {
		s.Cancels = append(s.Cancels, string(p.Activity))
	}
	if a.Manual != nil {
		s.Staff, s.Title = whoWritten(a.Manual.Staff), writtenTitle(a.Manual.Title, a.Input)
		for _, node := range a.Manual.Offered {
			s.OfferedAt = append(s.OfferedAt, string(node))
		}
	}
	s.Priority = writtenPriority(a.Priority)
	if a.FirstMatch {
		s.Choice = "first_match"
	}
	return s
}

func showDetours(t *processtable.Table, process int) []ShownDetour {
	connectors := func(from processtable.RowID, targets []processtable.ActivityID) []ShownConnector {
		out := []ShownConnector{}
		for _, to := range targets {
			node, _ := t.NodeOf(processtable.RowID{Name: to, Inside: from.Inside})
			out = append(out, ShownConnector{To: string(to), Queue: queueLabel(node, process)})
		}
		return out
	}
	var all []ShownDetour
	for _, d := range t.Detours {
		of, _ := t.Of(d.Activity)
		node, _ := t.NodeOf(of)
		all = append(all, ShownDetour{
			Activity: string(d.Activity), Node: string(node),
			OutControl: connectors(of, d.OutControl), OutData: connectors(of, d.OutData),
		})
	}
	return all
}

func showResolvers(t *processtable.Table) []ShownResolver {
	var all []ShownResolver
	for _, r := range t.Resolvers {
		s := ShownResolver{Node: r.Node.Word()}
		for _, a := range r.Activities {
			s.Activities = append(s.Activities, string(a))
		}
		all = append(all, s)
	}
	return all
}

func showMappings(ms []processtable.Mapping) []string {
	all := make([]string, len(ms))
	for i, m := range ms {
		all[i] = m.Target + ": " + m.Source
		if m.Target == m.Source {
			all[i] = m.Target
		}
	}
	return all
}

// showStart writes a start condition as the language does.
func showStart(a *processtable.Activity) string {
	if a.Kind == processtable.KindSource {
		return "at the start"
	}
	if a.Kind == processtable.KindSink {
		return "at the end"
	}
	if a.First > 0 {
		return showFirst(a.First, 0)
	}
	if overAll(a.Start, len(a.InControl)) {
		switch a.Start.Op {
		case condition.LogicAnd:
			return "all"
		case condition.LogicOr:
			return "any"
		case condition.LogicAtLeast:
			return fmt.Sprintf("at_least %d", a.Start.N)
		case condition.LogicVar, condition.LogicNot, condition.LogicRan, condition.LogicSkipped, condition.LogicFailed:
		}
	}
	return showLogic(a.Start, a.InControl, false)
}

// showFirst writes a start with the first k connectors, of so many; 0: of how many is seen otherwise.
func showFirst(k, connectors int) string {
	switch {
	case k == 1:
		return startFirst
	case connectors == 0:
		return fmt.Sprintf("first %d", k)
	}
	return fmt.Sprintf("first %d of %d", k, connectors)
}

// overAll says whether the arguments of l are just the n connectors, in their order.
func overAll(l condition.Logic, n int) bool {
	if len(l.Args) != n {
		return false
	}
	for i, arg := range l.Args {
		if arg.Op != condition.LogicVar || arg.Var != i {
			return false
		}
	}
	return true
}

func showLogic(l condition.Logic, in []processtable.InControl, inside bool) string {
	joined := func(by string) string {
		parts := make([]string, len(l.Args))
		for i, arg := range l.Args {
			parts[i] = showLogic(arg, in, true)
		}
		s := strings.Join(parts, by)
		if inside && len(parts) > 1 {
			return "(" + s + ")"
		}
		return s
	}
	switch l.Op {
	case condition.LogicVar:
		return string(in[l.Var].From)
	case condition.LogicNot:
		return "!" + showLogic(l.Args[0], in, true)
	case condition.LogicAnd:
		if len(l.Args) == 0 {
			return "true"
		}
		return joined(" && ")
	case condition.LogicOr:
		if len(l.Args) == 0 {
			return "false"
		}
		return joined(" || ")
	case condition.LogicAtLeast:
		return fmt.Sprintf("at_least %d of (%s)", l.N, joined(", "))
	case condition.LogicRan:
		return "ran(" + string(in[l.Var].From) + ")"
	case condition.LogicSkipped:
		return "skipped(" + string(in[l.Var].From) + ")"
	case condition.LogicFailed:
		return "failed(" + string(in[l.Var].From) + ")"
	}
	return ""
}
