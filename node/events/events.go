package events

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"fmqm/container"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/record"
)

// Events are those of one node. Its methods are safe for concurrent use.
type Events struct {
	Options
	count atomic.Int64 // of those that are kept
	old   atomic.Int64 // that were set aside and not told of

	mu      sync.Mutex
	sending map[processtable.ActivityID]*task.Gate // what is being sent from outside, by its token
}

// Options make Events. All are to be set.
type Options struct {
	Self      processtable.NodeID
	Site      Site
	Queue     *queue.Manager
	Scheduler task.Scheduler
	Log       zerolog.Logger
}

// Site is the node whose events they are.
type Site interface {
	// Tables are those of the processes that are here, by name and version.
	Tables() []*processtable.Table
	// Commit submits a transaction, and waits for it, or for ctx.
	Commit(ctx context.Context, tx *record.Tx) error
	// KeepEvents is how long events are kept unless who sends one says so, EventsLimit how many may be.
	KeepEvents() time.Duration
	EventsLimit() int
	// TakesEvents says whether events of a peer are taken here.
	TakesEvents(peer processtable.NodeID) bool
	// Reaches says whether there is a link to a peer, or Meet would make one.
	Reaches(peer processtable.NodeID) bool
	// FullTo says whether as many messages wait for a peer as may.
	FullTo(peer processtable.NodeID) bool
	// CheckSize holds a container to the node's limit.
	CheckSize(*container.Struct) error
}

// browsed is how many entries are read at a time.
const browsed = 256

// New makes Events, and counts what is kept.
func New(o Options) (*Events, error) {
	e := &Events{Options: o, sending: map[processtable.ActivityID]*task.Gate{}}
	kept, err := o.Queue.Count(processtable.EventQueue, message.KindEvent)
	e.count.Add(int64(kept))
	return e, err
}

// each gives the entries of the event queue behind one, in their order, until visit says no or ctx ends.
func (e *Events) each(ctx context.Context, after message.Entry, visit func(message.Entry, []message.Message) bool) error {
	for more := true; more && ctx.Err() == nil; {
		var entries []record.EntryMessages
		var err error
		if entries, more, err = e.Queue.BrowseFrom(processtable.EventQueue, after, browsed); err != nil {
			return err
		}
		for i := range entries {
			if after = entries[i].Entry; !visit(after, entries[i].Messages) {
				return nil
			}
		}
	}
	return ctx.Err()
}

// Written counts what a transaction has put into the event queue, and taken out. It is on disk; the committer
// may call it.
func (e *Events) Written(tx *record.Tx) {
	change := 0
	e.tellOld(tx)
	for i := range tx.Put {
		if m := &tx.Put[i]; m.Kind == message.KindEvent && m.OfEvents() && m.Queue.Node == e.Self {
			change++
		}
	}
	for i := range tx.Consume {
		if tx.Consume[i].Process != processtable.EventQueue {
			continue
		}
		for _, k := range tx.Consume[i].Keys {
			if k.Kind == message.KindEvent {
				change--
			}
		}
	}
	if change != 0 {
		e.count.Add(int64(change))
	}
}

// oldTold is how often at most it is told how many events were set aside.
const oldTold = time.Second

// tellOld has it said in the log how many events nothing has received in time: they are set aside, and go by themselves.
func (e *Events) tellOld(tx *record.Tx) {
	for i := range tx.Put {
		m := &tx.Put[i]
		if m.Kind != message.KindPast || !m.OfEvents() {
			continue
		}
		p, err := message.DecodePast(m.Body)
		if err != nil || p.Taker != nil || e.old.Add(1) > 1 {
			continue
		}
		e.Scheduler.AfterFunc(oldTold, func() {
			e.Log.Warn().Int64("events", e.old.Swap(0)).Str("event", string(p.Event.Name)).Str("key", p.Event.Key).
				Msg("no process has received events in time: they are set aside, and removed after as long again")
		})
	}
}

// Kept is how many events wait here for a receive.
func (e *Events) Kept() int { return int(max(0, e.count.Load())) }

// Full says whether as many are kept as may be.
func (e *Events) Full() bool { return e.Kept() >= e.Site.EventsLimit() }

// structure is one that an event has, as a process here declares it.
type structure struct {
	*container.Type
	received bool // by that process; else it sends it
}

// structures are those of an event, those that are received here first, and of these the newest version's; each shape
// once.
func (e *Events) structures(name processtable.EventID) (all []structure) {
	add := func(t *container.Type, received bool) {
		if !slices.ContainsFunc(all, func(s structure) bool { return container.Misfit(s.Type, t) == "" }) {
			all = append(all, structure{t, received})
		}
	}
	tables := e.Site.Tables()
	for _, t := range slices.Backward(tables) {
		for _, r := range t.ReceivedHere() {
			if r.Name == name {
				add(r.Type, true)
			}
		}
	}
	for _, t := range slices.Backward(tables) {
		for _, a := range t.Activities {
			if a.Send != nil && a.Send.Event == name {
				add(a.Send.Type, false)
			}
		}
	}
	return all
}

// names are the events that processes here receive.
func (e *Events) names() (all []string) {
	for _, t := range e.Site.Tables() {
		for _, r := range t.ReceivedHere() {
			if !slices.Contains(all, string(r.Name)) {
				all = append(all, string(r.Name))
			}
		}
	}
	slices.Sort(all)
	return all
}
