package node

import (
	"cmp"
	"context"
	"slices"

	"fmqm/api"
	"fmqm/processtable"
	"fmqm/queue"
)

// History gathers what all nodes have recorded.
func (n *Node) History(ctx context.Context, id api.InstanceID) (api.HistoryAnswer, error) {
	g, err := n.gather(ctx, id, true)
	if err != nil {
		return api.HistoryAnswer{}, err
	}
	return g.history(), nil
}

func (g *gathered) history() api.HistoryAnswer {
	a := api.HistoryAnswer{Events: []api.HistoryEvent{}, Unreachable: g.unreachable, Removed: g.removed(), Clocks: g.clocks(), More: g.more()}
	if a.Unreachable == nil {
		a.Unreachable = []api.Unreachable{}
	}
	for _, r := range g.reports {
		a.Events = append(a.Events, r.Events...)
	}
	slices.SortStableFunc(a.Events, compareEvents)
	return a
}

// compareEvents orders history: by the logical clock, then, at one moment of it, what leads
// to something before what it leads to, whatever the clocks of nodes say (invariant 14).
func compareEvents(x, y api.HistoryEvent) int {
	return cmp.Or(cmp.Compare(x.Clock, y.Clock), cmp.Compare(rank(x.Event), rank(y.Event)),
		x.Time.Compare(y.Time), cmp.Compare(x.Node, y.Node), cmp.Compare(x.Activity, y.Activity))
}

// rank is where an event stands among those of one activity at one moment of the clock: an
// operator's hand comes before what follows from it, an end after all else.
func rank(e api.Event) int {
	switch e {
	case api.EventStarted:
		return 0
	case api.EventRetried, api.EventDropped:
		return 1
	case api.EventIterated, api.EventFailed, api.EventInError, api.EventPassed:
		return 2
	case api.EventTerminated, api.EventSkipped, api.EventStopped:
		return 3
	case api.EventEnded:
	}
	return 4
}

// eventsOf gives what the node has recorded of an instance.
func (n *Node) eventsOf(v *queue.InstanceView) []api.HistoryEvent {
	all := make([]api.HistoryEvent, 0, len(v.Ends)+len(v.Events))
	for i := range v.Ends {
		all = append(all, eventFrom(n.name, v.Ends[i]))
	}
	size := 0
	for _, r := range slices.Backward(v.Events) {
		e := eventFrom(n.name, r)
		if size += len(r.Stderr); size <= saidInAll {
			e.Stderr = r.Stderr
		}
		all = append(all, e)
	}
	return all
}

var apiEvent = map[queue.Event]api.Event{
	queue.EventStarted:    api.EventStarted,
	queue.EventEnded:      api.EventEnded,
	queue.EventTerminated: api.EventTerminated,
	queue.EventSkipped:    api.EventSkipped,
	queue.EventStopped:    api.EventStopped,
	queue.EventIterated:   api.EventIterated,
	queue.EventFailed:     api.EventFailed,
	queue.EventInError:    api.EventInError,
	queue.EventRetried:    api.EventRetried,
	queue.EventPassed:     api.EventPassed,
	queue.EventDropped:    api.EventDropped,
}

func eventFrom(node processtable.NodeID, r queue.AuditRecord) api.HistoryEvent {
	e := api.HistoryEvent{
		Clock: r.Clock, Time: r.Time, Node: string(node), Activity: string(r.Activity), Event: apiEvent[r.Event],
		Iteration: r.Iteration, Attempt: r.Attempt, Reason: r.Reason, By: r.By,
	}
	switch r.Event {
	case queue.EventFailed, queue.EventInError:
		if r.RC != 0 { // else most had none: a program that was killed, or could not be started
			e.RC = &r.RC
		}
	case queue.EventTerminated, queue.EventIterated:
		e.RC = &r.RC
	case queue.EventStarted:
		if r.Reason != "" {
			e.Reason = "key " + r.Reason
		}
	case queue.EventEnded, queue.EventSkipped, queue.EventStopped, queue.EventRetried, queue.EventPassed, queue.EventDropped:
	}
	return e
}
