package node

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"fmqm/api"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue"
)

// kindNames are the API's words for what a message is.
var kindNames = map[message.Kind]string{
	message.KindConnector: "connector", message.KindRecord: "record", message.KindSnapshot: "snapshot",
	message.KindNotice: "notice", message.KindMarker: "marker", message.KindTable: "table",
}

// Dead lists this node's refused messages, newest first (L5).
func (n *Node) Dead(_ context.Context, r api.DeadRequest) (api.DeadAnswer, error) {
	before := r.Before
	if before == 0 {
		before = math.MaxUint64
	}
	found, err := n.queue.SetAsideBefore(before, r.Limit+1)
	if err != nil {
		return api.DeadAnswer{}, asAPI(err)
	}
	a := api.DeadAnswer{Messages: []api.Dead{}, More: len(found) > r.Limit}
	for _, head := range found[:min(len(found), r.Limit)] {
		a.Messages = append(a.Messages, n.dead(head))
	}
	return a, nil
}

// dead shows one message; of one that cannot be read, what the node itself noted.
func (n *Node) dead(head queue.AsideHead) api.Dead {
	d := api.Dead{Number: head.Number, Time: head.Time, From: string(head.Peer), Reason: head.Reason}
	if d.From == "" {
		d.From = string(n.sender(head.Header))
	}
	if m := head.Header; m != nil {
		d.Kind, d.Process, d.Instance = kindNames[m.Kind], m.Queue.Process.String(), m.Instance
		d.Activity, d.Source = string(m.Activity), string(m.Source)
	}
	return d
}

// sender is the node that a message speaks for which the process thread has set aside,
// as its table says; nil: the message cannot be read.
func (n *Node) sender(m *message.Header) processtable.NodeID {
	if m == nil {
		return n.name
	}
	if m.OnBehalf != "" {
		return m.OnBehalf
	}
	if t := n.thread(m.Queue.Process); t != nil {
		if node, ok := t.process.Table.NodeOf(m.Source); ok && node != processtable.Origin {
			return node
		}
	}
	return cmp.Or(m.Origin, n.name)
}

// shownBytes is how much is shown of what cannot be read.
const shownBytes = 256

// DeadMessage shows one refused message of this node, with its content.
func (n *Node) DeadMessage(_ context.Context, number uint64) (api.DeadMessage, error) {
	s, err := n.setAside(number)
	if err != nil {
		return api.DeadMessage{}, asAPI(err)
	}
	m, err := message.Decode(s.Message)
	head := queue.AsideHead{Number: s.Number, Time: s.Time, Peer: s.Peer, Reason: s.Reason}
	if err == nil {
		head.Header = &m.Header
	}
	out := api.DeadMessage{Dead: n.dead(head), Bytes: len(s.Message)}
	if err != nil {
		out.Hex = hex.EncodeToString(s.Message[:min(len(s.Message), shownBytes)])
		return out, nil
	}
	out.Node, out.Origin, out.Scope, out.OnBehalf = string(m.Queue.Node), string(m.Origin), string(m.Scope), string(m.OnBehalf)
	out.Definition, out.Lane, out.Clock, out.Trace = m.Definition.String(), int(m.Lane), m.Clock, m.Trace
	out.Control = [...]string{"", "FALSE", "TRUE"}[min(int(m.Control), 2)]
	out.Data = [...]string{"", "absent", "present"}[min(int(m.Data), 2)]
	out.BodyBytes = len(m.Body)
	if out.Body, err = n.body(m); (err != nil || out.Body == nil) && len(m.Body) > 0 {
		out.Body, out.Hex = nil, hex.EncodeToString(m.Body[:min(len(m.Body), shownBytes)])
	}
	return out, nil
}

func (n *Node) setAside(number uint64) (queue.SetAside, error) {
	s, found, err := n.queue.SetAsideAt(number)
	if err == nil && !found {
		err = notAside(number)
	}
	return s, err
}

func notAside(number uint64) error {
	return api.Errorf(api.CodeNotFound, "see `fmqm dead list`; a message that was retried and refused again has another number",
		"there is no refused message %d here", number)
}

// body shows what a message carries, as the table here reads it; nil where it does not say.
func (n *Node) body(m message.Message) (json.RawMessage, error) {
	switch m.Kind {
	case message.KindNotice:
		notice, err := message.DecodeNotice(m.Body)
		if err != nil {
			return nil, err
		}
		return json.Marshal(map[string]any{"error": notice.Error, "attempts": notice.Attempts, "cleared": notice.Cleared})
	case message.KindMarker:
		marker, err := message.DecodeMarker(m.Body)
		if err != nil {
			return nil, err
		}
		shown := map[string]any{"reason": marker.Reason, "time": marker.Time}
		if marker.By != "" {
			shown["by"] = marker.By
		}
		return json.Marshal(shown)
	case message.KindConnector:
		return n.values(m)
	case message.KindRecord, message.KindSnapshot, message.KindTable:
	}
	return nil, nil
}

// values are those of a data connector, by the member of the target's input that they are for.
func (n *Node) values(m message.Message) (json.RawMessage, error) {
	t := n.thread(m.Queue.Process)
	if t == nil || m.Data != message.DataPresent {
		return nil, nil
	}
	a := t.process.Activity(m.Activity)
	if a == nil {
		return nil, nil
	}
	values, err := a.Values(m)
	if err != nil || values == nil {
		return nil, err
	}
	shown := map[string]json.RawMessage{}
	for _, v := range values {
		if shown[v.Target], err = container.EncodeJSON(v.Value); err != nil {
			return nil, err
		}
	}
	return json.Marshal(shown)
}

// RetryDead delivers a refused message again.
func (n *Node) RetryDead(ctx context.Context, number uint64) (api.DeadDecision, error) {
	return n.decide(ctx, &verdict{aside: queue.SetAside{Number: number}, by: n.commander(ctx)})
}

// DropDead drops a refused message. A message of the operator resolves its connector
// instead, as FALSE or without data (L5).
func (n *Node) DropDead(ctx context.Context, number uint64, r api.DropRequest) (api.DeadDecision, error) {
	return n.decide(ctx, &verdict{aside: queue.SetAside{Number: number}, drop: true, word: r.Reason, by: n.commander(ctx)})
}

// decide makes an operator's word come true, and says in the log that it did.
func (n *Node) decide(ctx context.Context, v *verdict) (api.DeadDecision, error) {
	d, err := n.judgeAside(ctx, v)
	if err != nil {
		return d, asAPI(err)
	}
	n.log.Info().Str("by", v.by).Uint64("number", d.Number).Str("done", string(d.Done)).Str("was", v.aside.Reason).Str("word", v.word).
		Msg("operator decided about a refused message")
	return d, nil
}

func (n *Node) judgeAside(ctx context.Context, v *verdict) (d api.DeadDecision, err error) {
	if v.aside, err = n.setAside(v.aside.Number); err != nil {
		return d, err
	}
	if v.m, err = message.Decode(v.aside.Message); err != nil {
		return n.givenUp(ctx, v, "it cannot be read")
	}
	if v.m.Kind == message.KindTable {
		return n.tableAgain(ctx, v)
	}
	reason, err := n.misplaced(v)
	if err != nil {
		return d, err
	}
	if reason != "" {
		return n.givenUp(ctx, v, reason)
	}
	t := n.thread(v.m.Queue.Process)
	switch {
	case v.m.Kind != message.KindConnector:
		if v.drop {
			return n.givenUp(ctx, v, "no connector depends on it")
		}
	case t != nil:
		return n.askThread(ctx, t, v)
	case v.drop:
		return d, api.Errorf(api.CodeRefused, "upload the process, then drop the message", "the table of %s is not here, so the connectors of message %d are not known", v.m.Queue.Process, v.aside.Number)
	}
	v.m.From = v.aside.Peer
	tx := &queue.Tx{Put: []message.Message{v.m}}
	if t == nil {
		tx = &queue.Tx{Park: []queue.Parked{{Process: v.m.Queue.Process, Instance: v.m.Instance, Peer: v.aside.Peer, Message: v.aside.Message}}}
	}
	return n.settleAside(ctx, v, tx, api.DeadDecision{Done: api.DeadDelivered, Text: fmt.Sprintf("it is in the queue of %s again", v.m.Queue.Process)})
}

// misplaced says why the message cannot be for here, or from where it came; what the
// process thread has set aside had passed that.
func (n *Node) misplaced(v *verdict) (string, error) {
	if v.aside.Peer != "" {
		reason, err := n.misdirected(v.aside.Peer, v.m.Lane, &v.m)
		if err == nil && reason == "" && v.m.Kind == message.KindMarker {
			return n.otherMarker(&v.m)
		}
		return reason, err
	}
	switch {
	case v.m.Queue.Node != n.name:
		return fmt.Sprintf("it is for node %s, and this is %s", v.m.Queue.Node, n.name), nil
	case v.m.Kind == message.KindRecord, v.m.Kind == message.KindSnapshot: // a process thread sets aside none
		return "a message of this kind never leaves its node", nil
	}
	return "", nil
}

// givenUp: nothing can come of the message. A retry is refused; dropped, it is removed.
func (n *Node) givenUp(ctx context.Context, v *verdict, reason string) (api.DeadDecision, error) {
	if !v.drop {
		return api.DeadDecision{}, pointless(v.aside.Number, reason)
	}
	return n.settleAside(ctx, v, &queue.Tx{}, api.DeadDecision{Done: api.DeadRemoved, Text: "removed: " + reason})
}

// tableAgain judges a process table once more, or lets go of it.
func (n *Node) tableAgain(ctx context.Context, v *verdict) (api.DeadDecision, error) {
	if v.drop {
		return n.givenUp(ctx, v, "upload it again")
	}
	p, isNew, err := n.judgeTable(v.m.Body)
	if err != nil {
		return api.DeadDecision{}, pointless(v.aside.Number, err.Error())
	}
	tx := &queue.Tx{}
	if isNew {
		tx.Tables = []queue.TableRecord{record(p, v.m.Body)}
	}
	d, err := n.settleAside(ctx, v, tx, api.DeadDecision{Done: api.DeadStored, Text: fmt.Sprintf("the table of %s is stored", p.Table.Process)})
	if err == nil && isNew {
		n.install(p)
	}
	return d, err
}

// settleAside commits what became of a message that no process thread has to do with.
func (n *Node) settleAside(ctx context.Context, v *verdict, tx *queue.Tx, d api.DeadDecision) (api.DeadDecision, error) {
	d.Number = v.aside.Number
	tx.TakeAside = []uint64{d.Number}
	event, reason := v.event()
	if v.m.Activity != "" && v.m.Instance != (message.InstanceID{}) {
		tx.Audit = []queue.AuditRecord{{
			Time: n.sched.Now(), Clock: message.Next(v.m.Clock), Process: v.m.Queue.Process, Definition: v.m.Definition,
			Instance: v.m.Instance, Origin: v.m.Origin, Scope: v.m.Scope, Activity: v.m.Activity, Event: event, Reason: reason, By: v.by,
		}}
	}
	err := n.commit(ctx, tx)
	switch {
	case errors.Is(err, queue.ErrNotAside):
		return d, notAside(d.Number)
	case errors.Is(err, queue.ErrBound):
		return d, pointless(d.Number, err.Error())
	case err != nil:
		return d, err
	}
	n.refusals.taken(tx.TakeAside)
	n.observe(tx)
	n.changes.tell(v.m.Instance, false)
	return d, nil
}

// askThread lets the process thread decide: it knows what the activity waits for.
func (n *Node) askThread(ctx context.Context, t *thread, v *verdict) (d api.DeadDecision, err error) {
	if v.others, err = n.refusals.of(n.queue, v.m.Instance); err != nil {
		return d, err
	}
	type outcome struct {
		d   api.DeadDecision
		err error
	}
	done := make(chan outcome, 1)
	v.done = func(d api.DeadDecision, err error) { done <- outcome{d, err} }
	t.post(func(now time.Time) { t.core.judge(v, now) })
	select {
	case o := <-done:
		return o.d, o.err
	case <-t.ended:
		return d, queue.ErrStopped
	case <-ctx.Done():
		return d, ctx.Err()
	}
}
