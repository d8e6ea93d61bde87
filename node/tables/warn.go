package tables

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"fmqm/api"
	"fmqm/message"
	"fmqm/node/question"
	"fmqm/processtable"
)

// warn names programs that a node has not registered, what it would offer to nobody, processes that it would begin and has
// not, and pairs of nodes that a connector joins, or work that is done elsewhere, or an event, and no link does.
func (u *upload) warn(ctx context.Context) {
	here := u.here
	var ask []processtable.NodeID
	var q NodeQuestion
	for _, t := range u.tables {
		for _, child := range u.childrenOf(t) {
			if !slices.Contains(q.Children, child) {
				q.Children = append(q.Children, child)
			}
		}
		if t.Node != here.Self && here.linked(t.Node) && !slices.Contains(ask, t.Node) {
			ask = append(ask, t.Node)
		}
	}
	known := map[processtable.NodeID]NodeReport{here.Self: here.ReportNode(q)}
	for _, r := range question.All[NodeReport](ctx, here.Scheduler, here.Site, ask, AskNode, q) {
		if r.Err == nil {
			known[r.Node] = r.Answer
		}
	}
	for i, t := range u.tables {
		u.warnUnread(i)
		report, ok := known[t.Node]
		if !ok {
			continue
		}
		for _, program := range unregistered(t, report) {
			u.answer.Warnings = append(u.answer.Warnings, fmt.Sprintf(
				"%s: program %s is not registered at %s: add it to `programs` there, or its activities go in error", t.Process, program, t.Node))
		}
		if manual := offered(t); len(manual) > 0 && !report.Staff {
			u.answer.Warnings = append(u.answer.Warnings, fmt.Sprintf(
				"%s: %s has no staff: give `staff: {file: FILE}` in its configuration, or nobody there can do %s", t.Process, t.Node, strings.Join(manual, ", ")))
		}
		if of := noticed(t); len(of) > 0 && !report.Staff {
			u.answer.Warnings = append(u.answer.Warnings, fmt.Sprintf(
				"%s: %s has no staff: give `staff: {file: FILE}` in its configuration, or nobody there sees the notices of %s", t.Process, t.Node, strings.Join(of, ", ")))
		}
		u.warnChildren(t, report)
		for _, peer := range unlinked(t, report) {
			if report.Broker && known[processtable.NodeID(peer)].Broker {
				continue
			}
			leads := "an event goes"
			if node := processtable.NodeID(peer); slices.Contains(connected(t), node) {
				leads = "a connector leads"
			} else if slices.Contains(called(t), node) {
				leads = "work of `at` goes"
			}
			u.answer.Warnings = append(u.answer.Warnings, fmt.Sprintf(
				"%s: %s from %s to %s, and %s has no link to %s: its messages wait until one is configured", t.Process, leads, t.Node, peer, t.Node, peer))
		}
	}
}

// warnUnread names a node that cannot read its table yet, by what it has said last (N17). One that has answered
// has said what it reads just now: what is on disk of it may be older, where the two have only met. Of one that was
// never heard nothing is known.
func (u *upload) warnUnread(i int) {
	t := u.tables[i]
	to := u.here.Queue.Transmission(t.Node)
	if u.answer.Nodes[i].Plan != api.PlanUnknown {
		return
	}
	if s, _ := u.here.Site.LinkTo(t.Node); s.LastHeard.IsZero() && to.Reads() == message.Before() {
		return
	}
	needs := message.Needs{Format: 1, Kind: message.KindTable, Body: 1, Table: uint8(min(processtable.ReaderOf(u.request.Tables[i].Table), 255))}
	if lacks := to.Lacks(needs); lacks != "" {
		u.answer.Warnings = append(u.answer.Warnings, fmt.Sprintf(
			"%s: %s cannot read its table yet: it lacks %s: the table waits until %s is upgraded%s", t.Process, t.Node, lacks, t.Node, otherwise[int(needs.Table)]))
	}
}

// otherwise is how a table that needs a reader of a format can be sent in an older one.
var otherwise = map[int]string{
	processtable.FlowMarkFormat: ", or upload it in an older format (--table-format)",
	processtable.EnvelopeFormat: ", or upload it without --network",
}

func unregistered(t *processtable.Table, r NodeReport) []string {
	var out []string
	for _, a := range t.Activities {
		for _, program := range a.Programs() {
			if name := string(program); !slices.Contains(r.Programs, name) && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// offered names what people are to do at the table's node.
func offered(t *processtable.Table) (manual []string) {
	for _, a := range t.Activities {
		here := a.Manual != nil && (len(a.Manual.Offered) == 0 || slices.Contains(a.Manual.Offered, t.Node))
		if here && !slices.Contains(manual, string(a.Name)) {
			manual = append(manual, string(a.Name))
		}
	}
	return manual
}

// noticed are the activities at a table's node whose notices people are shown, and, for those of the process, its name.
func noticed(t *processtable.Table) (of []string) {
	for _, a := range t.Activities {
		name := string(a.Name)
		if a.Kind == processtable.KindSink {
			name = t.Process.Name
		}
		if slices.ContainsFunc(a.Notify, func(n processtable.Notice) bool { return n.ForPeople() }) && !slices.Contains(of, name) {
			of = append(of, name)
		}
	}
	return of
}

// unlinked gives the nodes that connectors of t lead to, or work that is done elsewhere goes to or comes from, or events
// go to, and that its node has no link to.
func unlinked(t *processtable.Table, r NodeReport) []string {
	var out []string
	known := map[string]bool{string(t.Node): true}
	for _, peer := range r.Peers {
		known[peer] = true
	}
	for _, node := range slices.Concat(connected(t), called(t), told(t)) {
		if name := string(node); !known[name] {
			known[name] = true
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// connected gives the nodes that connectors of t lead to. Those from elsewhere to the origin may lead to any node
// where an instance may start.
func connected(t *processtable.Table) []processtable.NodeID {
	var out []processtable.NodeID
	for _, a := range t.Activities {
		home, _ := t.NodeOf(a.Row())
		for _, node := range a.TargetNodes() {
			out = append(out, nodesOf(t, home, node)...)
		}
	}
	return out
}

// nodesOf gives the nodes that a place may be, seen from another one of the same instance: what is at the origin meets
// the rest that is there at one node.
func nodesOf(t *processtable.Table, from, to processtable.NodeID) []processtable.NodeID {
	switch {
	case to != processtable.Origin:
		return []processtable.NodeID{to}
	case from == processtable.Origin:
		return nil
	}
	return t.Starts
}

// called gives the nodes to which calls send what is to be done, and those of calls of which it is done here (N20).
func called(t *processtable.Table) []processtable.NodeID {
	var out []processtable.NodeID
	for _, a := range t.Activities {
		switch {
		case a.Call != nil:
			out = append(out, a.Call.Of...)
		case a.Manual != nil && !a.Begun():
			home, _ := t.NodeOf(a.Row())
			out = append(out, a.Manual.Elsewhere(home)...)
		case a.Begun():
			if row, known := t.Of(a.Name); known {
				home, _ := t.NodeOf(row)
				out = append(out, nodesOf(t, t.Node, home)...)
			}
		}
	}
	return out
}

// told gives the nodes to which activities send events (N24).
func told(t *processtable.Table) []processtable.NodeID {
	var out []processtable.NodeID
	for _, a := range t.Activities {
		if a.Send != nil {
			out = append(out, a.Send.Targets()...)
		}
	}
	return out
}
