package answer

import (
	"context"
	"time"

	"fmqm/api"
	"fmqm/message"
	"fmqm/node/report"
	"fmqm/processtable"
)

// Status gathers from all nodes of the process (invariant 1: no central database).
func (a *Answers) Status(ctx context.Context, id message.InstanceID) (api.Status, error) {
	g, err := a.Gather(ctx, id, "")
	if err != nil {
		return api.Status{}, err
	}
	return g.Status(), nil
}

// Started is the status of an instance that was started here just now, as this node knows it:
// no other is asked.
func (a *Answers) Started(id message.InstanceID, process processtable.ProcessID) (api.Status, error) {
	own, err := a.Report(report.Question{Instance: id, Process: process.String()})
	if err != nil {
		return api.Status{}, err
	}
	g := report.NewGathered(a.Self, id)
	g.Add(string(a.Self), own)
	s, heard := g.Status(), g.Heard()
	for i := range s.Activities {
		if at := &s.Activities[i]; at.State == api.ActivityUnknown && heard[api.InScope(at.Scope, at.Activity)] == "" {
			at.State = api.ActivityInactive // its node was not asked
		}
	}
	return s, nil
}

// History gathers what all nodes have recorded.
func (a *Answers) History(ctx context.Context, id message.InstanceID) (api.HistoryAnswer, error) {
	g, err := a.GatherNews(ctx, id, nil)
	if err != nil {
		return api.HistoryAnswer{}, err
	}
	return g.History(), nil
}

// Why says what each waiting activity waits for; of the instance of a process, if one is named.
func (a *Answers) Why(ctx context.Context, id message.InstanceID, process string) (api.WhyAnswer, error) {
	g, err := a.Gather(ctx, id, process)
	if err != nil {
		return api.WhyAnswer{}, err
	}
	return g.Why(func(node string) (bool, time.Time) { return a.heard(g, node) }), nil
}

// heard reports whether a node answered just now, and when it was last heard.
func (a *Answers) heard(g *report.Gathered, node string) (bool, time.Time) {
	if node == string(a.Self) {
		return true, a.Scheduler.Now()
	}
	_, answered := g.Reports[node]
	return answered, a.lastHeard(processtable.NodeID(node))
}
