package node

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"fmqm/api"
	"fmqm/instancetable"
	"fmqm/message"
	"fmqm/navigator"
	"fmqm/processtable"
	"fmqm/queue"
)

// verdict is an operator's word about a connector message that was set aside: it is
// delivered again, or dropped (L5).
type verdict struct {
	aside  queue.SetAside
	m      message.Message
	drop   bool
	word   string           // the operator's, for the history
	by     string           // who that is
	others []refusedMessage // what is set aside of the same instance
	done   func(api.DeadDecision, error)
}

const stoppedInstance = "an operator has terminated the instance"

// judge makes an operator's word come true, in one transaction with the message's leaving
// what is set aside. done is called once, on the thread.
func (c *core) judge(v *verdict, now time.Time) {
	key := v.m.Entry()
	a := c.process.Activity(key.Activity)
	if a == nil {
		c.pointless(v, fmt.Sprintf("activity %s of %s is not hosted at %s", key.Activity, c.id(), c.self), now)
		return
	}
	if c.table.Get(key) == nil {
		record, ended, err := c.ended(key)
		switch {
		case err != nil:
			c.fail(err)
			return
		case ended && record.Event == queue.EventStopped:
			c.pointless(v, stoppedInstance, now)
			return
		case ended:
			c.pointless(v, "late: the activity has already terminated", now)
			return
		}
		c.arrive(queue.Delivery{Entry: key}, now)
	}
	s := &navigator.State{Entry: key}
	if e := c.table.Get(key); e != nil {
		if e.Phase == instancetable.Settling { // what it comes to shows in a moment
			c.postponed = append(c.postponed, v)
			return
		}
		s = e.State
	}
	switch {
	case s.Stopped:
		c.pointless(v, stoppedInstance, now)
	case !slices.Contains(s.Unresolved(a), v.m.Source):
		c.pointless(v, fmt.Sprintf("%s does not wait for a connector from %s", key.Activity, v.m.Source), now)
	case !v.drop:
		c.carryOut(v, v.m, api.DeadDecision{Done: api.DeadDelivered, Text: fmt.Sprintf("it is in the queue of %s again, and the node checks it again", key.Activity)}, now)
	default:
		m, text := c.withoutIt(a, s, v.m)
		c.carryOut(v, m, api.DeadDecision{Done: api.DeadResolved, Text: text}, now)
	}
}

// withoutIt is the message that resolves what m would have resolved: FALSE, no data.
func (c *core) withoutIt(a *navigator.Activity, s *navigator.State, m message.Message) (message.Message, string) {
	out := message.Message{Header: message.Header{
		Queue: message.Queue{Process: c.id(), Node: c.self}, Definition: c.process.Definition(),
		Instance: m.Instance, Origin: m.Origin, Scope: m.Scope, Activity: m.Activity, Source: m.Source,
		Kind: message.KindConnector, Lane: m.Lane, Clock: m.Clock, Trace: m.Trace,
	}}
	if s.Origin != "" {
		out.Origin = s.Origin
	}
	var what []string
	if slices.ContainsFunc(a.InControl, func(i processtable.InControl) bool { return i.From == m.Source }) {
		out.Control = message.False
		what = append(what, "the control connector from "+string(m.Source)+" is FALSE")
	}
	if slices.ContainsFunc(a.InData, func(i processtable.InData) bool { return i.From == m.Source }) {
		out.Data = message.DataAbsent
		what = append(what, "the data connector from "+string(m.Source)+" has no data")
	}
	return out, fmt.Sprintf("to %s, %s", m.Activity, strings.Join(what, " and "))
}

// pointless: nothing waits for the message. A retry is refused; dropped, it is removed.
func (c *core) pointless(v *verdict, reason string, now time.Time) {
	if !v.drop {
		v.done(api.DeadDecision{}, pointless(v.aside.Number, reason))
		return
	}
	c.carryOut(v, message.Message{}, api.DeadDecision{Done: api.DeadRemoved, Text: "removed: " + reason}, now)
}

func pointless(number uint64, reason string) error {
	return api.Errorf(api.CodeRefused, fmt.Sprintf("drop it with `fmqm dead drop %d`", number),
		"message %d cannot take effect: %s", number, reason)
}

// carryOut commits what became of a message: it is gone from what is set aside, m, if
// there is one, is put, the history says so, and an entry that was in error because of
// it is so no more.
func (c *core) carryOut(v *verdict, m message.Message, d api.DeadDecision, now time.Time) {
	d.Number = v.aside.Number
	key := v.m.Entry()
	e := c.table.Get(key)
	s := &settlement{tx: &queue.Tx{Consume: []queue.Consume{{Process: c.id(), Entry: key}}}}
	state := &navigator.State{Entry: key, Origin: v.m.Origin, Clock: v.m.Clock}
	healing := e != nil && e.Phase == instancetable.Waiting && e.Activity.BrokenBy(e.State, v.m)
	if healing {
		effects, err := c.heal(e, v, m, now)
		if err != nil {
			v.done(api.DeadDecision{}, err)
			return
		}
		s = c.settlement(e)
		c.addEntry(s, e, e.State, nil, effects, now)
		c.cascade(s, now)
		c.table.SetPhase(e, instancetable.Settling)
		state = e.State
	}
	if m.Kind != 0 {
		s.tx.Put = append(s.tx.Put, m)
	}
	s.tx.TakeAside = []uint64{v.aside.Number}
	s.tx.Audit = append(s.tx.Audit, c.verdictRecord(v, state, now))
	c.commit(s.tx, func(err error, now time.Time) {
		switch {
		case errors.Is(err, queue.ErrStale), errors.Is(err, queue.ErrNotAside):
			if healing {
				c.undo(s, now)
			}
			if errors.Is(err, queue.ErrStale) { // read with the newcomers
				c.postponed = append(c.postponed, v)
				return
			}
			err = notAside(v.aside.Number)
		case healing:
			c.committed(s, err, now)
		case err != nil && !errors.Is(err, queue.ErrStopped):
			c.fail(err)
		}
		v.done(d, err)
	})
}

// heal lets an entry leave the error that a message had put it in; unless it has cause to
// be in error for another one that is set aside.
func (c *core) heal(e *instancetable.Entry, v *verdict, put message.Message, now time.Time) (navigator.Effects, error) {
	open := e.State.Unresolved(e.Activity)
	for _, other := range v.others {
		if other.m.Entry() == v.m.Entry() && other.m.Source != v.m.Source && slices.Contains(open, other.m.Source) {
			return e.Activity.Refused(e.State, other.m, other.reason, now), nil
		}
	}
	effects, err := e.Activity.Resume(e.State, nil, nil, now)
	effects.Outcome = navigator.Outcome{} // the verdict's record tells of it
	return effects, err
}

// verdictRecord is the line of history about an operator's word.
func (c *core) verdictRecord(v *verdict, s *navigator.State, now time.Time) queue.AuditRecord {
	o := navigator.Outcome{What: navigator.Retried, Clock: message.Next(s.Clock)}
	if s.Snapshot != nil {
		o.Iteration, o.Run = s.Snapshot.Iteration, s.Snapshot.Run
	}
	r := c.audit(v.m.Entry(), s, navigator.Effects{Outcome: o}, now)
	r.Event, r.Reason = v.event()
	r.By = v.by
	return r
}

func (v *verdict) event() (queue.Event, string) {
	if !v.drop {
		return queue.EventRetried, fmt.Sprintf("refused message %d from %s was put into its queue again", v.aside.Number, v.m.Source)
	}
	reason := fmt.Sprintf("refused message %d from %s was dropped", v.aside.Number, v.m.Source)
	if v.word != "" {
		reason += ": " + v.word
	}
	return queue.EventDropped, reason
}
