package thread

import (
	"errors"
	"fmt"
	"slices"

	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/instancetable"
	"fmqm/message"
)

// Words of all wishes go one way (N15). What lies in the queue is taken up, and looked up whether it
// was answered before (command.go). Then obey holds it against its entry: an activity that has not begun or has
// ended is not there for it, and one that is in another execution than the word saw has overtaken
// it. What is left is for the wish's own function, which answers the word (refuseWord, reply), has
// something found out and hears the word again, or carries it out with carry, in one transaction.

// wishing carries out the words of one wish, of an entry that is in memory, in the execution that
// the word saw, while no transaction of it is under way. The entry may be ready, or its program may run.
type wishing func(w *word, c *command, e *instancetable.Entry)

// wishes gives what carries out a wish; nil: nobody here knows it.
func (m *Machine) wishes(of message.Wish) wishing {
	switch of {
	case message.WishRetry:
		return m.retry
	case message.WishClaim, message.WishRelease, message.WishTransfer, message.WishSave, message.WishComplete:
		return m.work
	case message.WishFinish, message.WishSkip:
		return m.byHand
	case message.WishRestart:
		return m.restarting
	case message.WishWithdraw:
		return m.withdraw
	}
	return nil
}

// obey carries out an operator's word, or answers why it is not.
func (m *Machine) obey(w *word, c *command, seen *sight) {
	key := c.message.Entry()
	e := m.table.Get(key)
	wishing := m.wishes(c.order.Wish)
	if seen != nil && seen.end != nil {
		c.known = seen.end.Clock
	}
	switch {
	case c.settled != nil:
		m.reply(w, c.settled.answer, c.settled.line)
	case m.process.Activity(key.Row()) == nil:
		m.refuseWord(w, false, "%s", m.notHosted(key))
	case e == nil && seen == nil:
		m.read(key, w)
	case wishing == nil:
		m.refuseWord(w, e != nil || seen.end != nil && seen.end.Removed == nil, "%s does not know what %q is: upgrade it", m.self, c.order.Wish)
	case e == nil && c.order.Wish == message.WishRestart && seen.end != nil && m.another(seen.end) == "" && !seen.stopped:
		m.recall(w, c, seen.end)
	case e == nil && c.order.Wish == message.WishWithdraw && seen.end != nil && m.another(seen.end) == "":
		m.refuseWord(w, seen.end.Removed == nil, "%s: it is not being restarted: see how it stands", c.name())
	case e == nil:
		m.notThere(w, c, seen)
	case e.Phase == instancetable.Settling: // what it comes to shows in a moment
		m.postponed = append(m.postponed, w)
	default:
		view := e.Behaviour.View(e.State, m.now)
		if saw := c.order.Saw; saw != nil && (max(1, saw.Iteration) != max(1, view.Iterations) || saw.Run != view.Run) { // of the first iteration nothing is kept while it runs
			m.overtaken(w, true, fmt.Sprintf("you saw iteration %d, run %d of it, and it is at iteration %d, run %d", saw.Iteration, saw.Run, view.Iterations, view.Run))
			return
		}
		wishing(w, c, e)
	}
}

// notThere answers a word about an activity that has not begun, or has ended.
func (m *Machine) notThere(w *word, c *command, seen *sight) {
	wanted := "" // of it, in the state that it was said to be in
	if c.order.Wish == message.WishRetry {
		wanted = "it is not in error, "
	}
	_, notice := c.message.Scope.OfNotice()
	switch name := c.name(); {
	case notice:
		m.refuseWord(w, false, "%s: it is on no worklist any more: it was taken off, or its activity has ended", name)
	case m.another(seen.end) != "":
		m.refuseWord(w, false, "%s: %s", name, m.another(seen.end))
	case seen.end != nil && c.order.Saw != nil:
		m.overtaken(w, seen.end.Removed == nil, "it has ended")
	case seen.end != nil:
		m.refuseWord(w, seen.end.Removed == nil, "%s: %sit has ended", name, wanted)
	case seen.stopped:
		m.refuseWord(w, false, "%s: %s", name, stoppedInstance)
	default:
		m.refuseWord(w, false, "%s: %sit has not begun at %s", name, wanted, m.self)
	}
}

// carry carries a word out, in one transaction: what follows for its entry, a line of history about the
// word if that is not the one that the effects write themselves, the answer; and the word is gone. One of
// the two lines has to be there.
func (m *Machine) carry(w *word, c *command, e *instancetable.Entry, effects *behaviour.Effects, line *behaviour.Outcome) {
	s := newSettlement(e)
	s.word = w
	if line != nil { // what the word led to comes after it
		s.tx.Audit = append(s.tx.Audit, m.audit(e.Key, e.Known, &behaviour.Effects{Outcome: *line}))
	}
	m.addEntry(s, e, e.Known, e.Known.Keys, effects)
	s.tx.Consume[0].Keys = append(slices.Clone(s.tx.Consume[0].Keys), c.message.Key())
	s.tx.Audit[0].Word = c.record(message.WordDone)
	if c.order.Reply {
		s.tx.Put = append(s.tx.Put, m.replyTo(c, message.Answer{Result: message.WordDone}))
	}
	m.finish(s)
}

// follows asks what follows from a command, of which conditions may have been judged beforehand; slow, if
// not nil, is to be evaluated first, as it is now.
func (m *Machine) follows(e *instancetable.Entry, s behaviour.State, of behaviour.Reviewable, judged *behaviour.Result) (_ behaviour.Effects, slow *behaviour.Result, _ error) {
	reviewed, err := e.Behaviour.Review(s, of, m.now)
	if err != nil {
		return behaviour.Effects{}, nil, err
	}
	slowly := reviewed != nil && e.Behaviour.Slow(reviewed)
	if slowly && judged == nil {
		return behaviour.Effects{}, reviewed, nil
	}
	effects, err := e.Behaviour.Command(s, of.With(judged), m.now)
	if errors.Is(err, behaviour.ErrReviewed) {
		if slowly {
			return behaviour.Effects{}, reviewed, nil
		}
		effects, err = e.Behaviour.Command(s, of.With(nil), m.now)
	}
	return effects, nil, err
}

// evaluate has the conditions that a word asks for evaluated beside the process thread; then it is heard again.
func (m *Machine) evaluate(w *word, e *instancetable.Entry, slow *behaviour.Result) {
	token := m.next()
	m.evaluating[token] = w
	m.do(Evaluate{token, e.Behaviour, *slow})
}

// evaluated goes on with a word whose conditions took long.
func (m *Machine) evaluated(e Evaluated) {
	w := m.evaluating[e.Token]
	delete(m.evaluating, e.Token)
	if w == nil {
		return
	}
	w.say.(*command).judged = &e.Result
	m.hear(w, nil)
}

// after is an entry's state with the clock behind the word: what follows comes after it.
func (c *command) after(e *instancetable.Entry) behaviour.State {
	state := e.State.Clone()
	state.Known().Clock = max(state.Known().Clock, c.message.Clock)
	return state
}

// container reads a container that a word brings; nil: it brings none.
func (m *Machine) container(c *command, t *container.Type, text []byte) (*container.Struct, error) {
	if len(text) == 0 {
		return nil, nil
	}
	return container.DecodeJSON(t, text)
}

// name is how people know the word: "retry documents#2/check".
func (c *command) name() string {
	key := c.message.Entry()
	if _, notice := key.Scope.OfNotice(); notice {
		return fmt.Sprintf("%s a notice of %s", c.order.Wish, key.Scope.Leave().Path(key.Activity))
	}
	return fmt.Sprintf("%s %s", c.order.Wish, key.Path())
}

func (m *Machine) refuseWord(w *word, line bool, format string, args ...any) {
	m.reply(w, message.Answer{Result: message.WordRefused, Text: fmt.Sprintf(format, args...)}, line)
}

func (m *Machine) overtaken(w *word, line bool, how string) {
	m.reply(w, message.Answer{Result: message.WordOvertaken, Text: fmt.Sprintf("%s: overtaken: %s", w.say.(*command).name(), how)}, line)
}

// wrongContainer answers what is wrong with the container that a word brings, its output, say.
func (m *Machine) wrongContainer(w *word, c *command, what string, err error) {
	a := message.Answer{Result: message.WordRefused, Text: fmt.Sprintf("%s: %s: %v", c.name(), what, err)}
	for _, p := range container.All(err) {
		a.Problems = append(a.Problems, message.Problem{Path: p.Path, What: p.What, Remedy: p.Remedy, Token: p.Token})
	}
	m.reply(w, a, true)
}
