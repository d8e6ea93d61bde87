package execute

import (
	"fmt"

	"fmqm/event"
	"fmqm/message"
	"fmqm/queue/record"
)

// keepEvents lets the event queue of this node keep the events that a transaction puts there: since when, and
// until when, is noted with each, and its timer is set (N24).
func (t *Thread) keepEvents(tx *record.Tx) error {
	for i := range tx.Put {
		m := &tx.Put[i]
		if m.Kind != message.KindEvent || !m.OfEvents() || m.Queue.Node != t.of.Self {
			continue
		}
		kept, timer, err := event.Keep(*m, t.of.Self, t.of.Site.KeepEvents(), t.now)
		if err != nil {
			return fmt.Errorf("process thread of %s: keep an event: %w", t.ID(), err)
		}
		tx.Put[i] = kept
		tx.Timers = append(tx.Timers, record.Timer{
			Name: timer.Name, Due: timer.Due, Pause: timer.Pause, Process: m.Queue.Process, Entry: m.Entry(),
		})
	}
	return nil
}
