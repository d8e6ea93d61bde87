package node

import (
	"context"
	"errors"
	"fmt"

	"fmqm/api"
	"fmqm/behaviour"
	"fmqm/message"
	"fmqm/node/thread"
	"fmqm/queue"
)

// verdict is an operator's word about a message that was set aside: it is delivered again,
// or dropped (L5).
type verdict struct {
	aside queue.SetAside
	thread.Verdict
}

// RetryRefused delivers a refused message again.
func (n *Node) RetryRefused(ctx context.Context, number uint64) (api.RefusedDecision, error) {
	return n.decide(ctx, &verdict{Verdict: thread.Verdict{Number: number, By: n.commander(ctx)}})
}

// DropRefused drops a refused message. A message of the operator resolves its connector
// instead, as FALSE or without data (L5).
func (n *Node) DropRefused(ctx context.Context, number uint64, r api.DropRequest) (api.RefusedDecision, error) {
	return n.decide(ctx, &verdict{Verdict: thread.Verdict{Number: number, Drop: true, Why: r.Reason, By: n.commander(ctx)}})
}

// decide makes an operator's word come true, and says in the log that it did.
func (n *Node) decide(ctx context.Context, v *verdict) (api.RefusedDecision, error) {
	d, err := n.judgeAside(ctx, v)
	if err != nil {
		return d, asAPI(err)
	}
	n.log.Info().Str("by", v.By).Uint64("number", d.Number).Str("done", string(d.Done)).Str("was", v.aside.Reason).Str("word", v.Why).
		Msg("operator decided about a refused message")
	return d, nil
}

func (n *Node) judgeAside(ctx context.Context, v *verdict) (d api.RefusedDecision, err error) {
	if v.aside, err = n.setAside(v.Number); err != nil {
		return d, err
	}
	if v.Message, err = message.Decode(v.aside.Message); err != nil {
		return n.givenUp(ctx, v, "it cannot be read")
	}
	if v.Message.Kind == message.KindTable {
		return n.tableAgain(ctx, v)
	}
	reason, err := n.misplaced(v)
	if err != nil {
		return d, err
	}
	if reason != "" {
		return n.givenUp(ctx, v, reason)
	}
	t := n.thread(v.Message.Queue.Process)
	switch {
	case v.Message.Kind != message.KindConnector:
		if v.Drop {
			return n.givenUp(ctx, v, "no connector depends on it")
		}
	case t != nil:
		return n.askThread(ctx, t, v)
	case v.Drop:
		return d, api.Errorf(api.CodeRefused, "upload the process, then drop the message", "the table of %s is not here, so the connectors of message %d are not known", v.Message.Queue.Process, v.Number)
	}
	v.Message.From = v.aside.Peer
	tx := &queue.Tx{Put: []message.Message{v.Message}}
	if t == nil {
		tx = &queue.Tx{Park: []queue.Parked{{Process: v.Message.Queue.Process, Instance: v.Message.Instance, Peer: v.aside.Peer, Message: v.aside.Message}}}
	}
	return n.settleAside(ctx, v, tx, api.RefusedDecision{Done: api.RefusedDelivered, Text: fmt.Sprintf("it is in the queue of %s again", v.Message.Queue.Process)})
}

// misplaced says why the message cannot be for here, or from where it came; what the
// process thread has set aside had passed that.
func (n *Node) misplaced(v *verdict) (string, error) {
	if v.aside.Peer != "" {
		reason, err := n.misdirected(v.aside.Peer, v.Message.Lane, &v.Message)
		if err == nil && reason == "" && v.Message.Kind == message.KindMarker {
			return n.otherMarker(&v.Message)
		}
		return reason, err
	}
	switch {
	case v.Message.Queue.Node != n.name:
		return fmt.Sprintf("it is for node %s, and this is %s", v.Message.Queue.Node, n.name), nil
	case v.Message.Kind == message.KindRecord, v.Message.Kind == message.KindSnapshot: // a process thread sets aside none
		return "a message of this kind never leaves its node", nil
	}
	return "", nil
}

// givenUp: nothing can come of the message. A retry is refused; dropped, it is removed.
func (n *Node) givenUp(ctx context.Context, v *verdict, reason string) (api.RefusedDecision, error) {
	if !v.Drop {
		return api.RefusedDecision{}, pointless(v.Number, reason)
	}
	return n.settleAside(ctx, v, &queue.Tx{}, api.RefusedDecision{Done: api.RefusedRemoved, Text: "removed: " + reason})
}

// tableAgain judges a process table once more, or lets go of it.
func (n *Node) tableAgain(ctx context.Context, v *verdict) (api.RefusedDecision, error) {
	if v.Drop {
		return n.givenUp(ctx, v, "upload it again")
	}
	p, isNew, err := n.judgeTable(v.Message.Body)
	if err != nil {
		return api.RefusedDecision{}, pointless(v.Number, err.Error())
	}
	tx := &queue.Tx{}
	if isNew {
		tx.Tables = []queue.TableRecord{record(p, v.Message.Body)}
	}
	d, err := n.settleAside(ctx, v, tx, api.RefusedDecision{Done: api.RefusedStored, Text: fmt.Sprintf("the table of %s is stored", p.Table().Process)})
	if err == nil && isNew {
		n.install(p)
	}
	return d, err
}

// settleAside commits what became of a message that no process thread has to do with.
func (n *Node) settleAside(ctx context.Context, v *verdict, tx *queue.Tx, d api.RefusedDecision) (api.RefusedDecision, error) {
	d.Number = v.Number
	tx.TakeAside = []uint64{d.Number}
	event, reason := v.Event()
	if v.Message.Activity != "" && v.Message.Instance != (message.InstanceID{}) {
		tx.Audit = []queue.AuditRecord{{
			Time: n.sched.Now(), Clock: message.Next(v.Message.Clock), Process: v.Message.Queue.Process, Definition: v.Message.Definition,
			Instance: v.Message.Instance, Origin: v.Message.Origin, Scope: v.Message.Scope, Activity: v.Message.Activity, Event: event, Reason: reason, By: v.By,
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
	n.changes.tell(v.Message.Instance, false)
	return d, nil
}

// askThread lets the process thread decide: it knows what the activity waits for.
func (n *Node) askThread(ctx context.Context, t *processThread, v *verdict) (api.RefusedDecision, error) {
	d := api.RefusedDecision{Number: v.Number}
	others, err := n.refusals.of(n.queue, v.Message.Instance)
	if err != nil {
		return d, err
	}
	for i := range others {
		v.Others = append(v.Others, behaviour.Refuse{Message: others[i].m, Reason: others[i].reason})
	}
	word := t.newWord()
	a, err := t.say(ctx, word, thread.Judge{Word: word, Verdict: v.Verdict})
	if err != nil {
		return d, err
	}
	switch a.Code {
	case thread.Redelivered:
		d.Done, d.Text = api.RefusedDelivered, fmt.Sprintf("it is in the queue of %s again, and the node checks it again", v.Message.Activity)
	case thread.Resolved:
		d.Done, d.Text = api.RefusedResolved, a.Text
	case thread.Removed:
		d.Done, d.Text = api.RefusedRemoved, "removed: "+a.Text
	case thread.Pointless:
		return d, pointless(v.Number, a.Text)
	case thread.Gone:
		return d, notAside(v.Number)
	default:
		return d, errors.New(a.Text)
	}
	return d, nil
}

func pointless(number uint64, reason string) error {
	return api.Errorf(api.CodeRefused, fmt.Sprintf("drop it with `fmqm refused drop %d`", number),
		"message %d cannot take effect: %s", number, reason)
}
