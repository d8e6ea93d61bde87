package thread

import (
	"cmp"
	"slices"

	"fmqm/behaviour"
	"fmqm/instancetable"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// settlement is a transaction being built, or under way: the entries that it ends, the one
// that goes on with messages of its own, and those that a cascade has looked at (N5).
type settlement struct {
	tx      *record.Tx
	primary message.Entry
	entry   *instancetable.Entry // of primary; nil: the table has none, or it is not settled
	ended   []message.Entry
	kept    *instancetable.Entry
	own     []message.Message     // that kept puts for itself
	taken   []message.Key         // that are removed of it
	looked  []looked              // at these, in this order
	index   map[message.Entry]int // into looked; nil while they are few
	offered []message.Message     // to the cascade
	lacking []message.Entry       // looked at, and taken for entries that nothing is known of
	ops     int
	bytes   int
	reload  bool  // the entry has messages that were not folded: if refused, read it again
	fresh   bool  // the entry is there for this only: if refused, it is none, since its activity has ended
	unsent  bool  // it puts the entry in error because another could never be done
	word    *word // that it carries out; nil: none
	answer  Answer
	room    room
}

// room is for the parts of a settlement of which most have one: it is allocated with it.
type room struct {
	tx      record.Tx
	consume [1]record.Consume
	audit   [1]record.AuditRecord
	put     [1]message.Message
	offered [1]message.Message
	ended   [1]message.Entry
}

func newSettlement(e *instancetable.Entry) *settlement {
	s := &settlement{primary: e.Key, entry: e}
	s.tx, s.ended, s.offered = &s.room.tx, s.room.ended[:0], s.room.offered[:0]
	s.tx.Consume, s.tx.Audit, s.tx.Put = s.room.consume[:0], s.room.audit[:0], s.room.put[:0]
	return s
}

// settle makes effects durable: one transaction with everything that follows from
// them at this node without a program.
func (m *Machine) settle(e *instancetable.Entry, effects *behaviour.Effects) {
	s := newSettlement(e)
	m.addEntry(s, e, e.Known, e.Known.Keys, effects)
	m.endRecall(s, e.Key, effects.Recall)
	m.finish(s)
}

// finish adds what a cascade decides, and submits. What it lacks to know of an entry is asked
// for first; its primary entry is settling meanwhile.
func (m *Machine) finish(s *settlement) {
	if s.entry != nil {
		m.table.SetPhase(s.entry, instancetable.Settling)
	}
	m.cascade(s)
	if len(s.lacking) > 0 {
		m.gather(s)
		return
	}
	m.take(s)
}

// take gives the entries of a cascade to the transaction, and submits it.
func (m *Machine) take(s *settlement) {
	for _, t := range s.looked {
		if t.tentative == nil {
			continue
		}
		if !t.ends {
			s.tx.Put = append(s.tx.Put, t.pending...)
			continue
		}
		if t.fresh {
			t.entry.Phase = instancetable.Settling // so that it evicts none of the others
			m.table.Add(t.entry)
		}
		m.table.SetPhase(t.entry, instancetable.Settling)
	}
	m.submit(s)
}

func (m *Machine) submit(s *settlement) { m.commit(s.tx, commitment{settlement: s}) }

// addEntry adds one entry's effects. keys are those of its messages that are stored.
func (m *Machine) addEntry(s *settlement, e *instancetable.Entry, known *behaviour.Basis, keys []message.Key, effects *behaviour.Effects) {
	consume := record.Consume{Process: m.id(), Entry: e.Key}
	before := e.State.Timers()
	for _, t := range before {
		if !has(effects.Timers, t) {
			consume.Timers = append(consume.Timers, record.Timer{Name: t.Name, Due: t.Due})
		}
	}
	for _, t := range effects.Untimed {
		consume.Timers = append(consume.Timers, record.Timer{Name: t.Name, Due: t.Due})
	}
	if effects.Ends {
		consume.Keys = keys
		s.ended = append(s.ended, e.Key)
		if e.Key.Activity == processtable.Source {
			m.starts.note(birth{e.Key.Instance, e.Key.Scope})
		}
	} else {
		s.kept, s.taken, consume.Keys = e, effects.Takes, effects.Takes
		consume.Replaces = []message.Key{}
	}
	for _, t := range effects.Timers {
		if has(before, t) && !e.Known.Came(t) {
			continue
		}
		s.tx.Timers = append(s.tx.Timers, record.Timer{Name: t.Name, Due: t.Due, Pause: t.Pause, Process: m.id(), Entry: e.Key})
	}
	s.ops += len(consume.Keys) + len(effects.Put) + 1
	for i := range effects.Put {
		msg := &effects.Put[i]
		if msg.Entry() == e.Key {
			s.own = append(s.own, *msg)
			if key := msg.Key(); e.State.Holds(key) {
				consume.Replaces = append(consume.Replaces, key)
			}
		}
		s.route(msg)
	}
	s.tx.Consume = append(s.tx.Consume, consume)
	s.tx.Audit = append(s.tx.Audit, m.signals(e.Key, known, effects)...)
	for i := range effects.Lines {
		s.tx.Audit = append(s.tx.Audit, m.audit(e.Key, known, &behaviour.Effects{Outcome: effects.Lines[i]}))
	}
	if effects.Outcome.What != behaviour.Nothing {
		s.tx.Audit = append(s.tx.Audit, m.audit(e.Key, known, effects))
		s.tx.Audit = append(s.tx.Audit, m.raced(e.Key, known, &effects.Outcome)...)
	}
	for i := range effects.Put {
		if back := &effects.Put[i]; back.Kind == message.KindReturn && back.Instance != e.Key.Instance {
			s.tx.Audit = append(s.tx.Audit, m.returned(e.Key.Instance, back, &effects.Outcome))
		}
	}
}

// returned is the line of an activity's history that an instance which was begun for it has come back
// (N19), written where that ends.
func (m *Machine) returned(child message.InstanceID, back *message.Message, end *behaviour.Outcome) record.AuditRecord {
	r := record.AuditRecord{
		Time: m.now, Clock: back.Clock, Process: back.Queue.Process, Instance: back.Instance, Scope: back.Scope, Activity: back.Activity,
		Event: record.EventReturned, Started: end.Started, Reason: end.Reason, Child: &message.Child{Instance: child, Process: m.id()},
	}
	if p := end.Parent; p != nil {
		r.Iteration, r.Run, r.Attempt = p.Iteration, p.Run, p.Attempt
	}
	return r
}

// has says whether a timer is among others: one is known by its name and its time (N13).
func has(timers []behaviour.Timer, t behaviour.Timer) bool {
	return slices.ContainsFunc(timers, func(o behaviour.Timer) bool { return o.Name == t.Name && o.Due.Equal(t.Due) })
}

// route sends a message on its way: connectors, begins and returns may take effect in this very
// transaction, everything else is put.
func (s *settlement) route(msg *message.Message) {
	s.bytes += len(msg.Body)
	switch msg.Kind {
	case message.KindConnector, message.KindBegin, message.KindReturn, message.KindCancel:
		s.offered = append(s.offered, *msg)
	case message.KindNotice:
		if msg.Number == message.NoticeOfDeadline { // so that sink, if it comes to its end in this very transaction, has it before that (R61)
			s.offered = append(s.offered, *msg)
		} else {
			s.tx.Put = append(s.tx.Put, *msg)
		}
	default:
		s.tx.Put = append(s.tx.Put, *msg)
	}
}

// settled takes the end of a settlement.
func (m *Machine) settled(s *settlement, e Committed) {
	if s.word != nil {
		m.carriedOut(s, e)
		return
	}
	m.conclude(s, e)
}

// conclude makes the table follow what has come of a settlement.
func (m *Machine) conclude(s *settlement, e Committed) {
	switch e.End {
	case Done:
		for _, key := range s.ended {
			m.forget(key)
			if key.Activity == processtable.Source {
				m.goesOn(birth{key.Instance, key.Scope})
			}
			if a := m.process.Table().Activity(key.Row()); a != nil && (a.Kind == processtable.KindBlock || a.Kind == processtable.KindBundle) && m.starts.over(key) {
				m.list(key.Instance, &roll{})
			}
		}
		if s.kept != nil {
			s.kept.State.Forget(s.taken)
			m.goOn(s.kept, s.own)
		}
	case Stopped:
		// The node is closing: the queue says at the next start how far this came.
	case Stale:
		m.undo(s)
		m.stale = append(m.stale, s.primary)
	case TooLarge:
		m.undo(s)
		if s.entry == nil || s.unsent { // without an end it would be tried again
			m.failed(e)
			return
		}
		if at := m.table.Get(s.primary); at != nil && at.Phase == instancetable.Waiting { // else newcomers took it further
			effects, err := at.Behaviour.Command(at.State, behaviour.TooLarge{Result: at.Result, Reason: e.Text}, m.now)
			if err != nil {
				m.fail(err)
				return
			}
			next := newSettlement(at)
			next.unsent = true
			m.addEntry(next, at, at.Known, at.Known.Keys, &effects)
			m.finish(next)
		}
	case NotAside, Failed:
		m.failed(e)
	}
}

// forget drops an entry that has ended. What came for it meanwhile is late.
func (m *Machine) forget(key message.Entry) {
	m.acts++
	m.lives.end(key)
	m.unshow(key)
	for _, g := range m.gathers {
		g.spoil(func(asked message.Entry) bool { return asked == key })
	}
	e := m.table.Get(key)
	m.table.Remove(key)
	if e == nil {
		return
	}
	m.census.changed(key, e.State.InError(), false)
	if len(e.Newcomers) == 0 {
		return
	}
	d := record.Delivery{Entry: key, Messages: e.Newcomers}
	if slices.ContainsFunc(e.Newcomers, func(n message.Message) bool { return e.State.Holds(n.Key()) }) {
		// A browse had found it before the mailbox gave it, and it ended with the entry; or it
		// has come once more.
		m.ask(d, m.lacking(key)|Messages, nil)
		return
	}
	m.ask(d, m.lacking(key), nil)
}

// goOn continues an entry whose messages for itself are on disk.
func (m *Machine) goOn(e *instancetable.Entry, own []message.Message) {
	e.Result = nil
	m.table.SetPhase(e, instancetable.Waiting)
	messages := append(e.Newcomers, own...)
	e.Newcomers = nil
	before := e.State.InError()
	m.fold(e, messages)
	m.census.changed(e.Key, before, e.State.InError())
}

// undo takes back what settle did to the table.
func (m *Machine) undo(s *settlement) {
	if s.entry != nil {
		m.restore(s, &tentative{entry: s.entry, fresh: s.fresh})
	}
	for _, t := range s.looked {
		if t.tentative != nil && t.ends {
			m.restore(s, t.tentative)
		}
	}
}

// restore is undo of one entry.
func (m *Machine) restore(s *settlement, t *tentative) {
	newcomers := t.entry.Newcomers
	t.entry.Newcomers = nil
	switch {
	case t.fresh:
		m.table.Remove(t.entry.Key)
	case s.reload: // newcomers are in the store too
		m.table.Evict(t.entry)
		return
	default:
		m.table.SetPhase(t.entry, instancetable.Waiting)
		if t.entry != s.entry { // which is seen to by whoever takes this back
			m.stale = append(m.stale, t.entry.Key) // a marker may have stopped it meanwhile
		}
	}
	if len(newcomers) > 0 {
		m.deliver(record.Delivery{Entry: t.entry.Key, Messages: newcomers})
	}
}

var eventOf = map[behaviour.What]record.Event{
	behaviour.Terminated: record.EventTerminated,
	behaviour.Skipped:    record.EventSkipped,
	behaviour.Stopped:    record.EventStopped,
	behaviour.Iterated:   record.EventIterated,
	behaviour.Failed:     record.EventFailed,
	behaviour.InError:    record.EventInError,
	behaviour.Retried:    record.EventRetried,
	behaviour.Passed:     record.EventPassed,
	behaviour.Cancelled:  record.EventCancelled,
	behaviour.Cancelling: record.EventCancelling,
	behaviour.Began:      record.EventBegun,
	behaviour.Decided:    record.EventDecided,
	behaviour.Notified:   record.EventNotified,
	behaviour.Forced:     record.EventForced,
	behaviour.Recalled:   record.EventRecalled,
	behaviour.Restarted:  record.EventRestarted,
	behaviour.Kept:       record.EventKept,

	behaviour.Offered:     record.EventOffered,
	behaviour.Claimed:     record.EventClaimed,
	behaviour.Released:    record.EventReleased,
	behaviour.Transferred: record.EventTransferred,
	behaviour.Saved:       record.EventSaved,
	behaviour.Completed:   record.EventCompleted,
	behaviour.Withdrawn:   record.EventWithdrawn,
	behaviour.Escalated:   record.EventEscalated,
}

// audit is the record of one entry's effects, written in their transaction.
func (m *Machine) audit(key message.Entry, s *behaviour.Basis, effects *behaviour.Effects) record.AuditRecord {
	o := &effects.Outcome
	r := record.AuditRecord{
		Time: m.now, Clock: o.Clock, Process: m.id(), Definition: m.process.Definition(),
		Instance: key.Instance, Origin: s.Origin, Scope: key.Scope, Activity: key.Activity,
		Event: eventOf[o.What], Iteration: o.Iteration, Attempt: o.Attempt, Run: o.Run,
		RC: o.RC, Started: o.Started, Reason: o.Reason, By: o.By, Output: o.Output, Ending: o.Ending, Parent: o.Parent, About: o.About, Counted: o.Counted,
		Rank: o.Rank, Told: o.Told,
	}
	if o.Child != (message.Child{}) {
		child := o.Child
		r.Child = &child
	}
	if p := (message.People{For: o.For, To: o.To, Operator: o.Operator}); p != (message.People{}) {
		r.People = &p
	}
	if o.What == behaviour.Terminated && key.Scope == "" { // source and sink of a composite are activities (N10)
		switch key.Activity {
		case processtable.Source:
			r.Event = record.EventStarted
			r.Search = record.SearchedOf(m.process.Table(), o.Output)
		case processtable.Sink:
			r.Event = record.EventEnded
		}
	}
	if _, notice := key.Scope.OfNotice(); notice { // it is a line of the activity's history
		r.Scope = key.Scope.Leave()
	}
	if r.Event == record.EventFailed || r.Event == record.EventInError || r.Event == record.EventNotified && r.Failure != "" {
		if e := m.table.Get(key); e != nil && e.Result != nil {
			r.Stderr = e.Result.Said
		}
	}
	if effects.Ends && len(s.Consumed) > 0 {
		r.Consumed = make([]record.Consumed, 0, len(s.Consumed))
		for _, c := range s.Consumed {
			r.Consumed = append(r.Consumed, record.Consumed(c))
		}
	}
	for i := range effects.Put {
		if p := &effects.Put[i]; p.Source == key.Activity && p.SourceScope == key.Scope && p.Instance == key.Instance && p.Entry() != key && p.Kind != message.KindNotice && p.Kind != message.KindRecord {
			r.Sent = append(r.Sent, sentAs(p))
		}
	}
	if effects.Ends || len(r.Sent) > 0 { // what is sent again, or anew after a restart, has it from here
		r.Rank = cmp.Or(r.Rank, s.Rank)
	}
	return r
}

// sentAs is how a record names a message that was put for another entry, so that it can be built
// again (N16). Notices are not: the sender's state says what they would; nor is the instance's
// record, which lies where its source does, nor what is for another instance (N19).
func sentAs(m *message.Message) record.Sent {
	s := record.Sent{
		Kind: m.Kind, Nth: m.Number, Scope: m.Scope, Target: m.Activity, Node: m.Queue.Node, Control: m.Control, Data: m.Data, Lane: m.Lane,
	}
	if s.Kind == message.KindConnector {
		s.Kind = 0
	}
	return s
}
