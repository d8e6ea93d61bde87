package thread

import (
	"fmt"
	"slices"

	"fmqm/behaviour"
	"fmqm/instancetable"
	"fmqm/message"
	"fmqm/processtable"
)

// tentative is an entry as it would be with this transaction's messages.
type tentative struct {
	entry   *instancetable.Entry
	fresh   bool // not in the table before
	state   behaviour.State
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

// cascade lets what is for entries here (connectors, begins, returns) decide what it can without a program, and passes dead
// activities of other nodes around, up to the bounds of one transaction; what is decided
// later comes through the queue (N5, N6). It changes nothing but s.
func (m *Machine) cascade(s *settlement) {
	for len(s.offered) > 0 {
		msg := &s.offered[0] // where it lies: each copy would be allocated
		s.offered = s.offered[1:]
		switch {
		case msg.Queue.Process != m.id(): // of an instance that another process's activity has begun
			s.tx.Put = append(s.tx.Put, *msg)
		case msg.Queue.Node != m.self:
			m.passAround(s, *msg)
		case !m.decide(s, msg):
			s.tx.Put = append(s.tx.Put, *msg)
		}
	}
}

// decide folds a message into an entry here as it would be with it, and decides. False:
// the message is to go through the queue, and is refused there if it does not fit.
func (m *Machine) decide(s *settlement, msg *message.Message) bool {
	key := msg.Entry()
	if a := m.process.Activity(key.Row()); a != nil && !a.MayEnd(msg) || m.leads(key, msg) {
		return false
	}
	t := m.tentative(s, key)
	if t == nil || t.ends || s.ops >= m.bound || s.bytes >= cascadeBytes || t.entry.Behaviour.Fold(t.state, *msg) != nil {
		return false
	}
	t.pending = append(t.pending, *msg)
	effects := t.entry.Behaviour.Decide(t.state, m.now)
	switch {
	case effects.Ends:
		t.ends = true
		m.addEntry(s, t.entry, t.state.Known(), t.entry.Known.Keys, &effects)
	case effects.Outcome.What == behaviour.Passed && m.fits(s, &effects):
		m.passOn(s, t, &effects)
	}
	return true
}

// passAround puts a connector for another node, and what leads out of its target in the
// same transaction where that is dead and may be passed around (N6). It is not where
// this node has no link to one of the nodes beyond: its host may have.
func (m *Machine) passAround(s *settlement, msg message.Message) {
	record, effects, ok := m.process.PassAround(msg)
	if !ok || s.entry != nil && held(s.entry.Suspends, s.entry.Known.Origin, msg.Entry()) || !m.fits(s, &effects) || slices.ContainsFunc(effects.Put, func(p message.Message) bool { return !m.reaches(p.Queue.Node) }) {
		s.tx.Put = append(s.tx.Put, msg)
		return
	}
	s.tx.Put = append(s.tx.Put, record)
	m.addPassed(s, msg.Entry(), &behaviour.Basis{Origin: msg.Origin}, &effects)
}

// passOn is passAround for an entry here that waits for data: its record is the message
// that made it dead, which is put with this transaction.
func (m *Machine) passOn(s *settlement, t *tentative, effects *behaviour.Effects) {
	for _, msg := range effects.Put {
		if msg.Entry() != t.entry.Key {
			continue
		}
		if i := slices.IndexFunc(t.pending, func(p message.Message) bool { return p.Key() == msg.Key() }); i >= 0 {
			t.pending[i] = msg
		} else {
			t.pending = append(t.pending, msg)
		}
		if err := t.entry.Behaviour.Fold(t.state, msg); err != nil {
			m.fail(fmt.Errorf("record of %s: %w", msg.Activity, err))
		}
	}
	effects.Put = slices.DeleteFunc(effects.Put, func(p message.Message) bool { return p.Entry() == t.entry.Key })
	m.addPassed(s, t.entry.Key, t.state.Known(), effects)
}

// addPassed adds what leads out of a dead activity whose entry goes on, here or elsewhere.
func (m *Machine) addPassed(s *settlement, key message.Entry, known *behaviour.Basis, effects *behaviour.Effects) {
	s.ops += len(effects.Put) + 1
	s.tx.Audit = append(s.tx.Audit, m.audit(key, known, effects))
	for i := range effects.Put {
		s.route(&effects.Put[i])
	}
}

// fits says whether effects are within what is left of a transaction's bounds (N5).
func (m *Machine) fits(s *settlement, effects *behaviour.Effects) bool {
	return s.ops+len(effects.Put)+1 <= m.bound && s.bytes < cascadeBytes
}

// reaches: messages for the node have a way.
func (m *Machine) reaches(node processtable.NodeID) bool {
	return node == m.self || m.reach.All || slices.Contains(m.reach.Nodes, node)
}

// tentative finds what a cascade may decide: entries in memory with nothing under
// way, and new ones. All others wait for their message.
func (m *Machine) tentative(s *settlement, key message.Entry) *tentative {
	t, known := s.find(key)
	if !known {
		t = m.candidate(s, key)
		s.note(key, t)
	}
	return t
}

func (m *Machine) candidate(s *settlement, key message.Entry) *tentative {
	if e := m.table.Get(key); e != nil {
		if e.Phase != instancetable.Waiting || restartOf(e.State) != nil || e.Result != nil || e.Known.Stopped || suspended(e) {
			return nil
		}
		return &tentative{entry: e, state: e.State.Clone()}
	}
	a := m.process.Activity(key.Row())
	if a == nil || m.misplaced(key) != "" || m.table.MayBeStored(key) || m.arriving[key] != nil || !m.fresh(s, key) {
		return nil
	}
	e := instancetable.NewEntry(key, a)
	return &tentative{entry: e, fresh: true, state: a.Empty(key)}
}

// fresh says whether an entry that is not in memory, nor in the store, has not ended, in an
// instance without a marker; what has ended under its identifier in another process counts as
// well, and is told of where its message is refused (another). What is not known is taken to be so, and asked for.
func (m *Machine) fresh(s *settlement, key message.Entry) bool {
	if m.lacking(key) == 0 {
		return true
	}
	if g := m.gathers[s.primary]; g != nil {
		if fresh, known := g.known[key]; known {
			return fresh
		}
	}
	s.lacking = append(s.lacking, key)
	return true
}

// gathering are the facts that a settlement lacks, while they are read. It was built as if
// they were as they nearly always are. If they are, and nothing else has happened, it stands;
// else its primary entry is decided again, with what is known then.
type gathering struct {
	settlement *settlement
	acts       uint64 // when it was built
	reading    bool
	asked      []message.Entry
	known      map[message.Entry]bool // whether they are fresh
}

// gather asks for all that a settlement lacks.
func (m *Machine) gather(s *settlement) {
	g := m.gathers[s.primary]
	if g == nil {
		g = &gathering{known: map[message.Entry]bool{}}
		m.gathers[s.primary] = g
	}
	g.settlement, g.acts, g.reading, g.asked = s, m.acts, true, s.lacking
	m.load(g, HowEnded|Marker, s.lacking...)
}

// spoil: entries have ended, or are to be stopped, whatever is read.
func (g *gathering) spoil(these func(message.Entry) bool) {
	for _, key := range g.asked {
		if these(key) {
			g.known[key] = false
		}
	}
	for key := range g.known {
		if these(key) {
			g.known[key] = false
		}
	}
}

func (g *gathering) loaded(m *Machine, facts []Facts) {
	s := g.settlement
	g.reading, g.settlement = false, nil
	all := true
	for i, key := range g.asked {
		if _, spoilt := g.known[key]; !spoilt {
			g.known[key] = facts[i].End == nil && facts[i].Marker == nil && !held(message.InForce(facts[i].Marks), "", key)
		}
		all = all && g.known[key]
	}
	if all && g.acts == m.acts {
		delete(m.gathers, s.primary)
		m.take(s)
		return
	}
	m.again(s)
	if !g.reading {
		delete(m.gathers, s.primary)
	}
}

func (g *gathering) unread(m *Machine, err error) {
	if w := g.settlement.word; w != nil {
		m.answer(w, NotDone, err.Error())
	}
}

// again decides the primary entry of a settlement that was not submitted.
func (m *Machine) again(s *settlement) {
	if e := s.entry; e != nil {
		newcomers := e.Newcomers
		e.Newcomers = nil
		m.table.SetPhase(e, instancetable.Waiting)
		if len(newcomers) > 0 {
			m.fold(e, newcomers)
		} else { // also for a word: a marker may have stopped it meanwhile
			m.consider(e)
		}
	}
	if s.word != nil {
		m.hearAgain(s.word)
	}
}
