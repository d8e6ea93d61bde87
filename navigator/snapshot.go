package navigator

import (
	"fmt"
	"slices"
	"time"

	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

// quickIterations is how many iterations with _RC other than 0 may follow one another
// at once (N9).
const quickIterations = 3

// again starts the next iteration (R6, R13).
func (a *Activity) again(s *State, r *behaviour.Result, j *judged, now time.Time) behaviour.Effects {
	at := s.progress()
	if at.Iteration >= a.MaxIterations {
		return a.failEvaluated(s, r, fmt.Sprintf(
			"exit condition %q still FALSE after %d iterations (max_iterations)", a.Exit.Text, at.Iteration), now)
	}
	next, err := a.feedback(s, j)
	if err != nil {
		return a.failEvaluated(s, r, err.Error(), now)
	}
	snapshot := message.Snapshot{Iteration: at.Iteration + 1, Run: at.Run, Input: next, Deadline: at.Deadline, Counted: at.Counted, Came: at.Came, Notices: at.Notices, Edition: at.Edition}
	iterated := behaviour.Outcome{
		What: behaviour.Iterated, Iteration: at.Iteration, Attempt: at.Attempt + 1, Run: at.Run, RC: r.RC, Started: r.Started, About: r.Event,
	}
	if a.Kind == processtable.KindBlock {
		return a.begin(s, snapshot, next, iterated, now)
	}
	if r.RC != 0 && r.Ended.Sub(r.Started) < a.Activity.Again.After {
		snapshot.Quick = at.Quick + 1
	}
	if n := snapshot.Quick - quickIterations; n >= 0 {
		snapshot.Due = now.Add(a.Activity.Again.Pause(n))
	}
	return a.keep(s, snapshot, iterated)
}

// feedback gives the next iteration's input: this one's, with the feedback mappings
// applied in order.
func (a *Activity) feedback(s *State, j *judged) ([]byte, error) {
	if j.nextErr != nil {
		return nil, j.nextErr
	}
	input, err := a.InputOf(s)
	if err != nil {
		return nil, err
	}
	if err := assign(input, a.Feedback, j.next, (*container.Struct).Assign); err != nil {
		return nil, err
	}
	encoded, err := container.EncodeCBOR(input)
	if err != nil {
		return nil, fmt.Errorf("encode the next iteration's input: %w", err)
	}
	return encoded, nil
}

// failedAttempt repeats the attempt after a pause, or gives up (R11).
func (a *Activity) failedAttempt(s *State, r *behaviour.Result, now time.Time) behaviour.Effects {
	at := s.progress()
	at.Attempt++
	if a.Kind == processtable.KindProcess {
		at.Begun = false
	}
	at.RC, at.LastFailure, at.Started = r.RC, r.Err, r.Started
	switch spent := r.Final || at.Attempt >= a.Retry.Attempts; {
	case spent && a.Continues:
		return a.carryOn(s, r, now)
	case spent:
		return a.fail(s, at, message.CauseAttempts, r.Err, now)
	}
	at.Due = now.Add(a.Retry.Backoff.Pause(at.Attempt - 1))
	return a.keep(s, at, behaviour.Outcome{
		What: behaviour.Failed, Iteration: at.Iteration, Attempt: at.Attempt, Run: at.Run, RC: r.RC, Started: r.Started, Reason: r.Err,
	})
}

// failEvaluated puts the activity in error after its program ended, keeping the
// output so that a retry evaluates it again (R12). For the source of a block it is the block (R24).
func (a *Activity) failEvaluated(s *State, r *behaviour.Result, reason string, now time.Time) behaviour.Effects {
	if a.Kind == processtable.KindSource && !a.top() {
		return a.abandon(s, reason)
	}
	at := s.progress()
	if s.InError() && !at.HasOutput && at.Attempt > 0 && !byItself(r) {
		at.Attempt-- // an output is of the attempt behind those that have failed, and its deadline has ended the last one of these
	}
	at.RC, at.Started, at.Ending = r.RC, r.Started, r.Ending
	if a.Kind == processtable.KindProcess || a.Kind == processtable.KindReceive {
		at.Begun = false
	}
	at.Event = r.EventName()
	if encoded, err := container.EncodeCBOR(r.Output); err == nil {
		at.HasOutput, at.Output = true, encoded
	}
	e := a.fail(s, at, message.CauseResult, reason, now)
	e.Outcome.About = r.Event
	return e
}

// fail puts the entry in error, durably, and tells the origin (R11, R12; N4).
func (a *Activity) fail(s *State, at message.Snapshot, cause message.Cause, reason string, now time.Time) behaviour.Effects {
	at.Failed, at.Error, at.Due, at.Cause, at.Hand = true, reason, time.Time{}, cause, nil
	if cause != message.CauseRefused {
		at.Source = ""
	}
	told := a.tellsItself(s, &at, message.Told{On: processtable.OnError, Activity: a.Name, Text: reason, Time: now})
	e := a.keep(s, at, behaviour.Outcome{
		What: behaviour.InError, Iteration: at.Iteration, Attempt: at.Attempt, Run: at.Run, RC: at.RC, Reason: reason, Ending: at.Ending,
	})
	e.Put = append(e.Put, told...)
	if m, caught := a.throw(s, reason); caught {
		e.Put = append(e.Put, m)
		return e
	}
	return a.tell(s, e, message.Notice{Error: reason, Attempts: at.Attempt, Time: now})
}

// throw is the message to the nearest block around that catches errors (R22); false: there is none.
func (a *Activity) throw(s *State, reason string) (m message.Message, caught bool) {
	scope := s.Entry.Scope
	for i, c := range slices.Backward(a.Path) {
		scope = scope.Leave()
		if !c.Catches {
			continue
		}
		node, _ := a.process.table.NodeOf(processtable.RowAt(c.Activity, a.Path[:i]))
		m := a.onward(s, target{activity: c.Activity, node: node})
		m.Kind, m.Lane, m.Scope = message.KindReturn, message.LaneData, scope
		m.Body = message.EncodeReturn(message.Return{Error: reason})
		return m, true
	}
	return message.Message{}, false
}

// Refused puts the entry in error because a message to it could not take effect (L5).
func (a *Activity) Refused(s *State, m message.Message, reason string, now time.Time) behaviour.Effects {
	s.Entry = m.Entry()
	if s.Origin == "" {
		s.Origin = m.Origin
	}
	at := s.progress()
	at.Source = m.Source
	return a.fail(s, at, message.CauseRefused, fmt.Sprintf("message from %s was refused: %s", m.Source, reason), now)
}

// BrokenBy says whether the entry waits for connectors, and is in error because a
// message from the same source was refused. Who waits for connectors has no other cause,
// so of a snapshot without one (version 1) any refused message of theirs may have been it.
func (a *Activity) BrokenBy(s *State, m message.Message) bool {
	open := s.Waiting(a) > 0 || a.First > 0 && len(s.Snapshot.Counted) == 0
	if !s.InError() || s.Snapshot.HasOutput || !open {
		return false
	}
	switch s.Snapshot.Cause {
	case message.CauseRefused:
		return s.Snapshot.Source == m.Source
	case message.CauseUnknown:
		return true
	case message.CauseAttempts, message.CauseResult, message.CauseInput, message.CauseUnsent:
	}
	return false
}

// Review gives the result whose conditions a word evaluates; nil: none. It fails where
// Command does. now is when the word is carried out.
func (a *Activity) Review(of behaviour.State, c behaviour.Reviewable, now time.Time) (*behaviour.Result, error) {
	s := of.(*State)
	switch c := c.(type) {
	case behaviour.Retry:
		return a.reviewRetry(s, c, now)
	case behaviour.Work:
		return a.reviewWork(s, c, now)
	case behaviour.ByHand:
		return a.reviewHand(s, &c, now)
	}
	return nil, fmt.Errorf("activity %s knows no word of type %T", a.Name, c)
}

// reviewRetry is Review of a retry.
func (a *Activity) reviewRetry(s *State, c behaviour.Retry, now time.Time) (*behaviour.Result, error) {
	output := c.Output
	switch {
	case !s.InError():
		return nil, fmt.Errorf("retry %s: it is not in error", s.Entry.Path())
	case a.Kind == processtable.KindSink && output != nil:
		return nil, fmt.Errorf("retry %s: it has no output: retry it without one", s.Entry.Path())
	case (s.passed || s.dead != nil) && output != nil:
		return nil, fmt.Errorf("retry %s: it is on a dead path and does not run: retry it without an output", s.Entry.Path())
	case c.Input != nil && (a.Kind == processtable.KindSink || a.Kind == processtable.KindSource || s.passed || s.dead != nil || s.Waiting(a) > 0):
		return nil, fmt.Errorf("retry %s: it is not its input that it is in error for: retry it without one", s.Entry.Path())
	case c.Input != nil && output != nil:
		return nil, fmt.Errorf("retry %s: give an input, with which it runs again, or an output, with which it has run", s.Entry.Path())
	case output != nil:
		return &behaviour.Result{Output: output, Started: now, Ended: now, Given: true}, nil
	case !s.Snapshot.HasOutput, c.Input != nil:
		return nil, nil
	}
	kept, err := a.keptOutput(*s.Snapshot)
	if err != nil {
		return nil, err
	}
	return &behaviour.Result{RC: s.Snapshot.RC, Output: kept, Ending: s.Snapshot.Ending, Started: s.Snapshot.Started, Ended: now, Event: message.EventNamed(s.Snapshot.Event), By: s.doer()}, nil
}

// Resume is the operator's hand on an activity in error (R17): it runs under a new run
// number, or, after a failed evaluation, evaluates again; with output the program is
// taken to have ended with it and _RC 0; with another input the program runs with that. It fails if the entry is not in error. Reviewed is
// the result of Review with its Judgement, made beforehand, or nil: if it is not of what
// is evaluated now, the error is ErrReviewed of behaviour.
func (a *Activity) Resume(s *State, c behaviour.Retry, now time.Time) (behaviour.Effects, error) {
	r, err := a.reviewRetry(s, c, now)
	if err != nil {
		return behaviour.Effects{}, err
	}
	output, reviewed := c.Output, c.Reviewed
	if reviewed != nil && (r == nil || r.RC != reviewed.RC || !container.Equal(r.Output, reviewed.Output)) {
		return behaviour.Effects{}, fmt.Errorf("retry %s: %w", s.Entry.Path(), behaviour.ErrReviewed)
	}
	at := *s.Snapshot
	healed := s.clone()
	at.Failed, at.Error, at.Quick = false, "", 0
	at.Cause, at.Source = message.CauseUnknown, ""
	if c.Input != nil {
		if at.Input, err = container.EncodeCBOR(c.Input); err != nil {
			return behaviour.Effects{}, fmt.Errorf("retry %s: encode the input: %w", s.Entry.Path(), err)
		}
	}
	healed.Snapshot = &at
	if r != nil {
		if reviewed != nil {
			r.Judged = reviewed.Judged
		}
		r.Judged = a.judgement(r)
	}
	var e behaviour.Effects
	if r == nil || output == nil && a.usedUp(at, a.judgement(r)) {
		e = a.restart(healed, at, now)
	} else {
		e = a.evaluate(healed, r, now)
	}
	if e.Outcome.What != behaviour.InError {
		e = a.tell(s, e, message.Notice{Cleared: true, Time: now})
	}
	return e, nil
}

// keptOutput is the output that the program had ended with when the error came.
func (a *Activity) keptOutput(at message.Snapshot) (*container.Struct, error) {
	kept, err := a.output(at.Output)
	if err != nil {
		err = fmt.Errorf("retry %s: read its output: %w", a.Name, err)
	}
	return kept, err
}

// usedUp: the last iteration that max_iterations allows has not fulfilled the exit
// condition; to evaluate it again would change nothing.
func (a *Activity) usedUp(at message.Snapshot, j *judged) bool {
	return at.Iteration >= a.MaxIterations && j.reason == "" && !j.done
}

// restart runs the program again, under a new run number (P1).
func (a *Activity) restart(healed *State, at message.Snapshot, now time.Time) behaviour.Effects {
	aborted := append(a.abort(healed, fmt.Sprintf("%s begins another instance, after a retry", a.Name), now),
		a.reopen(healed, fmt.Sprintf("%s begins anew, after a retry", a.Name))...)
	at.Run, at.Attempt, at.LastFailure = at.Run+1, 0, ""
	at.HasOutput, at.Output, at.RC, at.Begun, at.Ending, at.Event = false, nil, 0, false, message.Ending{}, ""
	at.Gathered, at.At, at.Item = nil, "", nil
	e := a.keep(healed, at, behaviour.Outcome{What: behaviour.Retried, Iteration: at.Iteration, Run: at.Run})
	e.Put = append(e.Put, aborted...)
	return e
}

// pause is what the timer of a snapshot was set for: the one after a failed attempt, or
// between two iterations.
func (a *Activity) pause(at *message.Snapshot) time.Duration {
	if at.Attempt > 0 {
		return a.Retry.Backoff.Pause(at.Attempt - 1)
	}
	return a.Activity.Again.Pause(at.Quick - quickIterations)
}

// keep replaces the entry's snapshot.
func (a *Activity) keep(s *State, snapshot message.Snapshot, o behaviour.Outcome) behaviour.Effects {
	o.Clock = message.Next(s.Clock)
	m := a.onward(s, target{activity: a.Name, node: a.process.table.Node})
	m.Source, m.Kind = "", message.KindSnapshot
	m.Body = message.EncodeSnapshot(snapshot)
	e := behaviour.Effects{Put: []message.Message{m}, Outcome: o}
	all := times(&snapshot)
	for _, k := range append(a.passing(s), s.passes(&snapshot)...) {
		if !slices.ContainsFunc(all, func(t behaviour.Timer) bool { return t.Name != "" && k == message.DueKey(&s.Entry, t.Name, t.Due) }) {
			e.Takes = append(e.Takes, k) // a deadline that has come is looked at until the end
		}
	}
	for _, t := range all {
		if t.Name == "" {
			t.Pause = a.pause(&snapshot)
		} else if s.Came(t) {
			continue
		}
		e.Timers = append(e.Timers, t)
	}
	return e
}

// tell adds the message that tells sink, at the origin, or the bundle around (R32), of an error (N4). The process's sink's own
// needs none, and that of an entry whose origin is not known can go nowhere.
func (a *Activity) tell(s *State, e behaviour.Effects, n message.Notice) behaviour.Effects {
	if a.Kind == processtable.KindSink && a.top() || s.Origin == "" {
		return e
	}
	to := addressee{target{activity: processtable.Sink, node: processtable.Origin}, ""} // it is the instance's, wherever the activity is (N10)
	if around, found := a.bundleAround(s.Entry.Scope); found {
		to = around
	}
	m := a.onward(s, to.target)
	m.Kind, m.Scope = message.KindNotice, to.scope
	m.Body = message.EncodeNotice(n)
	e.Put = append(e.Put, m)
	return e
}

// Unsent puts the entry in error because its transaction could not be committed as it
// stands: it is too large. A program that had ended is not run again by a retry.
func (a *Activity) Unsent(s *State, r *behaviour.Result, reason string, now time.Time) behaviour.Effects {
	if r = a.unsentReturn(s, r, now); r != nil && r.Err == "" && r.Output != nil {
		return a.failEvaluated(s, r, reason, now)
	}
	return a.fail(s, s.progress(), message.CauseUnsent, reason, now)
}
