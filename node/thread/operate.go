package thread

import (
	"bytes"
	"fmt"

	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/instancetable"
	"fmqm/message"
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
	m.load(s, HowEnded|Marker, birth{instance: id}.source())
}

func (s *starting) loaded(m *Machine, facts []Facts) {
	say := s.word.say.(Start)
	if end := facts[0].End; end != nil {
		code, text := m.sameStart(say.Start, *end)
		m.startAnswered(say.Start.Instance, code, text)
		return
	}
	s.marked = s.marked || facts[0].Marker != nil || len(facts[0].Marks) > 0
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
	m.starts.note(birth{instance: o.Instance})
	if !m.losses.Anew {
		m.lives.born(o.Instance)
		if m.starting[o.Instance].marked {
			m.lives.mark(o.Instance)
		}
	}
	key := birth{instance: o.Instance}.source()
	e := instancetable.NewEntry(key, m.process.Activity(key.Row()))
	e.Phase, e.Known.Origin, e.Known.Trace = instancetable.Settling, m.self, o.Trace
	s := newSettlement(e)
	s.entry, s.word = nil, w // source has none in the table
	effects.Outcome.Reason = o.Key
	m.addEntry(s, e, e.Known, nil, &effects)
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
		m.goesOn(birth{instance: id})
		m.startAnswered(id, OK, "")
		return
	case Stale:
		m.undo(s)
		m.postponed = append(m.postponed, s.word)
		return
	case TooLarge, NotAside, Stopped, Failed:
	}
	m.lives.forget(id)
	m.starts.forget(birth{instance: id})
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
	switch {
	case known.Removed != nil: // retention left its sum
		same = known.Removed.Start.Input == record.SumInput(input)
	case known.Erased != nil: // the input was overwritten
		same = known.InputSum() == record.SumInput(input)
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
