package thread

import (
	"fmt"
	"slices"
	"time"

	"fmqm/behaviour"
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
	judged  *behaviour.Result // what it evaluates, evaluated; nil: that was not asked for
	known   uint64            // the clock of how its activity has ended; 0: it has not
	settled *settledAnswer    // it is answered so, whatever becomes of its entry; nil: that is open
	inquiry *inquiry          // of a person's: what was asked of the staff; nil: nothing was
	ended   time.Time         // when the attempt began that was ended for it; zero: none was
	awaits  bool              // the transaction under way only asks others for it, and it is answered later
	open    bool              // others were asked for it, and it is answered once they have
	verdict *message.Answer   // what the transaction under way answers; nil: that it is done
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
	if c.verdict != nil || m.commands[keyOf(&c.message)] != u.word { // what it had asked for has ended meanwhile, and answers it
		return
	}
	if u.sought && !slices.ContainsFunc(facts[0].Messages, func(msg message.Message) bool { return msg.Key() == key }) {
		m.wordGone(c)
		return
	}
	if said := facts[0].Said; said != nil {
		c.settled = &settledAnswer{answer: said.Answer()}
	}
	m.hear(u.word, nil)
}

func (*unheard) unread(*Machine, error) {} // the node stops

// record is what a line of history says of the word.
func (c *command) record(r message.WordResult) *record.Word {
	return &record.Word{ID: c.order.ID, Wish: c.order.Wish, Result: r}
}

// reply answers a word that changes nothing, in the transaction that takes it away. A line of
// history is written where there is a history: a word about what never was leaves none.
func (m *Machine) reply(w *word, a message.Answer, line bool) {
	c := w.say.(*command)
	key := c.message.Entry()
	tx := &record.Tx{Consume: []record.Consume{{Process: m.id(), Entry: key, Keys: []message.Key{c.message.Key()}}}}
	if line {
		r := m.audit(key, &behaviour.Basis{Entry: key, Origin: c.message.Origin}, &behaviour.Effects{Outcome: behaviour.Outcome{Clock: m.behind(c)}})
		r.Event, r.By, r.Reason, r.Word = record.EventAnswered, c.order.By(), a.Text, c.record(a.Result)
		if operator := c.operator(); operator != r.By && operator != "" {
			r.People = &message.People{Operator: operator}
		}
		tx.Audit = append(tx.Audit, r)
	}
	if c.order.Reply {
		tx.Put = append(tx.Put, m.replyTo(c, a))
	}
	m.takeOut(&dropped{key: key, word: w, answer: a}, tx)
}

// behind is the clock of the line about a word that changes nothing: history has it behind what has happened to its
// activity by then, of which who said the word need not know.
func (m *Machine) behind(c *command) uint64 {
	clock := max(c.message.Clock, c.known)
	if e := m.table.Get(c.message.Entry()); e != nil {
		clock = max(clock, e.Known.Clock)
	}
	return message.Next(clock)
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
		switch {
		case c.awaits:
			c.awaits, c.open = false, true
		case c.verdict != nil:
			m.replied(w, *c.verdict)
		default:
			m.replied(w, message.Answer{Result: message.WordDone})
		}
	case TooLarge: // its entry is in error because of that, and it is answered so
		key := c.message.Entry()
		refused := message.Answer{Result: message.WordRefused, Text: fmt.Sprintf("%s %s: %s", c.order.Wish, key.Path(), e.Text)}
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
	m.letGo(c)
	if c.repeat != nil {
		m.lookUpWord(*c.repeat, Said|Messages)
	}
}
