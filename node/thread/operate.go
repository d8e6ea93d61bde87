package thread

import (
	"bytes"
	"errors"
	"fmt"

	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/instancetable"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// starting is a start under way, from its reading whether it was before.
type starting struct {
	word    *word
	marked  bool    // its instance has a marker
	waiting []*word // other starts of the instance
}

// start starts an instance, or finds that it was started before (N2). One that is under way
// is waited for.
func (m *Machine) start(w *word, say Start) {
	id := say.Start.Instance
	if under := m.starting[id]; under != nil {
		under.waiting = append(under.waiting, w)
		return
	}
	s := &starting{word: w}
	m.starting[id] = s
	m.load(s, HowEnded|Marker, source(id))
}

func source(id message.InstanceID) message.Entry {
	return message.Entry{Instance: id, Activity: processtable.Source}
}

func (s *starting) loaded(m *Machine, facts []Facts) {
	say := s.word.say.(Start)
	if end := facts[0].End; end != nil {
		code, text := m.sameStart(say.Start, *end)
		m.startAnswered(say.Start.Instance, code, text)
		return
	}
	s.marked = s.marked || facts[0].Marker != nil
	m.begin(s.word, say)
}

func (s *starting) unread(m *Machine, err error) {
	m.startAnswered(s.word.say.(Start).Start.Instance, NotDone, err.Error())
}

// begin starts an instance that was not started before.
func (m *Machine) begin(w *word, say Start) {
	o := say.Start
	effects, err := m.process.Start(o)
	if err != nil {
		m.startAnswered(o.Instance, Refused, err.Error())
		return
	}
	m.starts.note(o.Instance)
	if !m.losses.Anew {
		m.lives.born(o.Instance)
		if m.starting[o.Instance].marked {
			m.lives.mark(o.Instance)
		}
	}
	key := source(o.Instance)
	e := instancetable.NewEntry(key, m.process.Activity(processtable.Source))
	e.Phase, e.Known.Origin, e.Known.Trace = instancetable.Settling, m.self, o.Trace
	s := newSettlement(e)
	s.entry, s.word = nil, w // source has none in the table
	effects.Outcome.Reason = o.Key
	m.addEntry(s, e, e.Known, nil, effects)
	m.finish(s)
}

// startEnded takes the end of a start's transaction.
func (m *Machine) startEnded(s *settlement, e Committed) {
	id := s.primary.Instance
	switch e.End {
	case Done:
		for _, ended := range s.ended {
			m.forget(ended)
		}
		m.goesOn(id)
		m.startAnswered(id, OK, "")
		return
	case Stale:
		m.undo(s)
		m.postponed = append(m.postponed, s.word)
		return
	case TooLarge, NotAside, Stopped, Failed:
	}
	m.lives.forget(id)
	m.starts.forget(id)
	m.undo(s)
	code := NotDone
	if e.End == Stopped {
		code = Closed
	}
	m.startAnswered(id, code, e.Text)
}

// startAnswered answers a start, and takes up those that have waited for it.
func (m *Machine) startAnswered(id message.InstanceID, code Code, text string) {
	s := m.starting[id]
	delete(m.starting, id)
	m.answer(s.word, code, text)
	for _, w := range s.waiting {
		m.hear(w, nil)
	}
}

// sameStart says whether a repeated start is the one that is known.
func (m *Machine) sameStart(o behaviour.Start, known record.AuditRecord) (Code, string) {
	input, err := container.EncodeCBOR(o.Input)
	if err != nil {
		return Refused, fmt.Sprintf("start %s: encode the input: %v", m.id(), err)
	}
	same := bytes.Equal(known.Output, input)
	if known.Removed != nil { // retention left its sum
		same = known.Removed.Start.Input == record.SumInput(input)
	}
	other := fmt.Sprintf("start %s as %s: another instance has this identifier", m.id(), o.Instance)
	switch {
	case known.Process != m.id() || known.Definition != m.process.Definition():
		return Conflict, fmt.Sprintf("%s, of process %s", other, known.Process)
	case !same:
		return Conflict, other + ", started with another input"
	case o.Key != "" && known.Reason != "" && o.Key != known.Reason:
		return Conflict, fmt.Sprintf("%s, started with the key %q", other, known.Reason)
	}
	return Known, ""
}

// retryable finds the entry of an activity in error; nil: the word is answered, or is heard
// again when the entry was read.
func (m *Machine) retryable(key message.Entry, w *word, seen *sight) *instancetable.Entry {
	e := m.table.Get(key)
	switch {
	case e == nil && seen == nil:
		m.read(key, w)
	case e == nil && seen.end != nil:
		m.answer(w, Refused, fmt.Sprintf("retry %s: it is not in error, it has ended", key.Activity))
	case e == nil:
		m.answer(w, Refused, fmt.Sprintf("retry %s: it is not in error, it has not begun at %s", key.Activity, m.self))
	case e.Phase != instancetable.Waiting:
		m.answer(w, Refused, fmt.Sprintf("retry %s: it is not in error", key.Activity))
	default:
		return e
	}
	return nil
}

// review gives the result whose conditions a retry evaluates, if they may take long.
func (m *Machine) review(w *word, say Review, seen *sight) {
	e := m.retryable(say.Entry, w, seen)
	if e == nil {
		return
	}
	r, err := e.Behaviour.Review(e.State, say.Output, m.now)
	if err != nil {
		m.answer(w, Refused, err.Error())
		return
	}
	if r != nil && !e.Behaviour.Slow(*r) {
		r = nil
	}
	m.do(Answer{Word: w.token, Code: Reviewed, Review: r})
}

const byHand = "its output was given by hand"

// outcome is the line of history about an operator's hand.
func (r *Retry) outcome(after behaviour.Outcome) behaviour.Outcome {
	o := behaviour.Outcome{What: behaviour.Retried, Clock: after.Clock, Iteration: after.Iteration, Run: after.Run, By: r.By}
	if r.Output != nil {
		o.Reason = byHand
	}
	return o
}

// retry lets an activity in error go on.
func (m *Machine) retry(w *word, say Retry, seen *sight) {
	e := m.retryable(say.Entry, w, seen)
	if e == nil {
		return
	}
	effects, err := e.Behaviour.Command(e.State, behaviour.Retry{Output: say.Output, Reviewed: say.Judged}, m.now)
	switch {
	case errors.Is(err, behaviour.ErrReviewed):
		m.answer(w, OtherReview, err.Error())
		return
	case err != nil:
		m.answer(w, Refused, err.Error())
		return
	}
	s := newSettlement(e)
	s.word = w
	retried := say.outcome(effects.Outcome)
	if what := effects.Outcome.What; what == behaviour.Retried || what == behaviour.Terminated && say.Output != nil {
		effects.Outcome.By, effects.Outcome.Reason = retried.By, retried.Reason
	}
	if effects.Outcome.What != behaviour.Retried { // what the retry led to comes after it
		s.tx.Audit = append(s.tx.Audit, m.audit(e.Key, e.Known, behaviour.Effects{Outcome: retried}))
	}
	m.addEntry(s, e, e.Known, e.Known.Keys, effects)
	m.finish(s)
}
