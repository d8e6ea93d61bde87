package thread

import (
	"fmqm/message"
	"fmqm/queue/record"
)

// word is what an operator or a client has said, until it is answered.
type word struct {
	token Token // of what is not a command
	say   any   // Start, Judge or *command
}

// sight is what was seen of an entry that was to be read for a word: how it has ended, if it
// has, and whether its instance was terminated. If it is not in memory now, and has not ended,
// there is none.
type sight struct {
	end     *record.AuditRecord
	stopped bool
}

// hear takes a word up. seen is nil until the entry that it is about was read for it.
func (m *Machine) hear(w *word, seen *sight) {
	m.acts++
	switch say := w.say.(type) {
	case Start:
		m.start(w, say)
	case Judge:
		m.judge(w, say, seen)
	case *command:
		m.obey(w, say, seen)
	}
}

// hearAgain takes up a word that had to wait, or whose transaction came too early.
func (m *Machine) hearAgain(w *word) {
	m.acts++
	if say, starts := w.say.(Start); starts {
		m.begin(w, say)
		return
	}
	if c, stored := w.say.(*command); stored && m.commands[keyOf(&c.message)] != w { // what it had asked for has ended meanwhile, and has answered it
		return
	}
	m.hear(w, nil)
}

// answer answers a word that is not in the store. One that is there stays, and is heard again
// after the next start.
func (m *Machine) answer(w *word, code Code, text string) {
	if _, stored := w.say.(*command); stored {
		return
	}
	m.do(Answer{Word: w.token, Code: code, Text: text})
}

// read lets an entry in that is not in memory, and hears the word then.
func (m *Machine) read(key message.Entry, w *word) {
	m.arrive(record.Delivery{Entry: key}, w)
}

// carriedOut takes the end of a transaction that carries out a word.
func (m *Machine) carriedOut(s *settlement, e Committed) {
	if _, starts := s.word.say.(Start); starts {
		m.startEnded(s, e)
		return
	}
	switch e.End {
	case Stale: // it is heard again, with the newcomers
		m.takenBack(s)
		m.postponed = append(m.postponed, s.word)
		return
	case NotAside:
		m.takenBack(s)
	case TooLarge:
		if c, stored := s.word.say.(*command); stored && c.awaits { // the activity has ended, and its end stands
			m.takenBack(s)
		} else {
			m.conclude(s, e)
		}
	case Done, Stopped, Failed:
		m.conclude(s, e)
	}
	if c, stored := s.word.say.(*command); stored {
		m.obeyed(s.word, c, e)
	} else {
		m.answerEnd(s, e)
	}
}

// takenBack undoes what was to carry out a word. Its entry is considered again, whatever becomes of
// the word: a marker may have stopped it meanwhile.
func (m *Machine) takenBack(s *settlement) {
	m.undo(s)
	if s.entry != nil {
		m.stale = append(m.stale, s.primary)
	}
}

// answerEnd answers the word that a transaction has carried out.
func (m *Machine) answerEnd(s *settlement, e Committed) {
	switch e.End {
	case Done:
		s.answer.Word = s.word.token
		m.do(s.answer)
	case NotAside:
		m.answer(s.word, Gone, e.Text)
	case Stopped:
		m.answer(s.word, Closed, e.Text)
	case Stale, TooLarge, Failed:
		m.answer(s.word, NotDone, e.Text)
	}
}
