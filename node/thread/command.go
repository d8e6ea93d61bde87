package thread

import (
	"errors"
	"fmt"
	"slices"

	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/instancetable"
	"fmqm/message"
	"fmqm/queue/record"
)

// An operator's word lies in the queue, in the entry that it is about, from when it was asked
// until it is answered (N15). It is no part of the entry's state and makes no entry: what has
// not begun, or has ended, is not there for it. One transaction takes it away, with what follows
// from it, its answer, and a line of history. So it is carried out once, whatever stops in
// between, and a repeat of it is answered as it was.

// command is an operator's word while it is looked into.
type command struct {
	message message.Message
	order   message.Word
	judged  *behaviour.Result // what a retry evaluates, evaluated; nil: that was not asked for
	settled *settledAnswer    // it is answered so, whatever becomes of its entry; nil: that is open
	repeat  *message.Message  // it was put once more since; nil: it was not
}

// settledAnswer is an answer that nothing changes any more; line: history has to tell of it.
type settledAnswer struct {
	answer message.Answer
	line   bool
}

// commandKey identifies a command: that of its message in its entry.
type commandKey struct {
	entry  message.Entry
	number uint64
}

func keyOf(m *message.Message) commandKey { return commandKey{m.Entry(), m.Number} }

// isWord says whether a message is an operator's word.
func isWord(m message.Message) bool { return m.Kind == message.KindWord }

// withoutWords takes the operators' words out of an entry's messages, and takes them up.
func (m *Machine) withoutWords(messages []message.Message) []message.Message {
	if !slices.ContainsFunc(messages, isWord) {
		return messages
	}
	var rest []message.Message
	for _, msg := range messages {
		if isWord(msg) {
			m.takeUpWord(msg)
		} else {
			rest = append(rest, msg)
		}
	}
	return rest
}

// takeUpWord asks whether a word was answered before. One that is under way is found once more by
// who reads its entry; but one that was put later may lie there when the first one has gone.
func (m *Machine) takeUpWord(msg message.Message) {
	under := m.commands[keyOf(&msg)]
	if under == nil {
		m.lookUpWord(msg, Said)
	} else if c := under.say.(*command); msg.Arrival.Compare(c.message.Arrival) > 0 {
		c.repeat = &msg
	}
}

// lookUpWord reads how a word was answered before, and with Messages whether it is there.
func (m *Machine) lookUpWord(msg message.Message, what What) {
	key := keyOf(&msg)
	order, err := message.DecodeWord(msg.Body)
	if err != nil {
		m.setAside(msg.Entry(), []message.Message{msg}, err.Error())
		return
	}
	w := &word{say: &command{message: msg, order: order}}
	m.commands[key] = w
	token := m.next()
	m.reads[token] = &unheard{w, what&Messages != 0}
	m.do(Load{Token: token, Entries: []message.Entry{key.entry}, What: what, Word: order.ID})
}

// unheard is a word of which is read whether it was answered before; and if it is sought, whether
// it is there.
type unheard struct {
	word   *word
	sought bool
}

func (u *unheard) loaded(m *Machine, facts []Facts) {
	c := u.word.say.(*command)
	key := c.message.Key()
	if u.sought && !slices.ContainsFunc(facts[0].Messages, func(msg message.Message) bool { return msg.Key() == key }) {
		m.wordGone(c)
		return
	}
	if said := facts[0].Said; said != nil {
		c.settled = &settledAnswer{answer: message.Answer{Result: said.Word.Result, Text: said.Reason}}
	}
	m.hear(u.word, nil)
}

func (*unheard) unread(*Machine, error) {} // the node stops

// obey carries out an operator's word, or answers why it is not.
func (m *Machine) obey(w *word, c *command, seen *sight) {
	key := c.message.Entry()
	e := m.table.Get(key)
	switch {
	case c.settled != nil:
		m.reply(w, c.settled.answer, c.settled.line)
	case m.process.Activity(key.Row()) == nil:
		m.refuseWord(w, false, "%s", m.notHosted(key))
	case e == nil && seen == nil:
		m.read(key, w)
	case c.order.Wish != message.WishRetry:
		m.refuseWord(w, e != nil || seen.end != nil && seen.end.Removed == nil, "%s does not know what %q is: upgrade it", m.self, c.order.Wish)
	case e == nil && m.another(seen.end) != "":
		m.refuseWord(w, false, "retry %s: %s", key.Path(), m.another(seen.end))
	case e == nil && seen.end != nil && c.order.Saw != nil:
		m.overtaken(w, seen.end.Removed == nil, "it has ended")
	case e == nil && seen.end != nil:
		m.refuseWord(w, seen.end.Removed == nil, "retry %s: it is not in error, it has ended", key.Path())
	case e == nil && seen.stopped:
		m.refuseWord(w, false, "retry %s: %s", key.Path(), stoppedInstance)
	case e == nil:
		m.refuseWord(w, false, "retry %s: it is not in error, it has not begun at %s", key.Path(), m.self)
	case e.Phase == instancetable.Settling: // what it comes to shows in a moment
		m.postponed = append(m.postponed, w)
	default:
		m.retry(w, c, e)
	}
}

// retry lets an activity in error go on.
func (m *Machine) retry(w *word, c *command, e *instancetable.Entry) {
	key := e.Key
	view := e.Behaviour.View(e.State, m.now)
	saw := c.order.Saw
	switch {
	case saw != nil && (saw.Iteration != view.Iterations || saw.Run != view.Run):
		m.overtaken(w, true, fmt.Sprintf("you saw iteration %d, run %d of it, and it is at iteration %d, run %d", saw.Iteration, saw.Run, view.Iterations, view.Run))
		return
	case e.Phase != instancetable.Waiting || !e.State.InError():
		m.refuseWord(w, true, "retry %s: it is not in error", key.Path())
		return
	}
	output, err := m.outputOf(c)
	if err != nil {
		m.wrongOutput(w, c, err)
		return
	}
	state := e.State.Clone()
	state.Known().Clock = max(state.Known().Clock, c.message.Clock) // what follows comes after the word
	effects, slow, err := m.resume(e, state, behaviour.Retry{Output: output, Reviewed: c.judged})
	switch {
	case err != nil:
		m.refuseWord(w, true, "%s", err.Error())
		return
	case slow != nil:
		token := m.next()
		m.evaluating[token] = w
		m.do(Evaluate{token, e.Behaviour, *slow})
		return
	}
	s := newSettlement(e)
	s.word = w
	retried := c.outcome(effects.Outcome)
	if what := effects.Outcome.What; what == behaviour.Retried || what == behaviour.Terminated && output != nil {
		effects.Outcome.By, effects.Outcome.Reason = retried.By, retried.Reason
	}
	if effects.Outcome.What != behaviour.Retried { // what the retry led to comes after it
		s.tx.Audit = append(s.tx.Audit, m.audit(key, e.Known, &behaviour.Effects{Outcome: retried}))
	}
	m.addEntry(s, e, e.Known, e.Known.Keys, &effects)
	s.tx.Consume[0].Keys = append(slices.Clone(s.tx.Consume[0].Keys), c.message.Key())
	s.tx.Audit[0].Word = c.record(message.WordDone)
	if c.order.Reply {
		s.tx.Put = append(s.tx.Put, m.replyTo(c, message.Answer{Result: message.WordDone}))
	}
	m.finish(s)
}

// resume asks what a retry leads to; slow, if not nil, is to be evaluated first, as it is now.
func (m *Machine) resume(e *instancetable.Entry, s behaviour.State, r behaviour.Retry) (_ behaviour.Effects, slow *behaviour.Result, _ error) {
	reviewed, err := e.Behaviour.Review(s, r.Output, m.now)
	if err != nil {
		return behaviour.Effects{}, nil, err
	}
	slowly := reviewed != nil && e.Behaviour.Slow(reviewed)
	if slowly && r.Reviewed == nil {
		return behaviour.Effects{}, reviewed, nil
	}
	effects, err := e.Behaviour.Command(s, r, m.now)
	if errors.Is(err, behaviour.ErrReviewed) {
		if slowly {
			return behaviour.Effects{}, reviewed, nil
		}
		r.Reviewed = nil
		effects, err = e.Behaviour.Command(s, r, m.now)
	}
	return effects, nil, err
}

// evaluated goes on with a retry whose conditions took long.
func (m *Machine) evaluated(e Evaluated) {
	w := m.evaluating[e.Token]
	delete(m.evaluating, e.Token)
	if w == nil {
		return
	}
	w.say.(*command).judged = &e.Result
	m.hear(w, nil)
}

// outputOf gives the output that a word brings; nil: none.
func (m *Machine) outputOf(c *command) (*container.Struct, error) {
	if len(c.order.Output) == 0 {
		return nil, nil
	}
	key := c.message.Entry()
	return container.DecodeJSON(m.process.Table().Activity(key.Row()).Output, c.order.Output)
}

const byHand = "its output was given by hand"

// outcome is the line of history about an operator's hand.
func (c *command) outcome(after behaviour.Outcome) behaviour.Outcome {
	o := behaviour.Outcome{What: behaviour.Retried, Clock: after.Clock, Iteration: after.Iteration, Run: after.Run, By: c.order.By(), Reason: c.order.Why}
	switch {
	case len(c.order.Output) == 0:
	case o.Reason == "":
		o.Reason = byHand
	default:
		o.Reason = byHand + ": " + o.Reason
	}
	return o
}

// record is what a line of history says of the word.
func (c *command) record(r message.WordResult) *record.Word {
	return &record.Word{ID: c.order.ID, Wish: c.order.Wish, Result: r}
}

func (m *Machine) refuseWord(w *word, line bool, format string, args ...any) {
	m.reply(w, message.Answer{Result: message.WordRefused, Text: fmt.Sprintf(format, args...)}, line)
}

func (m *Machine) overtaken(w *word, line bool, how string) {
	key := w.say.(*command).message.Entry()
	m.reply(w, message.Answer{Result: message.WordOvertaken, Text: fmt.Sprintf("retry %s: overtaken: %s", key.Path(), how)}, line)
}

// wrongOutput answers what is wrong with the output that a word brings.
func (m *Machine) wrongOutput(w *word, c *command, err error) {
	key := c.message.Entry()
	a := message.Answer{Result: message.WordRefused, Text: fmt.Sprintf("retry %s: output: %v", key.Path(), err)}
	for _, p := range container.All(err) {
		a.Problems = append(a.Problems, message.Problem{Path: p.Path, What: p.What, Remedy: p.Remedy, Token: p.Token})
	}
	m.reply(w, a, true)
}

// reply answers a word that changes nothing, in the transaction that takes it away. A line of
// history is written where there is a history: a word about what never was leaves none.
func (m *Machine) reply(w *word, a message.Answer, line bool) {
	c := w.say.(*command)
	key := c.message.Entry()
	tx := &record.Tx{Consume: []record.Consume{{Process: m.id(), Entry: key, Keys: []message.Key{c.message.Key()}}}}
	if line {
		r := m.audit(key, &behaviour.Basis{Entry: key, Origin: c.message.Origin}, &behaviour.Effects{Outcome: behaviour.Outcome{Clock: message.Next(c.message.Clock)}})
		r.Event, r.By, r.Reason, r.Word = record.EventAnswered, c.order.By(), a.Text, c.record(a.Result)
		tx.Audit = append(tx.Audit, r)
	}
	if c.order.Reply {
		tx.Put = append(tx.Put, m.replyTo(c, a))
	}
	m.takeOut(&dropped{key: key, word: w, answer: a}, tx)
}

// replyTo is the message that tells the node that was asked.
func (m *Machine) replyTo(c *command, a message.Answer) message.Message {
	a.Word, a.Time = c.order.ID, m.now
	return c.message.Header.Reply(c.order.Site, a)
}

// obeyed takes the end of a transaction that carries out a command.
func (m *Machine) obeyed(w *word, c *command, e Committed) {
	switch e.End {
	case Done:
		m.replied(w, message.Answer{Result: message.WordDone})
	case TooLarge: // its entry is in error because of that, and it is answered so
		key := c.message.Entry()
		refused := message.Answer{Result: message.WordRefused, Text: fmt.Sprintf("retry %s: %s", key.Path(), e.Text)}
		c.settled = &settledAnswer{refused, true}
		m.postponed = append(m.postponed, w)
	case Stale, NotAside, Stopped, Failed:
	}
}

// replied: the answer is on disk.
func (m *Machine) replied(w *word, a message.Answer) {
	c := w.say.(*command)
	a.Word = c.order.ID
	m.do(Replied{c.message.Entry(), a})
	m.wordGone(c)
}

// wordGone: a word is not in the store any more, unless it was put once more: behind the transaction
// that has taken it away, and before the machine was told of that.
func (m *Machine) wordGone(c *command) {
	delete(m.commands, keyOf(&c.message))
	if c.repeat != nil {
		m.lookUpWord(*c.repeat, Said|Messages)
	}
}
