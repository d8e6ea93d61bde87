package navigator

import (
	"fmt"
	"slices"
	"time"

	"fmqm/behaviour"
)

// The words of the contract (package behaviour).
type (
	Effects   = behaviour.Effects
	Invoke    = behaviour.Invoke
	Outcome   = behaviour.Outcome
	What      = behaviour.What
	Result    = behaviour.Result
	Judgement = behaviour.Judgement
	Refusal   = behaviour.Refusal
	Start     = behaviour.Start
	Spoken    = behaviour.Spoken
)

const (
	Nothing    = behaviour.Nothing
	Terminated = behaviour.Terminated
	Skipped    = behaviour.Skipped
	Stopped    = behaviour.Stopped
	Iterated   = behaviour.Iterated
	Failed     = behaviour.Failed
	InError    = behaviour.InError
	Retried    = behaviour.Retried
	Passed     = behaviour.Passed
)

var (
	_ behaviour.Behaviour = (*Activity)(nil)
	_ behaviour.Process   = (*Process)(nil)
)

// Command says what follows from a word about an entry.
func (a *Activity) Command(of behaviour.State, c behaviour.Command, now time.Time) (Effects, error) {
	s := of.(*State)
	switch c := c.(type) {
	case behaviour.Retry:
		return a.Resume(s, c.Output, c.Reviewed, now)
	case behaviour.Refuse:
		return a.Refused(s, c.Message, c.Reason, now), nil
	case behaviour.Forgive:
		return a.forgive(s, c, now)
	case behaviour.TooLarge:
		return a.Unsent(s, c.Result, c.Reason, now), nil
	}
	return Effects{}, fmt.Errorf("activity %s knows no command of type %T", a.Name, c)
}

// forgive lets an entry leave the error that a refused message had put it in.
func (a *Activity) forgive(s *State, c behaviour.Forgive, now time.Time) (Effects, error) {
	if !a.BrokenBy(s, c.Message) {
		return Effects{}, nil
	}
	open := s.Unresolved(a)
	for _, other := range c.Others {
		if other.Message.Entry() == c.Message.Entry() && other.Message.Source != c.Message.Source && slices.Contains(open, other.Message.Source) {
			return a.Refused(s, other.Message, other.Reason, now), nil
		}
	}
	e, err := a.Resume(s, nil, nil, now)
	e.Outcome = Outcome{} // whoever has seen to the message tells of it
	return e, err
}
