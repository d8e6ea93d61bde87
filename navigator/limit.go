package navigator

import (
	"fmt"
	"time"

	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

// limits says whether the activity holds the deadline of its process (R30): that is sink.
func (a *Activity) limits() bool {
	return a.Deadline != nil && a.Kind == processtable.KindSink && a.top()
}

// limit sets the process's deadline once the instance is known, and ends the instance when it has come: by a
// marker, as an operator does, which sink passes on to the other nodes when it has ended (R30).
func (a *Activity) limit(s *State, now time.Time) behaviour.Effects {
	at := s.progress()
	switch {
	case s.Record == nil, s.InError() && at.Deadline.IsZero(): // it may be what cannot be reckoned
		return behaviour.Effects{}
	case at.Deadline.IsZero():
		input, err := container.DecodeCBOR(a.process.table.Input, s.Record.Input)
		if err != nil {
			return a.fail(s, at, message.CauseInput, fmt.Sprintf("deadline: read the input: %v", err), now)
		}
		pause, err := a.decided(s, &at, input.(*container.Struct), s.Record.Started)
		if err != nil {
			return a.fail(s, at, message.CauseInput, err.Error(), now)
		}
		return a.set(a.keep(s, at, behaviour.Outcome{}), timerDeadline, pause)
	case !s.expired():
		return behaviour.Effects{}
	}
	at.TimedOut = true
	told := a.tellsItself(s, &at, message.Told{On: processtable.OnDeadline, Time: now})
	e := a.keep(s, at, behaviour.Outcome{})
	here := a.process.table.Node
	e.Put = append(e.Put, message.Message{
		Header: message.Header{
			Queue: message.Queue{Process: a.process.table.Process, Node: here}, Instance: s.Entry.Instance, Origin: here,
			Kind: message.KindMarker, Lane: message.LaneControl,
		},
		Body: message.EncodeMarker(message.Marker{Reason: "the deadline of the process has come", Time: now, By: "its deadline", Relay: true}),
	})
	e.Put = append(e.Put, told...)
	return e
}

// checkLimit says whether the process's deadline, and the times of its notices, can be reckoned over the input of an
// instance: if not, it is not started (R30, R36).
func (p *Process) checkLimit(s *State, input *container.Struct, now time.Time) error {
	sink := p.activities.Get(processtable.RowID{Name: processtable.Sink})
	if sink == nil || !sink.limits() && len(sink.notices) == 0 {
		return nil
	}
	at := s.progress()
	_, err := sink.decided(s, &at, input, now)
	if err == nil {
		_, err = sink.notifies(s, &at, input, now)
	}
	return err
}
