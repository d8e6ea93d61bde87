package navigator

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

// wordOf is what people call a hand.
func wordOf(skips bool) string {
	if skips {
		return "skip"
	}
	return "finish"
}

// takesHand says why an activity cannot be ended by hand as it is (R50); nil: it can.
func (a *Activity) takesHand(s *State) error {
	switch {
	case a.Kind == processtable.KindSource || a.Kind == processtable.KindSink:
		return errors.New("it is the engine's own: finish or skip an activity, or terminate the instance")
	case a.isOffer():
		return fmt.Errorf("it is offered here, and at home at %s: name the activity itself, %s", a.around().node.At(s.Origin), s.Entry.Scope.Leave().Path(a.Name))
	case a.isWork():
		return fmt.Errorf("it is the work of a call: name the call, %s", s.Entry.Scope.Leave().Path(a.Name))
	case s.Stopped:
		return errors.New("the instance is terminated")
	case s.cancel != nil:
		return fmt.Errorf("it is being cancelled: %s", s.cancel.reason)
	case s.Restart() != nil:
		return errors.New("it has ended, and is to be restarted: fmqm restart --withdraw lets that be")
	case s.reached().Hand != nil:
		return fmt.Errorf("%s ends it already", s.reached().Hand.By)
	case s.passed || s.dead != nil:
		return errors.New("it is on a dead path, and ends by itself")
	case s.Waiting(a) > 0:
		return fmt.Errorf("it is not decided whether it runs: it waits for %s: finish or skip that", join(s.Unresolved(a)))
	case a.awaitsBegin(s):
		return errors.New("what begins it has not begun")
	case a.First > 0 && len(s.reached().Counted) == 0, !a.starts(s), s.expired() && !a.limits():
		return errors.New("it is just being decided: see how it stands, and try again")
	}
	return nil
}

func join(names []processtable.ActivityID) string {
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = string(name)
	}
	return strings.Join(texts, ", ")
}

// reviewHand gives the result that a finish evaluates; nil: it skips. It fails where endByHand does, unless what
// follows cannot be sent.
func (a *Activity) reviewHand(s *State, c *behaviour.ByHand, now time.Time) (*behaviour.Result, error) {
	if err := a.takesHand(s); err != nil {
		return nil, fmt.Errorf("%s %s: %w", wordOf(c.Output == nil), s.Entry.Path(), err)
	}
	if c.Output == nil {
		return nil, nil
	}
	return forced(c.Output, c.Started, now), nil
}

// forced is the result of an activity that is finished by hand.
func forced(output *container.Struct, started, now time.Time) *behaviour.Result {
	if started.IsZero() {
		started = now
	}
	return &behaviour.Result{Output: output, Started: started, Ended: now, Given: true, Forced: true}
}

// endByHand is an operator's hand on an activity that was decided TRUE (R50). What is wrong with his output is an
// error, and nothing changes.
func (a *Activity) endByHand(s *State, c *behaviour.ByHand, now time.Time) (behaviour.Effects, error) {
	r, err := a.reviewHand(s, c, now)
	if err != nil {
		return behaviour.Effects{}, err
	}
	name := fmt.Sprintf("%s %s", wordOf(c.Output == nil), s.Entry.Path())
	hand := message.Hand{Skip: c.Output == nil, By: c.By, Why: c.Why}
	var j *judged
	if r != nil {
		if c.Reviewed != nil {
			if !container.Equal(r.Output, c.Reviewed.Output) {
				return behaviour.Effects{}, fmt.Errorf("%s: %w", name, behaviour.ErrReviewed)
			}
			r.Judged = c.Reviewed.Judged
		}
		if j = a.judgement(r); j.reason != "" {
			return behaviour.Effects{}, fmt.Errorf("%s: %s", name, j.reason)
		}
		if hand.Output, err = container.EncodeCBOR(r.Output); err != nil {
			return behaviour.Effects{}, fmt.Errorf("%s: output: %w", name, err)
		}
	}
	ending := s.clone()
	at := s.progress()
	at.Hand, at.Due, at.Cancelled = &hand, time.Time{}, 0
	ending.Snapshot = &at
	e := a.byHand(ending, j, c.Started, now)
	if e.Outcome.What == behaviour.InError {
		return behaviour.Effects{}, fmt.Errorf("%s: %s", name, e.Outcome.Reason)
	}
	return e, nil
}

// byHand goes on ending an activity, in as many transactions as it takes (R50). j is what its output leads to; nil: it
// is evaluated now.
func (a *Activity) byHand(s *State, j *judged, started, now time.Time) behaviour.Effects {
	h := s.reached().Hand
	reason := fmt.Sprintf("%s was finished by %s", a.Name, h.By)
	if h.Skip {
		reason = fmt.Sprintf("%s was skipped by %s", a.Name, h.By)
	}
	e := a.without(s, reason, now, func() behaviour.Effects {
		if h.Skip {
			return a.healed(s, a.skipByHand(s, reason, started, now), now)
		}
		output, err := a.output(h.Output)
		if err != nil {
			return a.fail(s, s.progress(), message.CauseUnsent, fmt.Sprintf("read the output that was given by hand: %v", err), now)
		}
		r := forced(output, started, now)
		if j != nil {
			r.Judged = j
		}
		return a.healed(s, a.evaluate(s, r, now), now)
	})
	if e.Outcome.What != behaviour.InError {
		e.Outcome.By, e.Outcome.Reason = h.By, h.Why
	}
	return e
}

// skipByHand ends an activity as one on a dead path. What is one execution of a bundle counts as failed there.
func (a *Activity) skipByHand(s *State, reason string, started, now time.Time) behaviour.Effects {
	at := s.reached()
	e := behaviour.Effects{Ends: true, Put: a.dead(s), Outcome: behaviour.Outcome{
		What: behaviour.Skipped, Clock: message.Next(s.Clock), Iteration: at.Iteration, Run: at.Run, Child: at.Child,
	}}
	a.tried(s, &e, started)
	if !a.Begun() {
		return e
	}
	encoded, err := container.EncodeCBOR(container.New(a.Output))
	if err != nil {
		return a.fail(s, s.progress(), message.CauseUnsent, fmt.Sprintf("encode its defaults: %v", err), now)
	}
	e.Put = append(e.Put, a.returns(s, message.Return{Output: encoded, RC: noCode, Ending: message.Ending{Failure: reason}}))
	return e
}
