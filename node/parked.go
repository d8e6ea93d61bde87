package node

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"fmqm/behaviour"
	"fmqm/internal/text"
	"fmqm/link"
	"fmqm/message"
	"fmqm/queue"
)

// unparkLimit is how many messages that waited for a table are judged in one transaction.
const unparkLimit = 256

// unpark judges what has waited for a process's table, each message as from the peer that
// brought it, beside the work that the table lets begin (N3). It ends when nothing waits, or
// the node stops: then the next start goes on.
func (n *Node) unpark(p behaviour.Process) {
	for n.running.Err() == nil {
		err := n.unparkSome(p)
		switch {
		case errors.Is(err, errNoneParked), errors.Is(err, queue.ErrStopped), n.running.Err() != nil:
			return
		case err != nil:
			n.fatal(err)
			return
		}
	}
}

var errNoneParked = errors.New("nothing waits for the table")

func (n *Node) unparkSome(p behaviour.Process) error {
	if err := n.queue.WaitCapacity(n.running); err != nil {
		return err
	}
	found, err := n.queue.ParkedFor(p.Table().Process, unparkLimit)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return errNoneParked
	}
	tx := &queue.Tx{Unpark: found}
	t := n.arrivals.begin(n.sched)
	defer t.end()
	for i := range found {
		var other *underWay
		switch err := n.judgeParked(t, tx, p, &found[i]); {
		case errors.As(err, &other):
			_, _ = n.sched.Wait(context.Background(), other.ended)
			return nil // it is judged again
		case err != nil:
			return err
		}
	}
	if err := n.commit(context.Background(), tx); err != nil { // it ends with the queue at the latest
		return err
	}
	n.meters.setAside.Add(uint64(len(tx.SetAside)))
	return nil
}

// judgeParked puts a message that waited into the queue of its process, or sets it aside.
func (n *Node) judgeParked(t *arriving, tx *queue.Tx, p behaviour.Process, w *queue.Parked) error {
	m, err := message.Decode(w.Message)
	reason := ""
	switch {
	case err != nil:
		reason = fmt.Sprintf("it cannot be read: %v", err)
	case w.Peer == "":
		reason = n.unproved(p, &m)
	default:
		if reason = impossible(n.name, m.Lane, &m.Header); reason == "" {
			if reason, err = n.inadmissible(w.Peer, p, &m); err != nil {
				return err
			}
		}
	}
	if reason == "" {
		if reason, err = n.contradicts(t, tx, &m); err != nil {
			return err
		}
	}
	if reason != "" {
		n.log.Warn().Str("peer", string(w.Peer)).Str("reason", reason).Msg("message set aside")
		tx.SetAside = append(tx.SetAside, queue.SetAside{Time: n.sched.Now(), Peer: w.Peer, Reason: reason, Message: w.Message})
		return nil
	}
	m.From = w.Peer
	marked, err := n.marked(tx, &m)
	if err == nil && !marked {
		tx.Put = append(tx.Put, m)
	}
	return err
}

// unproved says why a message is not taken of which nobody knows who brought it: an older
// version of this program has let it wait. An operator decides.
func (n *Node) unproved(p behaviour.Process, m *message.Message) string {
	reason := impossible(n.name, m.Lane, &m.Header)
	if reason == "" && !p.Table().MayStart(m.Origin) {
		reason = p.Refuses("", &m.Header)
	}
	if reason != "" {
		return reason
	}
	return "it waited for its table, and an older version of this program did not note who sent it: look at it, and retry it if it may come from the site of " + string(m.Source)
}

// marked says that a message is a marker and that its instance has that one, here or in tx:
// each counts for the peer that has brought it, and more than one say no more.
func (n *Node) marked(tx *queue.Tx, m *message.Message) (bool, error) {
	if m.Kind != message.KindMarker {
		return false, nil
	}
	same := func(other message.Message) bool {
		return other.Kind == message.KindMarker && other.Instance == m.Instance && other.Queue.Process == m.Queue.Process && other.Origin == m.Origin
	}
	if slices.ContainsFunc(tx.Put, same) {
		return true, nil
	}
	there, err := n.queue.Marker(m.Queue.Process, m.Instance)
	return there != nil && there.Origin == m.Origin, err
}

// waitLeft lets a link wait while what its peer has left here is beyond its quota.
func (i *inbox) waitLeft(ctx context.Context, paused func(reason string)) error {
	waited := false
	fits := func(l queue.Left) bool {
		quota := i.node.limits.Load().Peer
		return quota == 0 || l.Bytes < quota
	}
	err := i.node.queue.WaitLeft(ctx, i.peer, fits, func(l queue.Left) {
		waited = true
		paused(leftTooMuch(&l, i.node.limits.Load().Peer))
	})
	if waited && err == nil {
		paused("")
	}
	return err
}

// leftTooMuch says why a link is paused, and what to do.
func leftTooMuch(l *queue.Left, quota int64) string {
	why := fmt.Sprintf("its messages that nothing here can use are at their quota (limits.peer, %d MiB):", quota>>20)
	if l.Aside > 0 {
		why += " " + text.Counted(l.Aside, "refused message", "refused messages") + " (fmqm refused list, then retry or drop);"
	}
	if l.Parked > 0 {
		why += " " + text.Counted(l.Parked, "message waits for the table of its process", "messages wait for the table of their process") + " (upload it to this site);"
	}
	if l.Marks > 0 {
		why += " " + text.Counted(l.Marks, "instance", "instances") + " terminated from there;"
	}
	return why + " or raise limits.peer"
}

var _ link.Inbox = (*inbox)(nil)
