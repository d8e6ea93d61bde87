package thread

import (
	"fmt"
	"slices"

	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/instancetable"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// The restart of an activity that has terminated (N30). Its word lies in the activity's entry until it is answered, beside the snapshot of
// the recall, which other messages make no entry without: so the end of the activity goes on answering for it until
// the transaction that restarts it.

// restartOf is the restart that the entry of an activity which has ended is there for; nil: it is there for another reason.
func restartOf(s behaviour.State) *message.Restart {
	if r, may := s.(interface{ Restart() *message.Restart }); may {
		return r.Restart()
	}
	return nil
}

// recalling says whether messages are of an entry that lives although its activity has ended: no other has a snapshot then.
func recalling(messages []message.Message) bool {
	return slices.ContainsFunc(messages, func(msg message.Message) bool { return msg.Kind == message.KindSnapshot })
}

// recall has asked back what an activity had sent that has ended, or answers why it cannot be.
func (m *Machine) recall(w *word, c *command, end *record.AuditRecord) {
	key, name := c.message.Entry(), c.name()
	if why := notRestarted(end); why != "" {
		m.refuseWord(w, end.Removed == nil, "%s: %s", name, why)
		return
	}
	if saw := c.order.Saw; saw != nil && (max(1, saw.Iteration) != max(1, end.Iteration) || saw.Run != end.Run) {
		m.overtaken(w, true, fmt.Sprintf("you saw iteration %d, run %d of it, and it has ended with iteration %d, run %d", saw.Iteration, saw.Run, end.Iteration, end.Run))
		return
	}
	input, err := m.container(c, m.process.Table().Activity(key.Row()).Input, c.order.Input)
	if err != nil {
		m.wrongContainer(w, c, "input", err)
		return
	}
	e := instancetable.NewEntry(key, m.process.Activity(key.Row()))
	e.Known.Entry, e.Known.Origin, e.Known.Rank, e.Known.Clock = key, end.Origin, end.Rank, max(end.Clock, c.message.Clock)
	wanted := restartWanted(c, end)
	if input != nil {
		if wanted.Wanted.Input, err = container.EncodeCBOR(input); err != nil {
			m.refuseWord(w, true, "%s: encode the input: %v", name, err)
			return
		}
	}
	effects, err := e.Behaviour.Command(e.State, wanted, m.now)
	if err != nil {
		m.refuseWord(w, true, "%s", err.Error())
		return
	}
	m.table.Add(e)
	s := newSettlement(e)
	s.word, s.fresh, c.awaits = w, true, true
	m.addEntry(s, e, e.Known, nil, &effects)
	m.finish(s)
}

// notRestarted says why an activity that has ended so cannot run once more; empty: it may.
func notRestarted(end *record.AuditRecord) string {
	switch {
	case end.Removed != nil:
		return "the instance has ended, and retention has removed its audit: start a new one"
	case end.Activity == processtable.Source || end.Activity == processtable.Sink:
		return "it is the engine's own: restart an activity, or start a new instance"
	case end.Event == record.EventTerminated:
		return ""
	case end.Event == record.EventSkipped:
		return "it was skipped, and only what has run can run once more: restart what leads to it"
	case end.Event == record.EventThinned:
		return "the iteration that it was part of is over"
	}
	return "it was ended before it had run to its end: start a new instance"
}

// restartWanted is what a word wants, with how its activity has ended.
func restartWanted(c *command, end *record.AuditRecord) behaviour.Restart {
	r := behaviour.Restart{
		Iteration: end.Iteration, Attempt: end.Attempt, Run: end.Run, RC: end.RC, Ending: end.Ending, Started: end.Started, Output: end.Output,
		Events: end.About != nil,
		Wanted: message.Restart{Word: c.order.ID, By: c.order.By(), Why: c.order.Why, Doer: end.Doer()},
	}
	for _, had := range end.Consumed {
		if had.Key.Kind == message.KindConnector {
			r.Wanted.Consumed = append(r.Wanted.Consumed, message.Connected{
				Activity: had.Key.Source, Number: had.Key.Number, Control: had.Control, Data: had.Data, Clock: had.Clock,
			})
		}
	}
	for _, sent := range end.Sent {
		if sent.Kind == 0 {
			r.Wanted.Sent = append(r.Wanted.Sent, message.Connected{
				Activity: sent.Target, Node: sent.Node, Number: sent.Nth, Control: sent.Control, Data: sent.Data, Lane: sent.Lane, Clock: end.Clock,
			})
		}
	}
	return r
}

// restarting is a word about an activity that has an entry.
func (m *Machine) restarting(w *word, c *command, e *instancetable.Entry) {
	switch r := restartOf(e.State); {
	case r == nil:
		m.refuseWord(w, true, "%s: it has not ended: see how it stands, and retry, finish or skip it", c.name())
	case r.Word == c.order.ID: // it is under way, and answered with its end
		c.open = true
	default:
		m.refuseWord(w, true, "%s: %s wants it already: wait for that, or withdraw it with fmqm restart --withdraw", c.name(), r.By)
	}
}

// withdraw gives a restart up.
func (m *Machine) withdraw(w *word, c *command, e *instancetable.Entry) {
	effects, err := e.Behaviour.Command(c.after(e), behaviour.Withdraw{By: c.order.By(), Why: c.order.Why}, m.now)
	if err != nil {
		m.refuseWord(w, true, "%s", err.Error())
		return
	}
	m.carry(w, c, e, &effects, nil)
}

// endRecall adds what becomes of the word that a recall was for, and of the end of its activity, with what the recall has come to.
func (m *Machine) endRecall(s *settlement, key message.Entry, r *behaviour.RecallEnd) {
	if r == nil {
		return
	}
	s.tx.Supersede = append(s.tx.Supersede, record.Supersede{Entry: key, Edition: r.Edition})
	last := &s.tx.Audit[len(s.tx.Audit)-1]
	last.Word = &record.Word{ID: r.Word, Wish: message.WishRestart, Result: r.Answer.Result}
	w := m.commands[commandKey{key, message.WordNumber(r.Word)}]
	if w == nil { // it is found later, and told what came of it
		return
	}
	c := w.say.(*command)
	if c.order.ID != r.Word || c.settled != nil {
		return
	}
	s.tx.Consume[0].Keys = append(slices.Clone(s.tx.Consume[0].Keys), c.message.Key())
	if c.order.Reply {
		s.tx.Put = append(s.tx.Put, m.replyTo(c, r.Answer))
	}
	answer := r.Answer
	s.word, c.verdict, c.open = w, &answer, false
}

// said counts the words that are being looked into: those for which others were asked go on when these have answered.
func (m *Machine) said() (n int) {
	for _, w := range m.commands {
		if !w.say.(*command).open {
			n++
		}
	}
	return n
}

// withoutRecalls takes recalls out of what comes for an activity that is decided, since its program runs or is to: nothing is
// folded while it does, and who recalls is not to wait for that.
func (m *Machine) withoutRecalls(e *instancetable.Entry, messages []message.Message) []message.Message {
	recall := func(msg message.Message) bool { return msg.Kind == message.KindRecall }
	if e.Phase != instancetable.Ready && e.Phase != instancetable.Running || !slices.ContainsFunc(messages, recall) {
		return messages
	}
	var late, rest []message.Message
	for _, msg := range messages {
		if recall(msg) {
			late = append(late, msg)
		} else {
			rest = append(rest, msg)
		}
	}
	m.drop(e.Key, late, nil)
	return rest
}

// answers are those to recalls among messages that no entry takes; end is how their activity has ended, nil: it has not, or nobody
// asks. What is asked for once more of what has terminated is built of that.
func (m *Machine) answers(messages []message.Message, end *record.AuditRecord) (all []message.Message) {
	for i := range messages {
		msg := &messages[i]
		if msg.Kind != message.KindRecall {
			continue
		}
		r, err := message.DecodeRecall(msg.Body)
		switch {
		case err != nil: // it is set aside
		case !r.Again:
			home, _ := m.process.Table().HostOf(msg.SourceRow(), msg.Origin)
			all = append(all, msg.Recalled(home, fmt.Sprintf("%s has been decided on %s's result", msg.Activity, msg.Source)))
		case end != nil && end.Removed == nil:
			all = append(all, m.sentAgain(end, msg)...)
		}
	}
	return all
}

// sentAgain builds once more what an activity that has ended had sent to the one that asks for it.
func (m *Machine) sentAgain(end *record.AuditRecord, asks *message.Message) (all []message.Message) {
	for i := range end.Sent {
		sent := &end.Sent[i]
		if sent.Kind != 0 || sent.Target != asks.Source {
			continue
		}
		msg, err := m.process.Again(behaviour.Spoken{
			Instance: end.Instance, Origin: end.Origin, Scope: end.Scope, Source: end.Activity, Clock: end.Clock, RC: end.RC, Ending: end.Ending,
			Output: end.Output, By: end.Doer(), Event: end.About, Number: sent.Nth, Within: sent.Scope, Target: sent.Target, Node: sent.Node,
			Control: sent.Control, Data: sent.Data, Lane: sent.Lane, Rank: max(end.Rank, asks.Rank), // an end of before does not have it
		})
		if err != nil {
			m.fail(err)
			return nil
		}
		all = append(all, msg)
	}
	return all
}
