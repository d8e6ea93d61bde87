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
	return told(n.postbox.List(ctx, r))
}

// Event gives one by its identifier.
func (n *Node) Event(ctx context.Context, id string) (api.KeptEvent, error) {
	return told(n.postbox.Show(ctx, id))
}

// DropEvent lets go of one that no receive has taken.
func (n *Node) DropEvent(ctx context.Context, id string) (api.KeptEvent, error) {
	return told(n.postbox.Drop(ctx, id))
}

// JudgeEvent says what becomes of an event that a peer has brought.
func (s site) JudgeEvent(peer processtable.NodeID, m message.Message) (*message.Message, record.Timer, string, error) {
	return s.postbox.Judge(peer, m)
}

// EventsFull says whether as many events are kept as may be.
func (p postbox) EventsFull() bool { return p.postbox.Full() }
