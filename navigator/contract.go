package navigator

import (
	"fmt"
	"slices"
	"time"

	"fmqm/behaviour"
)

var (
	_ behaviour.Behaviour = (*Activity)(nil)
	_ behaviour.Process   = (*Process)(nil)
)

// Command says what follows from a word about an entry.
func (a *Activity) Command(of behaviour.State, c behaviour.Command, now time.Time) (behaviour.Effects, error) {
	s := of.(*State)
	e, err := a.command(s, c, now)
	a.complete(s, &e, now)
	return e, err
}

func (a *Activity) command(s *State, c behaviour.Command, now time.Time) (behaviour.Effects, error) {
	switch c := c.(type) {
	case behaviour.Retry:
		return a.Resume(s, c, now)
	case behaviour.Work:
		return a.work(s, c, now)
	case behaviour.ByHand:
		return a.endByHand(s, &c, now)
	case behaviour.Restart:
		return a.recallSent(s, &c, now)
	case behaviour.Withdraw:
		return a.withdrawRestart(s, c, now)
	case behaviour.Refuse:
		return a.Refused(s, c.Message, c.Reason, now), nil
	case behaviour.Forgive:
		return a.forgive(s, c, now)
	case behaviour.TooLarge:
		return a.Unsent(s, c.Result, c.Reason, now), nil
	}
	return behaviour.Effects{}, fmt.Errorf("activity %s knows no command of type %T", a.Name, c)
}

// forgive lets an entry leave the error that a refused message had put it in.
func (a *Activity) forgive(s *State, c behaviour.Forgive, now time.Time) (behaviour.Effects, error) {
	if !a.BrokenBy(s, c.Message) {
		return behaviour.Effects{}, nil
	}
	open := s.Unresolved(a)
	for _, other := range c.Others {
		if other.Message.Entry() == c.Message.Entry() && other.Message.Source != c.Message.Source && slices.Contains(open, other.Message.Source) {
			return a.Refused(s, other.Message, other.Reason, now), nil
		}
	}
	e, err := a.Resume(s, behaviour.Retry{}, now)
	e.Outcome = behaviour.Outcome{} // whoever has seen to the message tells of it
	return e, err
}
