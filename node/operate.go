package node

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"fmqm/container"
	"fmqm/instancetable"
	"fmqm/message"
	"fmqm/navigator"
	"fmqm/processtable"
	"fmqm/queue"
)

// errConflict: a start with a known identifier and other content (N2).
var errConflict = errors.New("another instance has this identifier")

// start starts an instance, or finds that it was started before (N2). done is called
// once, on the thread, when the instance is on disk; known says that it was before.
func (c *core) start(o navigator.Start, done func(known bool, err error), now time.Time) {
	if waiters, under := c.starting[o.Instance]; under {
		c.starting[o.Instance] = append(waiters, func(now time.Time) { c.start(o, done, now) })
		return
	}
	started, _, found, err := c.store.Instance(o.Instance)
	if err != nil {
		c.fail(err)
		done(false, err)
		return
	}
	if found {
		done(true, c.sameStart(o, started))
		return
	}
	effects, err := c.process.Start(o)
	if err != nil {
		done(false, err)
		return
	}
	c.starting[o.Instance] = nil
	c.starts.note(o.Instance)
	if c.anew == nil || !c.anew() {
		c.lives.born(o.Instance)
	}
	key := message.Entry{Instance: o.Instance, Activity: processtable.Source}
	e := &instancetable.Entry{
		Key: key, Activity: c.process.Activity(processtable.Source), Phase: instancetable.Settling,
		State: &navigator.State{Entry: key, Origin: c.self, Trace: o.Trace},
	}
	s := c.settlement(e)
	s.entry = nil // source has none in the table
	effects.Outcome.Reason = o.Key
	c.addEntry(s, e, e.State, nil, effects, now)
	c.cascade(s, now)
	c.commit(s.tx, func(err error, now time.Time) {
		if err != nil {
			c.lives.forget(o.Instance)
			c.starts.forget(o.Instance)
			c.undo(s, now)
		}
		for _, ended := range s.ended {
			if err == nil {
				c.forget(ended, now)
			}
		}
		if err == nil {
			c.goesOn(o.Instance, now)
		}
		waiters := c.starting[o.Instance]
		delete(c.starting, o.Instance)
		done(false, err)
		for _, wake := range waiters {
			wake(now)
		}
	})
}

// sameStart says whether a repeated start is the one that is known.
func (c *core) sameStart(o navigator.Start, known queue.AuditRecord) error {
	input, err := container.EncodeCBOR(o.Input)
	if err != nil {
		return fmt.Errorf("start %s: encode the input: %w", c.id(), err)
	}
	same := bytes.Equal(known.Output, input)
	if known.Removed != nil { // retention left its sum
		same = known.Removed.Start.Input == queue.SumInput(input)
	}
	switch {
	case known.Process != c.id() || known.Definition != c.process.Definition():
		return fmt.Errorf("start %s as %s: %w, of process %s", c.id(), o.Instance, errConflict, known.Process)
	case !same:
		return fmt.Errorf("start %s as %s: %w, started with another input", c.id(), o.Instance, errConflict)
	case o.Key != "" && known.Reason != "" && o.Key != known.Reason:
		return fmt.Errorf("start %s as %s: %w, started with the key %q", c.id(), o.Instance, errConflict, known.Reason)
	}
	return nil
}

// retryable finds the entry of an activity in error.
func (c *core) retryable(key message.Entry, now time.Time) (*instancetable.Entry, error) {
	e := c.table.Get(key)
	if e == nil {
		c.arrive(queue.Delivery{Entry: key}, now)
		e = c.table.Get(key)
	}
	if e == nil {
		return nil, c.notInError(key)
	}
	if e.Phase != instancetable.Waiting {
		return nil, fmt.Errorf("retry %s: it is not in error", key.Activity)
	}
	return e, nil
}

// notInError says how it stands with an activity of which nothing is under way.
func (c *core) notInError(key message.Entry) error {
	_, ended, err := c.ended(key)
	switch {
	case err != nil:
		c.fail(err)
		return err
	case ended:
		return fmt.Errorf("retry %s: it is not in error, it has ended", key.Activity)
	}
	return fmt.Errorf("retry %s: it is not in error, it has not begun at %s", key.Activity, c.self)
}

// review gives the result whose conditions a retry evaluates, if they may take long; nil:
// none.
func (c *core) review(key message.Entry, output *container.Struct, now time.Time) (*navigator.Result, error) {
	e, err := c.retryable(key, now)
	if err != nil {
		return nil, err
	}
	r, err := e.Activity.Review(e.State, output, now)
	if err != nil || r == nil || !e.Activity.Slow(*r) {
		return nil, err
	}
	return r, nil
}

// retrying is the operator's hand on an activity in error.
type retrying struct {
	entry  message.Entry
	output *container.Struct // instead of what its program would give; nil: the program runs again
	judged *navigator.Result // what review gave, with its judgement
	by     string            // who, for the history
	done   func(error)       // called once, on the thread
}

const byHand = "its output was given by hand"

// outcome is the line of history about an operator's hand.
func (r *retrying) outcome(after navigator.Outcome) navigator.Outcome {
	o := navigator.Outcome{What: navigator.Retried, Clock: after.Clock, Iteration: after.Iteration, Run: after.Run, By: r.by}
	if r.output != nil {
		o.Reason = byHand
	}
	return o
}

// retry lets an activity in error go on.
func (c *core) retry(r retrying, now time.Time) {
	key, done := r.entry, r.done
	e, err := c.retryable(key, now)
	if err != nil {
		done(err)
		return
	}
	effects, err := e.Activity.Resume(e.State, r.output, r.judged, now)
	if err != nil {
		done(err)
		return
	}
	s := c.settlement(e)
	retried := r.outcome(effects.Outcome)
	if what := effects.Outcome.What; what == navigator.Retried || what == navigator.Terminated && r.output != nil {
		effects.Outcome.By, effects.Outcome.Reason = retried.By, retried.Reason
	}
	if effects.Outcome.What != navigator.Retried { // what the retry led to comes after it
		s.tx.Audit = append(s.tx.Audit, c.audit(key, e.State, navigator.Effects{Outcome: retried}, now))
	}
	c.addEntry(s, e, e.State, e.State.Keys, effects, now)
	c.table.SetPhase(e, instancetable.Settling)
	c.cascade(s, now)
	c.commit(s.tx, func(err error, now time.Time) {
		c.committed(s, err, now)
		done(err)
	})
}

// stopInstance ends every entry of a terminated instance (N7). The marker is in the
// store: what arrives later finds it there.
func (c *core) stopInstance(marker message.Message, now time.Time) {
	stored, err := c.store.BrowseInstance(c.id(), marker.Instance)
	if err != nil {
		c.fail(err)
		return
	}
	seen := map[message.Entry]bool{}
	for _, m := range stored {
		key := m.Entry()
		if key.Activity == "" || seen[key] {
			continue
		}
		seen[key] = true
		e := c.table.Get(key)
		if e == nil {
			c.arrive(queue.Delivery{Entry: key}, now)
			continue // it finds the marker itself
		}
		e.State.Stop(marker)
		c.consider(e, now)
	}
}
