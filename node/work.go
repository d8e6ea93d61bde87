package node

import (
	"context"

	"fmqm/api"
	"fmqm/behaviour"
	"fmqm/message"
	"fmqm/node/command"
	"fmqm/node/report"
	"fmqm/node/thread"
	"fmqm/node/work"
	"fmqm/processtable"
	"fmqm/staff"
)

// What people do at this node (package work), and what that uses of the node.

var (
	_ api.Desk  = (*Node)(nil)
	_ work.Site = site{}
)

// Work gives a page of the worklist of who asks.
func (n *Node) Work(ctx context.Context, r api.WorkRequest) (api.WorkAnswer, error) {
	return told(n.desk.Work(ctx, r))
}

// WorkItem gives one item.
func (n *Node) WorkItem(ctx context.Context, item, as string) (api.WorkShown, error) {
	return told(n.desk.WorkItem(ctx, item, as))
}

// SayWork lets somebody claim an item, and what else is said about one.
func (n *Node) SayWork(ctx context.Context, item string, verb api.WorkVerb, w api.WorkWord) (api.WorkDone, error) {
	return told(n.desk.SayWork(ctx, item, verb, w))
}

// SayWork puts what somebody says about an item here.
func (s site) SayWork(ctx context.Context, o command.WorkOrder) (api.Word, error) {
	return s.commands.SayWork(ctx, o)
}

// SayWorkAt asks the home of an item that is offered here.
func (s site) SayWorkAt(ctx context.Context, home processtable.NodeID, o command.WorkOrder) (unknown bool, _ error) {
	return s.commands.SayWorkAt(ctx, home, o)
}

// NewWordID makes the identifier of what is said to another node.
func (s site) NewWordID() message.WordID { return s.commands.NewWordID() }

// Staff is who works here now.
func (s site) Staff() *staff.Staff { return s.Node.Staff() }

// Staffed says whether anybody does.
func (s site) Staffed() bool { return s.Node.Staff() != nil }

// Report says what this node knows of an instance.
func (s site) Report(q report.Question) (report.Report, error) { return s.answers.Report(q) }

// Inquire says whether people may have an item.
func (s site) Inquire(p behaviour.Process, e *thread.Inquire) thread.Found {
	return s.desk.Inquire(p, e)
}

// Show takes down how an item is.
func (s site) Show(p behaviour.Process, e *thread.Show) { s.desk.Show(p, e) }

// People names those who see a notice.
func (s site) People(p behaviour.Process, e message.Entry, i *behaviour.Item) string {
	return s.desk.People(p, e, i)
}

// WaitsFor says what an item waits for.
func (s site) WaitsFor(of processtable.ProcessID, e message.Entry) string {
	return s.desk.WaitsFor(of, e)
}
