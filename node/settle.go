package node

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"fmqm/instancetable"
	"fmqm/message"
	"fmqm/navigator"
	"fmqm/processtable"
	"fmqm/queue"
)

// settlement is a transaction being built: the entries that it ends, the one that goes
// on with messages of its own, and those that a cascade has looked at (N5).
type settlement struct {
	tx      *queue.Tx
	primary message.Entry
	entry   *instancetable.Entry // of primary; nil: the table has none
	ended   []message.Entry
	kept    *instancetable.Entry
	own     []message.Message     // that kept puts for itself
	looked  []looked              // at these, in this order
	index   map[message.Entry]int // into looked; nil while they are few
	offered []message.Message     // connectors, to the cascade
	ops     int
	bytes   int
	reload  bool // the entry has messages that were not folded: if refused, read it again
}

// tentative is an entry as it would be with this transaction's messages.
type tentative struct {
	entry   *instancetable.Entry
	fresh   bool // not in the table before
	state   *navigator.State
	pending []message.Message
	ends    bool
}

// looked is an entry that the cascade has looked at; tentative is nil where it may not
// decide it.
type looked struct {
	key message.Entry
	*tentative
}

// fewLooked is up to how many a search one by one is cheaper than an index.
const fewLooked = 8

func (c *core) settlement(e *instancetable.Entry) *settlement {
	return &settlement{tx: &queue.Tx{}, primary: e.Key, entry: e}
}

// find gives what the cascade knows of an entry, and whether it has looked at it. The
// primary is never a target of its own cascade.
func (s *settlement) find(key message.Entry) (t *tentative, known bool) {
	if key == s.primary {
		return nil, true
	}
	if s.index != nil {
		i, known := s.index[key]
		if !known {
			return nil, false
		}
		return s.looked[i].tentative, true
	}
	for i := range s.looked {
		if s.looked[i].key == key {
			return s.looked[i].tentative, true
		}
	}
	return nil, false
}

// note keeps what the cascade knows of an entry.
func (s *settlement) note(key message.Entry, t *tentative) {
	s.looked = append(s.looked, looked{key, t})
	switch {
	case s.index != nil:
		s.index[key] = len(s.looked) - 1
	case len(s.looked) > fewLooked:
		s.index = map[message.Entry]int{}
		for i := range s.looked {
			s.index[s.looked[i].key] = i
		}
	}
}

// settle makes effects durable: one transaction with everything that follows from
// them at this node without a program.
func (c *core) settle(e *instancetable.Entry, effects navigator.Effects, now time.Time) {
	s := c.settlement(e)
	c.addEntry(s, e, e.State, e.State.Keys, effects, now)
	c.table.SetPhase(e, instancetable.Settling)
	c.cascade(s, now)
	c.submit(s)
}

// addEntry adds one entry's effects. keys are those of its messages that are stored.
func (c *core) addEntry(s *settlement, e *instancetable.Entry, state *navigator.State, keys []message.Key, effects navigator.Effects, now time.Time) {
	consume := queue.Consume{Process: c.id(), Entry: e.Key}
	if e.State.Snapshot != nil {
		consume.Due = e.State.Snapshot.Due
	}
	if effects.Ends {
		consume.Keys = keys
		s.ended = append(s.ended, e.Key)
	} else {
		s.kept = e
		consume.Replaces = []message.Key{}
	}
	if !effects.Timer.IsZero() {
		s.tx.Timers = append(s.tx.Timers, queue.Timer{Due: effects.Timer, Process: c.id(), Entry: e.Key})
	}
	s.ops += len(consume.Keys) + len(effects.Put) + 1
	for _, m := range effects.Put {
		if m.Entry() == e.Key {
			s.own = append(s.own, m)
			if key := m.Key(); slices.Contains(e.State.Keys, key) {
				consume.Replaces = append(consume.Replaces, key)
			}
		}
		c.route(s, m)
	}
	s.tx.Consume = append(s.tx.Consume, consume)
	if effects.Outcome.What != navigator.Nothing {
		s.tx.Audit = append(s.tx.Audit, c.audit(e.Key, state, effects, now))
	}
}

// route sends a message on its way: connectors may take effect in this very
// transaction, everything else is put.
func (c *core) route(s *settlement, m message.Message) {
	s.bytes += len(m.Body)
	if m.Kind == message.KindConnector {
		s.offered = append(s.offered, m)
		return
	}
	s.tx.Put = append(s.tx.Put, m)
}

// cascade lets local connectors decide what they can without a program, and passes dead
// activities of other nodes around, up to the bounds of one transaction; what is decided
// later comes through the queue (N5, N6).
func (c *core) cascade(s *settlement, now time.Time) {
	for len(s.offered) > 0 {
		m := s.offered[0]
		s.offered = s.offered[1:]
		switch {
		case m.Queue.Node != c.self:
			c.passAround(s, m, now)
		case !c.take(s, m, now):
			s.tx.Put = append(s.tx.Put, m)
		}
	}
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
			c.table.Add(t.entry)
		}
		c.table.SetPhase(t.entry, instancetable.Settling)
	}
}

// take folds a connector into an entry here as it would be with it, and decides. False:
// the message is to go through the queue, and is refused there if it does not fit.
func (c *core) take(s *settlement, m message.Message, now time.Time) bool {
	t := c.tentative(s, m.Entry())
	if t == nil || t.ends || s.ops >= c.bound || s.bytes >= cascadeBytes || t.entry.Activity.Fold(t.state, m) != nil {
		return false
	}
	t.pending = append(t.pending, m)
	effects := t.entry.Activity.Decide(t.state, now)
	switch {
	case effects.Ends:
		t.ends = true
		c.addEntry(s, t.entry, t.state, t.entry.State.Keys, effects, now)
	case effects.Outcome.What == navigator.Passed && c.fits(s, effects):
		c.passOn(s, t, effects, now)
	}
	return true
}

// passAround puts a connector for another node, and what leads out of its target in the
// same transaction where that is dead and may be passed around (N6). It is not where
// this node has no link to one of the nodes beyond: its host may have.
func (c *core) passAround(s *settlement, m message.Message, now time.Time) {
	record, effects, ok := c.process.PassAround(m)
	if !ok || !c.fits(s, effects) || slices.ContainsFunc(effects.Put, func(m message.Message) bool { return !c.reached(m.Queue.Node) }) {
		s.tx.Put = append(s.tx.Put, m)
		return
	}
	s.tx.Put = append(s.tx.Put, record)
	c.addPassed(s, m.Entry(), &navigator.State{Origin: m.Origin}, effects, now)
}

// passOn is passAround for an entry here that waits for data: its record is the message
// that made it dead, which is put with this transaction.
func (c *core) passOn(s *settlement, t *tentative, effects navigator.Effects, now time.Time) {
	for _, m := range effects.Put {
		if m.Entry() != t.entry.Key {
			continue
		}
		if i := slices.IndexFunc(t.pending, func(p message.Message) bool { return p.Key() == m.Key() }); i >= 0 {
			t.pending[i] = m
		} else {
			t.pending = append(t.pending, m)
		}
		if err := t.entry.Activity.Fold(t.state, m); err != nil {
			c.fail(fmt.Errorf("record of %s: %w", m.Activity, err))
		}
	}
	effects.Put = slices.DeleteFunc(effects.Put, func(m message.Message) bool { return m.Entry() == t.entry.Key })
	c.addPassed(s, t.entry.Key, t.state, effects, now)
}

// addPassed adds what leads out of a dead activity whose entry goes on, here or elsewhere.
func (c *core) addPassed(s *settlement, key message.Entry, state *navigator.State, effects navigator.Effects, now time.Time) {
	s.ops += len(effects.Put) + 1
	s.tx.Audit = append(s.tx.Audit, c.audit(key, state, effects, now))
	for _, m := range effects.Put {
		c.route(s, m)
	}
}

// fits says whether effects are within what is left of a transaction's bounds (N5).
func (c *core) fits(s *settlement, effects navigator.Effects) bool {
	return s.ops+len(effects.Put)+1 <= c.bound && s.bytes < cascadeBytes
}

// reached: messages for the node have a way.
func (c *core) reached(node processtable.NodeID) bool {
	return node == c.self || c.reaches == nil || c.reaches(node)
}

// tentative finds what a cascade may decide: entries in memory with nothing under
// way, and new ones. All others wait for their message.
func (c *core) tentative(s *settlement, key message.Entry) *tentative {
	t, known := s.find(key)
	if !known {
		t = c.candidate(key)
		s.note(key, t)
	}
	return t
}

func (c *core) candidate(key message.Entry) *tentative {
	if e := c.table.Get(key); e != nil {
		if e.Phase != instancetable.Waiting || e.Result != nil || e.State.Stopped {
			return nil
		}
		return &tentative{entry: e, state: e.State.Clone()}
	}
	a := c.process.Activity(key.Activity)
	if a == nil || c.table.MayBeStored(key) {
		return nil
	}
	if _, ended, err := c.ended(key); err != nil || ended {
		c.fail(err)
		return nil
	}
	if marker, err := c.store.Marker(c.id(), key.Instance); err != nil || marker != nil {
		c.fail(err)
		return nil
	}
	e := instancetable.NewEntry(key, a)
	return &tentative{entry: e, fresh: true, state: &navigator.State{Entry: key}}
}

func (c *core) submit(s *settlement) {
	c.commit(s.tx, func(err error, now time.Time) { c.committed(s, err, now) })
}

// committed is the event of a settlement's end.
func (c *core) committed(s *settlement, err error, now time.Time) {
	switch {
	case err == nil:
		for _, key := range s.ended {
			c.forget(key, now)
		}
		if s.kept != nil {
			c.goOn(s.kept, s.own, now)
		}
	case errors.Is(err, queue.ErrStopped):
		// The node is closing: the queue says at the next start how far this came.
	case errors.Is(err, queue.ErrStale):
		c.undo(s, now)
		c.stale = append(c.stale, s.primary)
	case errors.Is(err, queue.ErrTooLarge):
		c.undo(s, now)
		if e := c.table.Get(s.primary); e != nil && e.Phase == instancetable.Waiting { // else newcomers took it further
			c.settle(e, e.Activity.Unsent(e.State, e.Result, err.Error(), now), now)
		}
	default:
		c.fail(err)
	}
}

// forget drops an entry that has ended. What came for it meanwhile is late.
func (c *core) forget(key message.Entry, now time.Time) {
	c.lives.end(key)
	e := c.table.Get(key)
	c.table.Remove(key)
	if e == nil {
		return
	}
	c.census.changed(key, e.State.InError(), false)
	newcomers := e.Newcomers
	if slices.ContainsFunc(newcomers, func(m message.Message) bool { return slices.Contains(e.State.Keys, m.Key()) }) {
		// A browse had found it before the mailbox gave it, and it ended with the entry; or it
		// has come once more.
		newcomers = c.stored(key, newcomers)
	}
	if len(newcomers) > 0 {
		c.load(queue.Delivery{Entry: key, Messages: newcomers}, now)
	}
}

// goOn continues an entry whose messages for itself are on disk.
func (c *core) goOn(e *instancetable.Entry, own []message.Message, now time.Time) {
	e.Result = nil
	c.table.SetPhase(e, instancetable.Waiting)
	messages := append(e.Newcomers, own...)
	e.Newcomers = nil
	before := e.State.InError()
	c.fold(e, messages, now)
	c.census.changed(e.Key, before, e.State.InError())
}

// undo takes back what settle did to the table.
func (c *core) undo(s *settlement, now time.Time) {
	if s.entry != nil {
		c.restore(s, &tentative{entry: s.entry}, now)
	}
	for _, t := range s.looked {
		if t.tentative != nil && t.ends {
			c.restore(s, t.tentative, now)
		}
	}
}

// restore is undo of one entry.
func (c *core) restore(s *settlement, t *tentative, now time.Time) {
	newcomers := t.entry.Newcomers
	t.entry.Newcomers = nil
	switch {
	case t.fresh:
		c.table.Remove(t.entry.Key)
	case s.reload: // newcomers are in the store too
		c.table.Evict(t.entry)
		return
	default:
		c.table.SetPhase(t.entry, instancetable.Waiting)
		if t.entry != s.entry { // which is seen to by whoever takes this back
			c.stale = append(c.stale, t.entry.Key) // a marker may have stopped it meanwhile
		}
	}
	if len(newcomers) > 0 {
		c.deliver(queue.Delivery{Entry: t.entry.Key, Messages: newcomers}, now)
	}
}

// refuse sets messages aside and puts their entry in error, in one transaction (L5).
func (c *core) refuse(e *instancetable.Entry, refused []message.Message, reason string, now time.Time) {
	if e.Phase != instancetable.Waiting {
		// Its connectors were resolved before: a repeat with other content. The entry goes on.
		c.setAside(e.Key, refused, reason, now)
		return
	}
	effects := e.Activity.Refused(e.State, refused[0], reason, now)
	s := c.settlement(e)
	s.reload = true
	c.addEntry(s, e, e.State, nil, effects, now)
	for _, m := range refused {
		s.tx.Consume[0].Keys = append(s.tx.Consume[0].Keys, m.Key())
		s.tx.SetAside = append(s.tx.SetAside, c.aside(m, reason, now))
	}
	c.table.SetPhase(e, instancetable.Settling)
	c.submit(s)
}

// setAside takes messages out of the queue that no entry can take: late ones, and
// ones for activities that are not here. A late notice says nothing that matters now.
func (c *core) setAside(key message.Entry, messages []message.Message, reason string, now time.Time) {
	var asides []queue.SetAside
	for _, m := range messages {
		if m.Kind == message.KindConnector {
			asides = append(asides, c.aside(m, reason, now))
		}
	}
	c.drop(key, messages, asides)
}

// undropped are messages whose removal came too early.
type undropped struct {
	key      message.Entry
	messages []message.Message
	asides   []queue.SetAside
}

// drop takes messages out of the queue; asides are kept of them.
func (c *core) drop(key message.Entry, messages []message.Message, asides []queue.SetAside) {
	tx := &queue.Tx{Consume: []queue.Consume{{Process: c.id(), Entry: key}}, SetAside: asides}
	for _, m := range messages {
		tx.Consume[0].Keys = append(tx.Consume[0].Keys, m.Key())
	}
	c.commit(tx, func(err error, _ time.Time) {
		switch {
		case err == nil:
			c.absorbed += uint64(len(messages) - len(asides))
		case errors.Is(err, queue.ErrStale):
			if c.table.Get(key) == nil {
				c.stale = append(c.stale, key) // read with the newcomers
			} else { // the entry in memory knows nothing of these
				c.undropped = append(c.undropped, undropped{key, messages, asides})
			}
		case !errors.Is(err, queue.ErrStopped):
			c.fail(err)
		}
	})
}

func (c *core) aside(m message.Message, reason string, now time.Time) queue.SetAside {
	encoded, err := message.Encode(m)
	if err != nil {
		reason = fmt.Sprintf("%s (and it could not be encoded again: %v)", reason, err)
	}
	return queue.SetAside{Time: now, From: m.From, Reason: reason, Message: encoded}
}

var eventOf = map[navigator.What]queue.Event{
	navigator.Terminated: queue.EventTerminated,
	navigator.Skipped:    queue.EventSkipped,
	navigator.Stopped:    queue.EventStopped,
	navigator.Iterated:   queue.EventIterated,
	navigator.Failed:     queue.EventFailed,
	navigator.InError:    queue.EventInError,
	navigator.Retried:    queue.EventRetried,
	navigator.Passed:     queue.EventPassed,
}

// audit is the record of one entry's effects, written in their transaction.
func (c *core) audit(key message.Entry, s *navigator.State, effects navigator.Effects, now time.Time) queue.AuditRecord {
	o := effects.Outcome
	r := queue.AuditRecord{
		Time: now, Clock: o.Clock, Process: c.id(), Definition: c.process.Definition(),
		Instance: key.Instance, Origin: s.Origin, Scope: key.Scope, Activity: key.Activity,
		Event: eventOf[o.What], Iteration: o.Iteration, Attempt: o.Attempt, Run: o.Run,
		RC: o.RC, Started: o.Started, Reason: o.Reason, By: o.By, Output: o.Output,
	}
	if o.What == navigator.Terminated {
		switch key.Activity {
		case processtable.Source:
			r.Event = queue.EventStarted
		case processtable.Sink:
			r.Event = queue.EventEnded
		}
	}
	if r.Event == queue.EventFailed || r.Event == queue.EventInError {
		if e := c.table.Get(key); e != nil && e.Result != nil {
			r.Stderr = e.Result.Said
		}
	}
	if effects.Ends {
		for _, m := range s.Consumed {
			r.Consumed = append(r.Consumed, queue.Consumed(m))
		}
	}
	if effects.Ends || o.What == navigator.Passed {
		for _, m := range effects.Put {
			if m.Kind == message.KindConnector && m.Source == key.Activity {
				r.Sent = append(r.Sent, queue.Sent{Target: m.Activity, Node: m.Queue.Node, Control: m.Control, Data: m.Data, Lane: m.Lane})
			}
		}
	}
	return r
}
