package admission

import (
	"context"
	"errors"
	"fmt"

	"fmqm/behaviour"
	"fmqm/message"
	"fmqm/queue"
	"fmqm/queue/record"
)

// unparkLimit is how many messages that waited for a table are judged in one transaction.
const unparkLimit = 256

// Unpark judges what has waited for a process's table, each message as from the peer that
// brought it, beside the work that the table lets begin (N3). It returns when nothing waits, or
// ctx ends or the queue stops: then the next start goes on.
func (a *Admission) Unpark(ctx context.Context, p behaviour.Process) error {
	for ctx.Err() == nil {
		more, err := a.unparkSome(ctx, p)
		switch {
		case ctx.Err() != nil, errors.Is(err, queue.ErrStopped):
			return nil
		case err != nil || !more:
			return err
		}
	}
	return nil
}

// unparkSome judges some of what waits, and says whether there may be more.
func (a *Admission) unparkSome(ctx context.Context, p behaviour.Process) (more bool, err error) {
	if err := a.Queue.WaitCapacity(ctx); err != nil {
		return false, err
	}
	found, err := a.Queue.ParkedFor(p.Table().Process, unparkLimit)
	if err != nil || len(found) == 0 {
		return false, err
	}
	t := a.begin(&record.Tx{Unpark: found})
	defer t.end()
	for i := range found {
		var other *underWay
		switch err := t.parked(p, &found[i]); {
		case errors.As(err, &other):
			_, _ = a.Scheduler.Wait(context.Background(), other.ended)
			return true, nil // it is judged again
		case err != nil:
			return false, err
		}
	}
	if err := a.Site.Commit(context.Background(), t.tx); err != nil { // it ends with the queue at the latest
		return false, err
	}
	a.Site.Taken(t.tx)
	return true, nil
}

// parked puts a message that waited into the queue of its process, or sets it aside.
func (t *taking) parked(p behaviour.Process, w *record.Parked) error {
	m, reason, err := t.waited(p, w)
	switch {
	case err != nil:
		return err
	case reason != "":
		t.setAside(w.Peer, w.Message, reason)
		return nil
	}
	_, err = t.take(m, w.Message)
	return err
}

// waited reads a message that waited for its table, and says why it is not taken, or nothing.
func (t *taking) waited(p behaviour.Process, w *record.Parked) (m message.Message, reason string, err error) {
	m, err = message.Decode(w.Message)
	if err != nil {
		return m, fmt.Sprintf("it cannot be read: %v", err), nil
	}
	m.From = w.Peer
	if reason = impossible(t.Self, m.Lane, &m.Header); reason != "" {
		return m, reason, nil
	}
	if w.Peer == "" {
		return m, unproved(p, &m), nil
	}
	reason, err = t.refuses(w.Peer, p, &m)
	return m, reason, err
}

// unproved says why a message is not taken of which nobody knows who brought it: an older
// version of this program has let it wait. An operator decides.
func unproved(p behaviour.Process, m *message.Message) string {
	if !p.Table().MayStart(m.Origin) {
		if reason := p.Refuses("", &m.Header); reason != "" {
			return reason
		}
	}
	return "it waited for its table, and an older version of this program did not note who sent it: look at it, and retry it if it may come from the site of " + string(m.Source)
}
