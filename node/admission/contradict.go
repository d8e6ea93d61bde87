package admission

import (
	"bytes"
	"fmt"

	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// A connector is resolved once (invariant 4), and what came first counts: an activity may
// have begun by it. A put takes the place of what lies under the same key, so what comes of
// a connector that has come before, and says something else, is set aside before it is put.
// It comes from a peer that has lost its store and got another result when it ran again, or
// from one that resolves for another what that one has resolved itself (N6). So it is with
// operators' words, and with markers: see otherMarker.

// taking is one transaction of messages that are being judged.
type taking struct {
	*Admission
	*arriving
	tx *record.Tx
}

func (a *Admission) begin(tx *record.Tx) taking {
	return taking{Admission: a, arriving: a.arrivals.begin(a.Scheduler, cap(tx.Put)), tx: tx}
}

// setAside sets a message aside that peer has brought.
func (t *taking) setAside(peer processtable.NodeID, encoded []byte, reason string) {
	t.tx.Refuse = append(t.tx.Refuse, record.Refused{Time: t.Scheduler.Now(), Peer: peer, Reason: reason, Message: encoded})
	t.Log.Warn().Str("peer", string(peer)).Str("reason", reason).Msg("message set aside")
}

// take puts a message that its sender may send, unless it repeats what has come before it; if it
// contradicts that, it is set aside.
func (t *taking) take(m message.Message, encoded []byte) (put bool, err error) {
	switch reason, repeat, err := t.contradicts(&m); {
	case err != nil:
		return false, err
	case reason != "":
		t.setAside(m.From, encoded, reason)
		return false, nil
	case repeat:
		return false, nil
	}
	t.tx.Put = append(t.tx.Put, m)
	return true, nil
}

// contradicts says why a connector message, a marker or an operator's word is not put beside what has come
// before it, in the transaction or to the store; or nothing.
// A repeat says nothing else: it is not put either, so what has come keeps its place in the order of
// arrival (N11).
func (t *taking) contradicts(m *message.Message) (reason string, repeat bool, err error) {
	if m.Kind != message.KindConnector && !m.Kind.OfInstance() && m.Kind != message.KindWord {
		return "", false, nil
	}
	if m.Kind == message.KindMark {
		_, reason, repeat, err = t.markBefore(m)
		return reason, repeat, err
	}
	k := arrivalOf(m)
	put, _, err := t.claim(k)
	if err != nil {
		return "", false, err
	}
	if m.Kind == message.KindMarker {
		return t.marked(k, m, put)
	}
	first, err := t.Queue.Message(k.process, k.entry, k.key)
	if err != nil {
		return "", false, err
	}
	if first == nil {
		first = put
	}
	switch {
	case first == nil:
		return "", false, nil
	case first.Control == m.Control && first.Data == m.Data && first.Origin == m.Origin &&
		first.Definition == m.Definition && bytes.Equal(first.Body, m.Body):
		return "", first.Onward || !m.Onward, nil // else it says more: that the path was passed on (N6)
	}
	if m.Kind == message.KindWord {
		return fmt.Sprintf("a word with its identifier lies here for %s, and says something else: the earlier one counts", m.Activity), false, nil
	}
	return fmt.Sprintf("it contradicts an earlier message from %s for %s, and the earlier one counts", m.Source, m.Activity), false, nil
}

// marked is contradicts of a marker, beside the one that the transaction puts, if it does. Each counts for
// the peer that has brought it, and more than one of the same origin say no more.
func (t *taking) marked(k arrival, m, there *message.Message) (reason string, repeat bool, err error) {
	if there == nil {
		if there, err = t.Queue.Marker(k.process, m.Instance); err != nil || there == nil {
			return "", false, err
		}
	}
	if there.Origin == m.Origin {
		return "", true, nil
	}
	reason, err = t.otherMarker(m, there)
	return reason, false, err
}
