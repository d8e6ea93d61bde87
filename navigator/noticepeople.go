package navigator

import (
	"errors"
	"fmt"
	"time"

	"fmqm/behaviour"
	"fmqm/condition"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

// What people are told beside the work (R51, R52): a notice with a staff expression, or of a manual activity without a program, is a work
// item that nobody has. Its home's desk asks who may see it whenever somebody looks.

var _ behaviour.Offering = (*notice)(nil)

// noticeDoers are who did what a notice's staff expression asks for, as the activity knows that when its notices begin; of one without
// an expression of its own what the activity's asks for. Of the process it is who has started the instance. Who has the activity itself is
// asked at the moment.
func (a *Activity) noticeDoers(s *State, number int) (did message.Doers) {
	row := &a.Notify[number]
	if !row.ForPeople() {
		return nil
	}
	all := a.Doers(s)
	if a.Kind == processtable.KindSink && s.Record != nil && s.Record.By != (message.Doer{}) {
		all = message.Doers{processtable.Source: s.Record.By}
	}
	if row.Staff == nil {
		return all
	}
	for _, of := range row.Staff.Asks() {
		if doer, known := all[of]; known {
			if did == nil {
				did = message.Doers{}
			}
			did[of] = doer
		}
	}
	return did
}

// unshown is what the snapshot of a notice has as its item while nobody is shown it.
func unshown(did message.Doers) *message.Item {
	if len(did) == 0 {
		return nil
	}
	return &message.Item{Did: did}
}

// isShown says whether people are shown a notice.
func isShown(at *message.Snapshot) bool { return at.Item != nil && !at.Item.Offered.IsZero() }

// shows has people see a notice whose time has come: in the place of the one that came before, if that is still there (R51). Where what
// its staff expression asks of the data has no answer history says so, and its program runs all the same.
func (n *notice) shows(s *noticed, row *processtable.Notice, input *container.Struct, now time.Time) behaviour.Effects {
	at := *s.at
	failure := ""
	if err := answers(n.asks(s), s.Entry.Instance, input); err != nil {
		failure, at.Item = "who may see it: "+err.Error(), unshown(at.Did())
	} else {
		at.Item = &message.Item{Offered: now, Did: at.Did()}
	}
	o := n.escalated(s, failure)
	if row.Program == "" {
		return n.goOn(s, at, o, now)
	}
	at.Attempt = 1 // people were told; the time stays until the program has run
	e := n.keep(s, at, 0, o)
	e.Timers, e.Takes = nil, nil
	return e
}

func (n *notice) asks(s *noticed) []*condition.Expr {
	number, _ := s.Entry.Scope.OfNotice()
	if n.of.Notify[number].Staff == nil {
		return n.of.asked
	}
	return n.of.notices[number].asked
}

// escalated is the line of history of a notice that has come to people.
func (n *notice) escalated(s *noticed, failure string) behaviour.Outcome {
	number, _ := s.Entry.Scope.OfNotice()
	o := behaviour.Outcome{What: behaviour.Escalated, Clock: message.Next(s.Clock), Attempt: number + 1, Reason: failure}
	o.Iteration, o.Told = s.which()
	return o
}

// Offers says whether entries of the activity's notices may be shown to people.
func (n *notice) Offers() bool {
	for i := range n.of.Notify {
		if n.of.Notify[i].ForPeople() {
			return true
		}
	}
	return false
}

// Item gives a notice as people are shown it; nil: its time has not come, it was taken off, or its activity has ended.
func (n *notice) Item(of behaviour.State) *behaviour.Item {
	s := of.(*noticed)
	if s.isOver() || !isShown(s.at) {
		return nil
	}
	return n.shown(s, s.at.Item)
}

// shown is the item of a notice.
func (n *notice) shown(s *noticed, item *message.Item) *behaviour.Item {
	a, row := n.of, n.row(s)
	out := &behaviour.Item{
		Item: *item, At: message.NoticeExecution, Due: s.at.Deadline, Did: s.at.Did(), Staff: row.Staff, Title: n.title(nil),
		Priority: message.Rank(0).Priority(processtable.DefaultPriority),
		Notice:   &behaviour.Notice{Of: message.Entry{Instance: s.Entry.Instance, Scope: s.Entry.Scope.Leave(), Activity: a.Name}, Input: a.noticeInput(), Own: a.own},
	}
	if row.Staff == nil {
		out.Staff = a.Manual.Staff
		out.Notice.Holder = true
	}
	input, err := n.input(s)
	if err != nil { // it was read when it came
		return out
	}
	if out.Input, out.Title = input, n.title(input); s.isTold() {
		out.Title, out.Notice.Told, out.Notice.Output = n.heading(s.at.Told), s.at.Told, n.output(s)
	}
	out.Priority = n.rank(s, input).Priority(processtable.DefaultPriority)
	return out
}

// title is that of the activity, or the name of what has none.
func (n *notice) title(input *container.Struct) string {
	switch a := n.of; {
	case a.Kind == processtable.KindManual && input != nil:
		return a.title(input)
	case a.Kind == processtable.KindSink:
		return a.process.table.Process.Name
	default:
		return string(a.Name)
	}
}

// rank is the priority of a notice: that of its activity.
func (n *notice) rank(s *noticed, input *container.Struct) message.Rank {
	switch a := n.of; {
	case s.Expedited != 0:
		return s.Expedited
	case a.urgent.given:
		rank, _ := a.urgent.of(s.Entry.Instance, input)
		return rank
	case s.Rank != 0:
		return s.Rank
	default:
		return a.process.rank
	}
}

// Draft is empty: nothing is filled in.
func (n *notice) Draft(behaviour.State) (*container.Struct, error) {
	return container.New(container.Empty), nil
}

// work takes a notice off the worklists (R52). It is said once; nobody has it, so nothing else is done to one.
func (n *notice) work(s *noticed, w *behaviour.Work) (behaviour.Effects, error) {
	switch {
	case n.Item(s) == nil:
		return behaviour.Effects{}, errors.New("nobody is shown it now")
	case w.Wish != message.WishComplete:
		return behaviour.Effects{}, fmt.Errorf("it is a notice, which nobody has: complete it, and it is off the worklists; to %s the work say so of the item of %s", w.Wish, n.of.Name)
	case len(w.Output) > 0:
		return behaviour.Effects{}, errors.New("it is a notice, which has no output: complete it without one")
	}
	o := n.escalated(s, "")
	o.By, o.For = w.By.Person, w.By.For
	credit(&o, w)
	at := *s.at
	if at.Item = unshown(at.Did()); at.Due.IsZero() && (at.Told == nil || at.Notices) {
		return behaviour.Effects{Ends: true, Outcome: o}, nil
	}
	e := n.keep(s, at, 0, o)
	e.Takes = nil // its next time may have come
	return e, nil
}
