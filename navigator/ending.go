package navigator

import (
	"fmt"
	"time"

	"fmqm/behaviour"
	"fmqm/condition"
	"fmqm/container"
	"fmqm/message"
)

// noCode is _RC where there is no return code.
const noCode = -1

// values are what the engine's words say of a result.
func values(r *behaviour.Result) *condition.Values {
	return &condition.Values{RC: r.RC, Timeout: r.TimedOut, Error: r.Failure, Instance: r.Instance, Event: r.EventName(), By: r.By.Person}
}

// byItself says whether what had been invoked has ended by itself.
func byItself(r *behaviour.Result) bool { return r.Ending == message.Ending{} }

// ended is the result of an activity that has not ended by itself: its output has the defaults.
func (a *Activity) ended(s *State, how message.Ending, rc int64, now time.Time) behaviour.Result {
	return behaviour.Result{RC: rc, Output: container.New(a.Output), Ending: how, Started: s.reached().Started, Ended: now}
}

// isExpired says whether the deadline ends the activity (R21).
func (a *Activity) isExpired(s *State) bool {
	return s.expired() && !a.limits() && (s.InError() || !a.hasReturned(s))
}

// expire terminates an activity whose deadline has come, in an attempt that has begun at started, if
// one was under way (R21).
func (a *Activity) expire(s *State, started, now time.Time) behaviour.Effects {
	return a.without(s, fmt.Sprintf("the deadline of %s has come", a.Name), now, func() behaviour.Effects {
		r := a.ended(s, message.Ending{TimedOut: true}, noCode, now)
		e := a.evaluate(s, &r, now)
		a.tried(s, &e, started)
		return a.healed(s, e, now)
	})
}

// tried says in the outcome which attempt was the last.
func (a *Activity) tried(s *State, e *behaviour.Effects, started time.Time) {
	if !e.Ends {
		return
	}
	at := s.progress()
	e.Outcome.Attempt, e.Outcome.Started = at.Attempt, at.Started
	switch {
	case !started.IsZero():
		e.Outcome.Attempt, e.Outcome.Started = at.Attempt+1, started
	case at.HasOutput: // it had ended, and what follows from it was in error
		e.Outcome.Attempt++
	}
}

// carryOn terminates an activity that goes on after errors, when no attempt is left (R22).
func (a *Activity) carryOn(s *State, r *behaviour.Result, now time.Time) behaviour.Effects {
	rc := r.RC
	if rc == 0 {
		rc = noCode
	}
	next := a.ended(s, message.Ending{Failure: r.Err}, rc, now)
	next.Started = r.Started
	return a.evaluate(s, &next, now)
}

// caught terminates a block that goes on after errors, when something inside of it would wait for an
// operator (R22). In error is none of it: the block has another end.
func (a *Activity) caught(s *State, reason string, now time.Time) behaviour.Effects {
	return a.without(s, fmt.Sprintf("%s goes on after an error: %s", a.Name, reason), now, func() behaviour.Effects {
		r := a.ended(s, message.Ending{Failure: reason}, noCode, now)
		return a.evaluate(s, &r, now)
	})
}

// isCancelled says whether the activity ends because another one has cancelled it (R23).
func (a *Activity) isCancelled(s *State) bool {
	return s.cancel != nil && (s.cancel.around || s.Waiting(a) == 0)
}

// giveUp ends an activity that is cancelled (R23). What leads out of it is dead; where all that is
// around it is cancelled as well there is nobody to tell.
func (a *Activity) giveUp(s *State, started, now time.Time) behaviour.Effects {
	return a.without(s, s.cancel.reason, now, func() behaviour.Effects {
		at := s.progress()
		e := behaviour.Effects{Ends: true, Outcome: behaviour.Outcome{
			What: behaviour.Cancelled, Clock: message.Next(s.Clock), Iteration: at.Iteration, Attempt: at.Attempt, Run: at.Run, Reason: s.cancel.reason, Child: at.Child,
		}}
		a.tried(s, &e, started)
		if unbegun := a.isComposite() && at.Started.IsZero() && !s.InError(); unbegun || !s.Own && started.IsZero() {
			e.Outcome.Iteration = 0 // it was decided at most
		}
		if !s.cancel.around && !s.passed {
			e.Put = a.dead(s)
		}
		return a.healed(s, e, now)
	})
}

// healed tells the origin that an activity that was in error has ended.
func (a *Activity) healed(s *State, e behaviour.Effects, now time.Time) behaviour.Effects {
	told := s.Snapshot != nil && s.Snapshot.Gathered != nil && s.Snapshot.Gathered.Told > 0
	if !s.InError() && !told || !e.Ends {
		return e
	}
	return a.tell(s, e, message.Notice{Cleared: true, Time: now})
}

// Bounds of what one transaction cancels inside of a block: activities, and bytes of what names them.
const (
	cancelBatch = 900
	cancelNames = 512 << 10
)

// firstOf are those of the activities inside of a composite that one transaction cancels.
func firstOf(all []addressee) []addressee {
	size := 0
	for i, t := range all {
		if size += len(t.activity) + len(t.node) + len(t.scope); i == cancelBatch || size > cancelNames {
			return all[:i]
		}
	}
	return all
}

// cancelsOf are the messages that cancel activities inside of a composite.
func (a *Activity) cancelsOf(s *State, all []addressee, reason string) []message.Message {
	body := message.EncodeCancel(message.Cancel{Reason: reason})
	cancels := make([]message.Message, len(all))
	for i, t := range all {
		m := a.onward(s, t.target)
		m.Kind, m.Scope, m.Body = message.KindCancel, t.scope, body
		cancels[i] = m
	}
	return cancels
}

// without is what follows once all that is inside of a block was cancelled: that is told to each
// activity there, in as many transactions as it takes, and nobody is waited for (R23).
func (a *Activity) without(s *State, reason string, now time.Time, then func() behaviour.Effects) behaviour.Effects {
	at := s.progress()
	all := a.underWay(s, &at)
	if len(all) == 0 {
		e := then()
		e.Put = append(e.Put, a.abort(s, reason, now)...)
		return e
	}
	left := all[min(at.Cancelled, len(all)):]
	batch := firstOf(left)
	cancels := a.cancelsOf(s, batch, reason)
	var e behaviour.Effects
	if len(batch) < len(left) {
		at.Cancelled += len(batch)
		e = a.keep(s, at, behaviour.Outcome{What: behaviour.Cancelling, Iteration: at.Iteration, Run: at.Run, Reason: reason})
	} else {
		e = then()
	}
	e.Put = append(cancels, e.Put...)
	return e
}

// cancels are the messages to those that an activity cancels when it has run (R23).
func (a *Activity) cancels(s *State) []message.Message {
	var out []message.Message
	for _, c := range a.Cancels {
		m := a.onward(s, target{activity: c.Activity, node: c.Node})
		m.Kind = message.KindCancel
		m.Body = message.EncodeCancel(message.Cancel{Reason: fmt.Sprintf("%s has ended, and cancels it", a.Name)})
		out = append(out, m)
	}
	return out
}

// cancelled is what an entry knows of its being cancelled.
type cancelled struct {
	reason string
	by     message.Key
	around bool // all that is around it is cancelled as well
}

// foldCancel takes that the activity is cancelled (R23). Of several who say so one counts for the
// reason. Where one is around it, all others there are cancelled as well: what leads into it may never be
// resolved, and nobody needs to be told.
func (a *Activity) foldCancel(s *State, m message.Message) error {
	c, err := message.DecodeCancel(m.Body)
	if err != nil {
		return refuse("cancel of %s: %v", a.Name, err)
	}
	next := cancelled{reason: c.Reason, by: m.Key(), around: m.SourceScope != m.Scope}
	if s.cancel != nil {
		next.around = next.around || s.cancel.around
		if before := s.cancel; before.by.Source <= next.by.Source && (before.by.Source < next.by.Source || before.by.Scope <= next.by.Scope) {
			next.reason, next.by = before.reason, before.by
		}
	}
	s.cancel, s.Cancelled = &next, true
	s.seen(m)
	return nil
}
