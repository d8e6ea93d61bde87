package node

import (
	"cmp"
	"context"
	"slices"

	"fmqm/api"
	"fmqm/message"
	"fmqm/node/events"
	"fmqm/processtable"
	"fmqm/queue/record"
)

var _ api.Postbox = (*Node)(nil)

// postbox is the node as its events see it.
type postbox struct{ site }

// loadEvents counts the events that the store has.
func (n *Node) loadEvents() (err error) {
	n.postbox, err = events.New(events.Options{Self: n.name, Site: postbox{site{n}}, Queue: n.queue, Scheduler: n.sched, Log: n.log})
	return err
}

// Tables are those of the processes that are here, by name and version.
func (p postbox) Tables() []*processtable.Table { return p.allTables() }

// EventsLimit is how many events may be kept.
func (p postbox) EventsLimit() int { return cmp.Or(p.limits.Load().Events, EventsLimit) }

// TakesEvents says whether events of a peer are taken here.
func (p postbox) TakesEvents(peer processtable.NodeID) bool {
	from := p.limits.Load().EventsOf
	return from == nil || slices.Contains(from, peer)
}

// FullTo says whether as many messages wait for a peer as may.
func (p postbox) FullTo(peer processtable.NodeID) bool { return p.pressure.over(peer) }

// SendEvent takes an event from outside, or passes it on.
func (n *Node) SendEvent(ctx context.Context, r api.EventRequest) (api.EventAnswer, error) {
	return told(n.postbox.Send(ctx, r, n.commands.By(ctx)))
}

// Events lists the events that the node keeps, or the receives that wait.
func (n *Node) Events(ctx context.Context, r api.EventsRequest) (api.EventsAnswer, error) {
	a, err := n.postbox.List(ctx, r)
	caller, seen := api.CallerOf(ctx), map[string]bool{}
	a.Events = slices.DeleteFunc(a.Events, func(k api.KeptEvent) bool {
		sees, known := seen[k.Event]
		if !known {
			sees = n.hasEvent(caller, api.RightViewer, k.Event)
			seen[k.Event] = sees
		}
		return !sees
	})
	return told(a, err)
}

// Event gives one by its identifier.
func (n *Node) Event(ctx context.Context, id string) (api.KeptEvent, error) {
	k, err := n.postbox.Show(ctx, id)
	if err == nil && !n.hasEvent(api.CallerOf(ctx), api.RightViewer, k.Event) {
		err = n.postbox.NotKept(id)
	}
	return told(k, err)
}

// DropEvent lets go of one that no receive has taken.
func (n *Node) DropEvent(ctx context.Context, id string) (api.KeptEvent, error) {
	if caller := api.CallerOf(ctx); !caller.MayAll(api.RightOperator) {
		k, err := n.Event(ctx, id)
		if err != nil {
			return k, err
		}
		if !n.hasEvent(caller, api.RightOperator, k.Event) {
			return api.KeptEvent{}, asAPI(api.PermitNode(ctx))
		}
	}
	return told(n.postbox.Drop(ctx, id))
}

// ProcessesOfEvent gives the processes here that receive or send an event of a name.
func (n *Node) ProcessesOfEvent(name string) []string {
	var all []string
	for _, t := range n.allTables() {
		if t.HasEvent(processtable.EventID(name)) {
			all = append(all, t.Process.String())
		}
	}
	return all
}

// hasEvent says whether a caller has a right over a process here that receives or sends an event of a name; of an event
// of which there is none, over all.
func (n *Node) hasEvent(caller api.Caller, r api.Right, name string) bool {
	return caller.MayAll(r) || slices.ContainsFunc(n.ProcessesOfEvent(name), func(process string) bool { return caller.May(r, process) })
}

// JudgeEvent says what becomes of an event that a peer has brought.
func (s site) JudgeEvent(peer processtable.NodeID, m message.Message) (*message.Message, record.Timer, string, error) {
	return s.postbox.Judge(peer, m)
}

// EventsFull says whether as many events are kept as may be.
func (p postbox) EventsFull() bool { return p.postbox.Full() }
