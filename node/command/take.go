package command

import (
	"fmt"
	"strings"

	"fmqm/api"
	"fmqm/behaviour"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// Ruling is what becomes of a word, or of an answer, that a peer's link has brought. What it says is
// done in the transaction that takes the message from the link. The zero Ruling: it is a repeat, and
// nothing is done.
type Ruling struct {
	Aside string              // why it is set aside; then there is nothing else
	Word  bool                // the message is put, unless it contradicts one that lies here or is being put
	Reply *message.Message    // is put: the answer to a word that is refused at once
	Line  *record.AuditRecord // is put: what an answer says
	// Stored is to be called once the transaction is on disk, unless a word is not put; nil: there is
	// nobody to be told.
	Stored func()
}

// Rule judges a word or an answer that a peer's link has brought, of which nothing else is known
// than that no other field of its header is wrong. Neither says anything of an instance that this node
// would not find out by itself. Claim is called before what an answer depends on is read: it says
// whether an answer to the same word is taken in the same transaction, and fails where another
// transaction takes one; then that error is Rule's, and it is to be asked again once that has ended.
// beside is how many answers to the peer follow from words that are to be stored with it.
func (c *Commands) Rule(peer processtable.NodeID, m *message.Message, beside int, claim func() (again bool, err error)) (Ruling, error) {
	if m.Kind == message.KindAnswer {
		return c.ruleAnswer(peer, m, claim)
	}
	word, err := message.DecodeWord(m.Body)
	switch {
	case err != nil:
		return aside("it cannot be read: %v", err)
	case word.Site != peer:
		return aside("it says that it was asked at %s, and %s has brought it", word.Site, peer)
	case !word.Reply:
		return aside("it wants no answer, and was asked at %s", word.Site)
	case m.Number != message.WordNumber(word.ID):
		return aside("it has the number %d, which is not that of word %s", m.Number, word.ID)
	case m.Lane != word.Lane():
		return aside("it came in lane %d, and a word like it goes in lane %d", m.Lane, word.Lane())
	}
	return c.ruleWord(peer, m, &word, beside)
}

func aside(format string, args ...any) (Ruling, error) {
	return Ruling{Aside: fmt.Sprintf(format, args...)}, nil
}

// ruleWord takes a word that a peer's operator may give, and answers another one at once. Every
// word is answered, so that a peer could let answers pile up here: beyond the quota of its
// transmission queue a word is set aside, where what one peer may leave is bounded. Operators go on
// where work already waits (S3), so those who may command have as much again.
func (c *Commands) ruleWord(peer processtable.NodeID, m *message.Message, word *message.Word, beside int) (Ruling, error) {
	refused, quota := c.mayNot(peer, m, word), c.Site.Quota()
	waiting := c.waitingFor(peer) + answerSize*(c.owed.to(peer)+int64(beside))
	switch {
	case refused == nil && quota > 0 && waiting >= 2*quota:
		return aside("the answers that wait for %s have no more room (limits.transmission): its operator can ask again once it takes them", peer)
	case refused == nil:
		return Ruling{Word: true, Stored: func() { c.owed.add(wordName{m.Entry(), word.ID}, peer) }}, nil
	case quota > 0 && waiting >= quota:
		return aside("%v", refused)
	}
	reply := m.Header.Reply(peer, message.Answer{
		Word: word.ID, Result: message.WordRefused, Text: refused.Message, Remedy: refused.Remedy, Time: c.Scheduler.Now(),
	})
	return Ruling{Reply: &reply}, nil
}

// mayNot says why a word of a peer's operator is not taken, or nil. Who has no part in the
// process learns no more than that there is no table.
func (c *Commands) mayNot(peer processtable.NodeID, m *message.Message, w *message.Word) *api.Error {
	process := m.Queue.Process
	if !c.concerns(peer, process) {
		return c.noTable(process.String())
	}
	p, err := c.hosted(process, m.Scope, m.Activity)
	if err != nil {
		return err
	}
	if reason := behaviour.Misplaced(p.Table(), m.Activity, m.Scope); reason != "" {
		return api.Errorf(api.CodeNotFound, seeScopes, "%s", reason)
	}
	return c.Allow(&Order{Peer: peer, Operator: w.Operator, Command: string(w.Wish), What: fmt.Sprintf("activity %s of instance %s", m.Scope.Path(m.Activity), m.Instance)})
}

// ruleAnswer takes the answer to a word that was asked here, once: it becomes a line of history.
func (c *Commands) ruleAnswer(peer processtable.NodeID, m *message.Message, claim func() (again bool, err error)) (Ruling, error) {
	answer, err := message.DecodeAnswer(m.Body)
	switch {
	case err != nil:
		return aside("it cannot be read: %v", err)
	case m.Number != message.WordNumber(answer.Word):
		return aside("it has the number %d, which is not that of word %s", m.Number, answer.Word)
	}
	oneLine(&answer.Text, &answer.Remedy)
	for i := range answer.Problems {
		p := &answer.Problems[i]
		oneLine(&p.Path, &p.What, &p.Remedy)
	}
	again, err := claim()
	if err != nil || again {
		return Ruling{}, err
	}
	asked, answered, err := c.Queue.Word(m.Entry(), peer, answer.Word)
	switch {
	case err != nil:
		return Ruling{}, err
	case asked == nil || asked.Process != m.Queue.Process:
		return c.unasked(peer, m)
	case answered != nil:
		return Ruling{}, nil // once more: the peer was restored, or told it before
	}
	line := *asked
	line.Time, line.Clock, line.Event, line.Reason = c.Scheduler.Now(), max(line.Clock, m.Clock), record.EventAnswered, answer.Text
	if answer.Result == message.WordDone {
		line.Reason = fmt.Sprintf("%s has done it", peer)
	}
	line.Word = &record.Word{ID: answer.Word, Wish: asked.Word.Wish, Result: answer.Result, Home: peer}
	return Ruling{Line: &line, Stored: func() { c.Answered(m.Entry(), answer) }}, nil
}

// unasked sets aside an answer to nothing. Where retention has removed what was asked, that is
// no cause for alarm.
func (c *Commands) unasked(peer processtable.NodeID, m *message.Message) (Ruling, error) {
	_, removed, err := c.Queue.Removed(m.Instance)
	if err != nil || removed {
		return Ruling{}, err
	}
	return aside("it answers a word that was not asked of %s here", peer)
}

// oneLine takes the line breaks out of what another site says: shown to people, a line of its
// own would pass for one of ours.
func oneLine(texts ...*string) {
	for _, s := range texts {
		*s = strings.Join(strings.Fields(*s), " ")
	}
}

// refusal is the error that another site has answered a question with.
func refusal(e *api.Error) error {
	oneLine(&e.Message, &e.Remedy)
	for i := range e.Problems {
		p := &e.Problems[i]
		oneLine(&p.Path, &p.Message, &p.Remedy)
	}
	return e
}
