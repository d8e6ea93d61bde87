package thread

import (
	"errors"
	"fmt"
	"slices"

	"fmqm/behaviour"
	"fmqm/instancetable"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// refuse sets messages aside, each with its reason, and puts their entry in error for the
// first, in one transaction (L5).
func (m *Machine) refuse(e *instancetable.Entry, refused []behaviour.Refuse) {
	if e.Phase != instancetable.Waiting {
		// Its connectors were resolved before: a repeat with other content. The entry goes on.
		m.setRefusedAside(e.Key, refused)
		return
	}
	effects, err := e.Behaviour.Command(e.State, refused[0], m.now)
	if err != nil {
		m.fail(err)
		return
	}
	s := newSettlement(e)
	s.reload = true
	m.addEntry(s, e, e.Known, nil, &effects)
	for i := range refused {
		s.tx.Consume[0].Keys = append(s.tx.Consume[0].Keys, refused[i].Message.Key())
		s.tx.Refuse = append(s.tx.Refuse, m.aside(refused[i].Message, refused[i].Reason))
	}
	m.table.SetPhase(e, instancetable.Settling)
	m.submit(s)
}

// late takes what arrives for an entry that has ended (N7): it is set aside. Where a store
// was lost, here or at a peer, a repeat of what the entry was ended with is no cause for
// alarm, and is dropped: who lost his store runs again, and sends again, what he does not
// know any more (S4). Nor is what lost a race (R35).
func (m *Machine) late(key message.Entry, ended record.AuditRecord, messages []message.Message) {
	reason := "late: the activity has already terminated"
	if ended.Removed != nil {
		reason = "late: the instance has ended, and retention has removed its audit"
	}
	var asides []record.Refused
	for i := range messages {
		if m.comesTooLate(key, &messages[i]) {
			continue
		}
		if messages[i].Kind == message.KindConnector && !(repeats(ended, messages[i]) && (m.losses.Any || m.diesTwice(&messages[i]))) {
			asides = append(asides, m.aside(messages[i], reason))
		}
	}
	m.lost(key, &ended, messages, asides)
}

// diesTwice says whether a message may come twice although no store was lost: of an activity that was
// cancelled its host says that it is dead, and so may whoever resolves the connector into it (N6, N25).
func (m *Machine) diesTwice(msg *message.Message) bool {
	return m.process.Table().Format >= processtable.BlockFormat && !msg.Control.IsTrue() && msg.Data <= message.DataAbsent
}

// cannotBegin takes what begins an instance (N19) of which the identifier is another one's, that has come
// first: its parent is told. What has begun this very one before is let go.
func (m *Machine) cannotBegin(d record.Delivery, known record.AuditRecord) bool {
	i := slices.IndexFunc(d.Messages, func(msg message.Message) bool { return msg.Kind == message.KindStart })
	if i < 0 {
		return false
	}
	keys := make([]message.Key, len(d.Messages))
	for i := range d.Messages {
		keys[i] = d.Messages[i].Key()
	}
	tx := &record.Tx{Consume: []record.Consume{{Process: m.id(), Entry: d.Entry, Keys: keys}}}
	if start, err := message.DecodeStart(d.Messages[i].Body); err == nil && (known.Parent == nil || *known.Parent != start.Parent) {
		back := start.Parent.Back(message.Child{Instance: d.Entry.Instance, Process: m.id()}, message.Return{
			Error: fmt.Sprintf("another instance has this identifier, of %s: retry, which takes another one", known.Process),
		})
		back.Clock = message.Next(d.Messages[i].Clock)
		tx.Put = append(tx.Put, back)
	}
	m.takeOut(&dropped{key: d.Entry, keys: keys}, tx)
	return true
}

// repeats says whether a message resolves a connector as one did that the entry was ended with.
func repeats(ended record.AuditRecord, m message.Message) bool {
	return slices.ContainsFunc(ended.Consumed, func(c record.Consumed) bool {
		return c.Key == m.Key() && c.Control == m.Control && c.Data == m.Data
	})
}

// setAside takes messages out of the queue that no entry can take: late ones, and
// ones for activities that are not here. A late notice says nothing that matters now.
func (m *Machine) setAside(key message.Entry, messages []message.Message, reason string) {
	refused := make([]behaviour.Refuse, len(messages))
	for i := range messages {
		refused[i] = behaviour.Refuse{Message: messages[i], Reason: reason}
	}
	m.setRefusedAside(key, refused)
}

// setRefusedAside is setAside where each message has a reason of its own.
func (m *Machine) setRefusedAside(key message.Entry, refused []behaviour.Refuse) {
	messages := make([]message.Message, len(refused))
	var asides []record.Refused
	for i := range refused {
		if messages[i] = refused[i].Message; messages[i].Kind == message.KindConnector {
			asides = append(asides, m.aside(messages[i], refused[i].Reason))
		}
	}
	m.drop(key, messages, asides)
}

// dropped are messages that are taken out of the queue, in no decision of their entry; or a
// word, which is answered.
type dropped struct {
	key    message.Entry
	keys   []message.Key
	asides []record.Refused     // that are kept of them
	back   []message.Message    // events among them, which go back
	lines  []record.AuditRecord // about these
	word   *word
	answer message.Answer
}

// drop takes messages out of the queue; asides are kept of them. Until that has ended the
// entry is not read: what is read may or may not have them.
func (m *Machine) drop(key message.Entry, messages []message.Message, asides []record.Refused) {
	keys := make([]message.Key, len(messages))
	for i := range messages {
		keys[i] = messages[i].Key()
	}
	back, lines := m.putBack(key, messages)
	back = append(back, m.answers(messages, nil)...)
	m.dropAll(dropped{key: key, keys: keys, asides: asides, back: back, lines: lines})
}

func (m *Machine) dropKeys(key message.Entry, keys []message.Key, asides []record.Refused) {
	m.dropAll(dropped{key: key, keys: keys, asides: asides})
}

func (m *Machine) dropAll(d dropped) {
	m.takeOut(&d, &record.Tx{
		Consume: []record.Consume{{Process: m.id(), Entry: d.key, Keys: d.keys}}, Refuse: d.asides, Put: d.back, Audit: d.lines,
	})
}

// takeOut commits what takes messages out.
func (m *Machine) takeOut(d *dropped, tx *record.Tx) {
	m.dropping[d.key]++
	if a := m.arriving[d.key]; a != nil {
		a.void = true
	}
	m.commit(tx, commitment{dropped: d})
}

// droppingEnded is the end of drop.
func (m *Machine) droppingEnded(d *dropped, e Committed) {
	if m.dropping[d.key]--; m.dropping[d.key] == 0 {
		delete(m.dropping, d.key)
	}
	m.browse.touched(d.key)
	switch e.End {
	case Done:
		if m.absorbed += uint64(len(d.keys) - len(d.asides)); d.word != nil {
			m.replied(d.word, d.answer)
		}
	case Stale:
		if d.word != nil { // what has come may change the answer
			m.postponed = append(m.postponed, d.word)
		} else if m.table.Get(d.key) == nil {
			m.stale = append(m.stale, d.key) // read with the newcomers
		} else { // the entry in memory knows nothing of these
			m.undropped = append(m.undropped, *d)
		}
	case Stopped:
	case TooLarge, NotAside, Failed:
		m.failed(e)
	}
	if a := m.arriving[d.key]; a != nil && a.waits && m.dropping[d.key] == 0 {
		a.waits, a.void = false, false
		a.what |= Messages
		a.given, a.since = append(a.given, a.since...), nil
		m.load(a, a.what, a.key)
	}
}

// failed is what a transaction comes to that the store could not do.
func (m *Machine) failed(e Committed) { m.fail(errors.New(e.Text)) }

// aside is a message that is kept for an operator, with the reason.
func (m *Machine) aside(msg message.Message, reason string) record.Refused {
	encoded, err := message.Encode(msg)
	if err != nil {
		reason = fmt.Sprintf("%s (and it could not be encoded again: %v)", reason, err)
	}
	return record.Refused{Time: m.now, From: msg.From, Reason: reason, Message: encoded}
}
