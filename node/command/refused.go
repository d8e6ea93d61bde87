package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fmqm/api"
	"fmqm/behaviour"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/node/tables"
	"fmqm/node/thread"
	"fmqm/queue/commit"
	"fmqm/queue/record"
)

// A message that came together with its table is judged again, after a pause that doubles.
const (
	againAfter  = time.Millisecond
	againAtMost = 100 * time.Millisecond
)

// verdict is an operator's word about a message that was set aside: it is delivered again,
// or dropped (L5).
type verdict struct {
	aside record.Refused
	thread.Verdict
}

// RetryRefused delivers a refused message again.
func (c *Commands) RetryRefused(ctx context.Context, number uint64) (api.RefusedDecision, error) {
	return c.decide(ctx, &verdict{Verdict: thread.Verdict{Number: number, By: c.By(ctx)}})
}

// DropRefused drops a refused message. A message of the operator resolves its connector
// instead, as FALSE or without data (L5).
func (c *Commands) DropRefused(ctx context.Context, number uint64, r api.DropRequest) (api.RefusedDecision, error) {
	return c.decide(ctx, &verdict{Verdict: thread.Verdict{Number: number, Drop: true, Why: r.Reason, By: c.By(ctx)}})
}

// decide makes an operator's word come true, and says in the log that it did.
func (c *Commands) decide(ctx context.Context, v *verdict) (api.RefusedDecision, error) {
	d, err := c.judgeAside(ctx, v)
	for pause := againAfter; errors.Is(err, commit.ErrTabled); pause = min(2*pause, againAtMost) {
		// The table came at this moment: it is judged by that, once it is taken up.
		if err := task.Sleep(ctx, c.Scheduler, pause); err != nil {
			return api.RefusedDecision{}, err
		}
		d, err = c.judgeAside(ctx, v)
	}
	if err != nil {
		return d, err
	}
	c.Log.Info().Str("by", v.By).Uint64("number", d.Number).Str("done", string(d.Done)).Str("was", v.aside.Reason).Str("word", v.Why).
		Msg("operator decided about a refused message")
	return d, nil
}

func (c *Commands) judgeAside(ctx context.Context, v *verdict) (d api.RefusedDecision, err error) {
	if v.aside, err = c.SetAside(v.Number); err != nil {
		return d, err
	}
	if v.Message, err = message.Decode(v.aside.Message); err != nil {
		return c.givenUp(v, "it cannot be read")
	}
	if v.Message.Kind.OfTable() {
		return c.tableAgain(v)
	}
	if v.Message.Kind == message.KindEvent {
		return c.eventAgain(v)
	}
	here := c.Site.Process(v.Message.Queue.Process) != nil // before it is judged: by the table, or to wait for it
	reason, err := c.misplaced(v)
	if err != nil {
		return d, err
	}
	if reason != "" {
		return c.givenUp(v, reason)
	}
	switch {
	case v.Message.Kind == message.KindReturn && v.Drop:
		return c.givenUp(v, fmt.Sprintf("block %s was not told of the error of %s: if it waits for that, retry %s", v.Message.Activity, v.Message.Source, v.Message.Source))
	case v.Message.Kind != message.KindConnector:
		if v.Drop {
			return c.givenUp(v, "no connector depends on it")
		}
	case here:
		return c.askThread(ctx, v)
	case v.Drop:
		return d, api.Errorf(api.CodeRefused, "upload the process, then drop the message", "the table of %s is not here, so the connectors of message %d are not known", v.Message.Queue.Process, v.Number)
	}
	v.Message.From = v.aside.Peer
	tx := &record.Tx{Put: []message.Message{v.Message}}
	if !here {
		tx = &record.Tx{Park: []record.Parked{{Process: v.Message.Queue.Process, Instance: v.Message.Instance, Peer: v.aside.Peer, Message: v.aside.Message}}}
	}
	return c.settleAside(v, tx, api.RefusedDecision{Done: api.RefusedDelivered, Text: fmt.Sprintf("it is in the queue of %s again", v.Message.Queue.Process)})
}

// misplaced says why the message cannot be for here, or from where it came; what the
// process thread has set aside had passed that.
func (c *Commands) misplaced(v *verdict) (string, error) {
	if v.Message.Kind.OfWord() {
		return "an operator's word is not taken later: its operator can ask again", nil
	}
	if v.aside.Peer != "" {
		return c.Site.Misplaced(v.aside.Peer, &v.Message)
	}
	switch {
	case v.Message.Queue.Node != c.Self:
		return fmt.Sprintf("it is for node %s, and this is %s", v.Message.Queue.Node, c.Self), nil
	case v.Message.Kind == message.KindRecord, v.Message.Kind == message.KindSnapshot, v.Message.Kind == message.KindDue, v.Message.Kind == message.KindBegin,
		v.Message.Kind == message.KindStart, v.Message.Kind == message.KindChunk: // a process thread sets aside none
		return "a message of this kind never leaves its node", nil
	}
	return "", nil
}

// givenUp: nothing can come of the message. A retry is refused; dropped, it is removed.
func (c *Commands) givenUp(v *verdict, reason string) (api.RefusedDecision, error) {
	if !v.Drop {
		return api.RefusedDecision{}, pointless(v.Number, reason)
	}
	return c.settleAside(v, &record.Tx{}, api.RefusedDecision{Done: api.RefusedRemoved, Text: "removed: " + reason})
}

// tableAgain judges a process table once more, or lets go of it.
func (c *Commands) tableAgain(v *verdict) (api.RefusedDecision, error) {
	if v.Drop {
		return c.givenUp(v, "upload it again")
	}
	now := v.Message.Kind == message.KindCurrent
	p, isNew, err := c.Tables.Judge(v.Message.Body, now)
	if err == nil {
		err = tables.Named(p, v.Message.Queue.Process)
	}
	if err != nil {
		return api.RefusedDecision{}, pointless(v.Number, err.Error())
	}
	tx := &record.Tx{}
	tables.Add(tx, c.Queue, p, v.Message.Body, isNew, now)
	d, err := c.settleAside(v, tx, api.RefusedDecision{Done: api.RefusedStored, Text: fmt.Sprintf("the table of %s is stored", p.Table().Process)})
	if err == nil && isNew {
		c.Tables.Install(p)
	}
	if err == nil {
		c.Tables.NowCurrent(tx.Current...)
	}
	return d, err
}

// eventAgain judges an event once more that a peer has brought, or lets go of it (N24).
func (c *Commands) eventAgain(v *verdict) (api.RefusedDecision, error) {
	if v.Drop {
		return c.givenUp(v, "no receive is told of it")
	}
	kept, timer, reason, err := c.Site.JudgeEvent(v.aside.Peer, v.Message)
	switch {
	case err != nil:
		return api.RefusedDecision{}, err
	case reason != "":
		return c.givenUp(v, reason)
	}
	tx, d := &record.Tx{}, api.RefusedDecision{Done: api.RefusedDelivered, Text: "it is in the event queue"}
	if kept != nil {
		tx.Put, tx.Timers = []message.Message{*kept}, []record.Timer{timer}
	}
	return c.settleAside(v, tx, d)
}

// settleAside commits what became of a message that no process thread has to do with. It waits for
// that also when who asked has gone: more follows from it than the answer.
func (c *Commands) settleAside(v *verdict, tx *record.Tx, d api.RefusedDecision) (api.RefusedDecision, error) {
	d.Number = v.Number
	tx.Settle = []uint64{d.Number}
	event, reason := v.Event()
	// A word says nothing of its instance, least of all where that was started, by which retention goes.
	if v.Message.Activity != "" && v.Message.Instance != (message.InstanceID{}) && !v.Message.Kind.OfWord() && !v.Message.OfEvents() {
		tx.Audit = []record.AuditRecord{{
			Time: c.Scheduler.Now(), Clock: message.Next(v.Message.Clock), Process: v.Message.Queue.Process, Definition: v.Message.Definition,
			Instance: v.Message.Instance, Origin: v.Message.Origin, Scope: v.Message.Scope, Activity: v.Message.Activity, Event: event, Reason: reason, By: v.By,
		}}
	}
	err := c.Site.Commit(context.Background(), tx) // it ends with the queue at the latest
	switch {
	case errors.Is(err, commit.ErrNotRefused):
		return d, NotAside(d.Number)
	case errors.Is(err, commit.ErrBound):
		return d, pointless(d.Number, err.Error())
	case err != nil:
		return d, err
	}
	c.Site.Stored(tx, v.Message.Instance)
	return d, nil
}

// askThread lets the process thread decide: it knows what the activity waits for.
func (c *Commands) askThread(ctx context.Context, v *verdict) (api.RefusedDecision, error) {
	d := api.RefusedDecision{Number: v.Number}
	others, err := c.Site.RefusedOf(v.Message.Instance)
	if err != nil {
		return d, err
	}
	for i := range others {
		v.Others = append(v.Others, behaviour.Refuse{Message: others[i].Message, Reason: others[i].Reason})
	}
	a, err := c.Site.Judge(ctx, v.Message.Queue.Process, v.Verdict)
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
		return d, NotAside(v.Number)
	default:
		return d, errors.New(a.Text)
	}
	return d, nil
}

func pointless(number uint64, reason string) error {
	return api.Errorf(api.CodeRefused, fmt.Sprintf("drop it with `fmqm refused drop %d`", number),
		"message %d cannot take effect: %s", number, reason)
}

// SetAside gives a message that was set aside here.
func (c *Commands) SetAside(number uint64) (record.Refused, error) {
	s, found, err := c.Queue.RefusedAt(number)
	if err == nil && !found {
		err = NotAside(number)
	}
	return s, err
}

// NotAside is what somebody is told of a message that is not set aside here.
func NotAside(number uint64) error {
	return api.Errorf(api.CodeNotFound, "see `fmqm refused list`; a message that was retried and refused again has another number",
		"there is no refused message %d here", number)
}
