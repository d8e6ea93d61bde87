package world

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/node"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// Which receive gets which event is for a run to say (N24). What may not be is judged here, at each commit: that an event
// vanishes, or is given to a receive while another one has waited for longer.

// queued is what lies where events of one name, shape and key meet the receives of a site.
type queued struct {
	entry message.Entry
	key   message.Key
}

// queue notes when an event, or a wait, came first: what is put back has its old place.
func (d *shadow) queue(q queued, op *store.Op) error {
	if _, known := d.queued[q]; known || q.key.Kind != message.KindEvent && q.key.Kind != message.KindWait {
		return nil
	}
	m, err := record.ReadMessage(op.Key, op.Value)
	d.queued[q] = m.Message.Arrival
	return err
}

// events holds a transaction to N24: an event goes from the queue into a receive, from there back or into its history, and
// out of the queue otherwise only where it was too old, had been taken before, or is dropped. What meets is what came
// first.
func (x *watch) events(s *site, d *shadow, t *transaction) {
	if x.lost[s.name] || d.filled {
		return
	}
	for e, keys := range t.removed {
		matched := false
		for _, k := range keys {
			if k.Kind != message.KindEvent {
				continue
			}
			given := t.puts(k, e.Activity != processtable.EventMeets)
			matched = matched || given
			if !given && !t.receives(k) && !d.lets(t, e, k) {
				x.world.breaks("3", "event %s of %s is taken out at %s, and goes nowhere", k.Source, shown(e), s.name)
			}
			if given && e.Activity == processtable.EventMeets {
				x.first(s, d, t, queued{e, k})
			}
		}
		if matched && e.Activity == processtable.EventMeets && !slices.ContainsFunc(keys, func(k message.Key) bool { return k.Kind == message.KindOver }) {
			for _, k := range keys {
				if k.Kind == message.KindWait {
					x.first(s, d, t, queued{e, k})
				}
			}
		}
	}
}

// signal is somebody outside who sends an event to an instance: one that a receive of it waits for, to the site of that.
func (w *World) signal(e Event) {
	c := w.clients[e.Instance]
	var waited []api.EventRequest
	for _, name := range slices.Sorted(maps.Keys(c.of.places)) {
		if r := c.of.places[name]; r.Receive != nil {
			for _, event := range r.Receive.Names() {
				waited = append(waited, api.EventRequest{Event: event, Key: c.id(), ID: fmt.Sprintf("%s %d", c.id(), e.Number), At: r.Node})
			}
		}
	}
	if len(waited) == 0 {
		return
	}
	r := waited[e.Number%len(waited)]
	passed := message.Event{Node: e.Site, ID: r.ID}
	w.watch.starts[uuid.UUID(message.PassageOf(passed.Token()))] = true // where the site notes that it has passed it on (S4)
	_ = w.answered(e.Site, "event "+r.ID, func(ctx context.Context, n *node.Node) (string, error) {
		answer, err := n.SendEvent(ctx, r)
		return otherThan(r.Event+r.Key+r.ID, answer.Event+answer.Key+answer.ID), err
	})
}

// puts: the transaction puts the event on, to a receive, or back to where events meet these.
func (t *transaction) puts(event message.Key, back bool) bool {
	for e, keys := range t.put {
		if (e.Activity == processtable.EventMeets) == back && slices.ContainsFunc(keys, func(k message.Key) bool { return k.Kind == event.Kind && k.Source == event.Source }) {
			return true
		}
	}
	return false
}

// receives: that the event was received is recorded.
func (t *transaction) receives(event message.Key) bool {
	return slices.ContainsFunc(t.records, func(r record.AuditRecord) bool {
		return r.Event == record.EventReceived && r.About.Token == event.Source
	})
}

// lets: the queue lets go of the event.
func (d *shadow) lets(t *transaction, e message.Entry, event message.Key) bool {
	of := func(kind message.Kind) message.Key { return message.Key{Kind: kind, Source: event.Source} }
	return e.Activity == processtable.EventMeets && (d.messages[e][of(message.KindPast)] || slices.Contains(t.removed[e], of(message.KindPast)) || slices.Contains(t.removed[e], of(message.KindOver)))
}

// first: of those that were there before the transaction, and still are, none came before what it takes.
func (x *watch) first(s *site, d *shadow, t *transaction, taken queued) {
	for k := range d.messages[taken.entry] {
		if k.Kind == taken.key.Kind && !slices.Contains(t.put[taken.entry], k) && d.queued[queued{taken.entry, k}].Compare(d.queued[taken]) < 0 {
			x.world.breaks("races", "%s %s is taken at %s, and %s came before it", k.Kind, taken.key.Source, s.name, k.Source)
		}
	}
}
