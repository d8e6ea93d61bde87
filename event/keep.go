package event

import (
	"time"

	"fmqm/behaviour"
	"fmqm/message"
	"fmqm/processtable"
)

// Keep is an event as the queue of a node keeps it, of those that are sent there at now, and the timer that is
// to be set with it (E7). From is the node that is known to have sent it. What was there before, and is put
// back, stays as it was. It fails for what is no event.
func Keep(m message.Message, from processtable.NodeID, keep time.Duration, now time.Time) (message.Message, behaviour.Timer, error) {
	e, err := message.DecodeEvent(m.Body)
	if err != nil {
		return m, behaviour.Timer{}, err
	}
	if e.Until.IsZero() {
		if e.Keep > 0 {
			keep = e.Keep
		}
		e.Node, e.Since, e.Until, e.Arrival, e.Taker = from, now, now.Add(keep), message.Arrival{}, nil
		m.Body = message.EncodeEvent(e)
	}
	return m, behaviour.Timer{Name: string(m.Source), Due: e.Until, Pause: max(0, e.Until.Sub(now))}, nil
}
