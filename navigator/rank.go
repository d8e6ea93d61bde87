package navigator

import (
	"fmt"

	"fmqm/behaviour"
	"fmqm/condition"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

// Priorities (R60). The word of an expedite goes before all; then what the activity has of its own; what its
// instance was given, which its messages carry; the process's.

// urgency is a priority of a table made ready: fixed, or over an input.
type urgency struct {
	given bool // there is one
	fixed int
	expr  *condition.Expr
}

func prepareUrgency(p *processtable.Priority, input *container.Type) (u urgency, err error) {
	if p == nil {
		return u, nil
	}
	u = urgency{given: true, fixed: p.Fixed}
	if p.Expr != nil {
		if u.expr, err = condition.LoadExpr(*p.Expr, inputScope(input), container.Scalar(container.Int)); err != nil {
			return u, fmt.Errorf("priority %q: %w", p.Expr.Text, err)
		}
	}
	return u, nil
}

// of gives the rank over an input.
func (u *urgency) of(instance message.InstanceID, input *container.Struct) (message.Rank, error) {
	if u.expr == nil {
		return message.RankOf(int64(u.fixed)), nil
	}
	v, err := u.expr.Eval(&condition.Spent{}, input, &condition.Values{Instance: instance.String()})
	if err != nil {
		return 0, fmt.Errorf("priority: %w", err)
	}
	n, _ := v.(int64)
	return message.RankOf(n), nil
}

// ranks is the rank of an entry of the activity over its input; nil: that is not asked.
func (a *Activity) ranks(s *State, input *container.Struct) (message.Rank, error) {
	switch {
	case s.Expedited != 0:
		return s.Expedited, nil
	case a.urgent.given && input != nil:
		return a.urgent.of(s.Entry.Instance, input)
	case s.Rank != 0:
		return s.Rank, nil
	}
	return a.process.rank, nil
}

// shownRank is the rank of an entry for people, over its input, if that was made already; 0: that cannot be reckoned.
func (a *Activity) shownRank(s *State, input *container.Struct) message.Rank {
	if input == nil && a.urgent.given && s.Expedited == 0 {
		if input, _ = a.InputOf(s); input == nil {
			return 0
		}
	}
	rank, err := a.ranks(s, input)
	if err != nil {
		return 0
	}
	return rank
}

// ranked has what is to be invoked without its input say the priority of its instance.
func (a *Activity) ranked(s *State, e *behaviour.Effects) {
	if e.Invoke != nil && e.Invoke.Rank == 0 {
		e.Invoke.Rank, _ = a.ranks(s, nil)
	}
}

// givesChild is the priority that a subprocess gives its child: the word of an expedite, if that reaches it; the
// activity's own; what the instance was given. 0: that of the child's process.
func (a *Activity) givesChild(s *State) message.Rank {
	switch {
	case s.Expedited != 0 && !a.Independent:
		return s.Expedited
	case a.urgent.given:
		if input, err := a.InputOf(s); err == nil { // it was reckoned before the child was looked for
			rank, _ := a.urgent.of(s.Entry.Instance, input)
			return rank
		}
	}
	return s.Rank
}

// rankOf is the rank that an instance begins with: what it was given; what its process says of its input, where that
// is an expression; 0: none, since every table has the process's.
func (p *Process) rankOf(given message.Rank, instance message.InstanceID, input *container.Struct) (message.Rank, error) {
	if given != 0 || p.urgent.expr == nil {
		return given, nil
	}
	rank, err := p.urgent.of(instance, input)
	if rank == p.rank { // which each table says
		rank = 0
	}
	return rank, err
}
