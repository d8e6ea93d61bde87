package thread

import (
	"slices"

	"fmqm/behaviour"
	"fmqm/instancetable"
	"fmqm/message"
	"fmqm/processtable"
)

// A peer speaks of an instance that was started here, as it says (invariant 11). That it was
// is for this node to know: the start is in its audit queue before anything of the instance
// leaves it, and a small record of it stays for ever. So what names this node as the origin
// of an instance that was not started here waits, and nothing follows from it: no program
// runs, nothing is sent. It is not refused, since it may be true: a site that has lost its
// disk hears from its peers of instances that it knows no more, and goes on with them when
// their starts are repeated (N2, S4). Until then an operator may end it: what waits is taken out.
//
// So it is with a block that lives here: an iteration has begun when its source has terminated (N18).
// Else a peer could have what is behind its own activities done for each iteration that there may be. Once a
// block around has ended no iteration of it begins any more: what has waited for one is taken out. So it comes
// where a site has lost its store: peers send again what was inside, and the block is cancelled before it has
// begun anew.
//
// What a bundle or a call that lives here has begun has a message of its own that says so (N20, N21): what comes for it
// before that waits, and is taken out with what it would be part of.

// birth is what something belongs to that has begun here: an instance, or an iteration of a block.
type birth struct {
	instance message.InstanceID
	scope    message.Scope // that was begun; empty: the instance
}

// source is the entry whose end says that it has begun.
func (b birth) source() message.Entry {
	return message.Entry{Instance: b.instance, Scope: b.scope, Activity: processtable.Source}
}

// birth is the innermost that an entry belongs to of those that begin at this node; false: none does,
// as far as is known.
func (m *Machine) birth(e message.Entry, origin processtable.NodeID) (birth, bool) {
	for scope := e.Scope; scope != ""; scope = scope.Leave() {
		if _, notice := scope.OfNotice(); notice { // it begins with its activity
			continue
		}
		if m.hosts(scope.Leave().Row(scope.Inside()), origin) {
			return birth{e.Instance, scope}, true
		}
	}
	return birth{instance: e.Instance}, origin == m.self
}

// hosts says whether an activity lives here, of an instance that was started at origin.
func (m *Machine) hosts(row processtable.RowID, origin processtable.NodeID) bool {
	home, known := m.process.Table().HostOf(row, origin)
	return known && home == m.self
}

// blocks are those around that live here, whose end says that it never begins.
func (b birth) blocks(m *Machine, origin processtable.NodeID) (all []message.Entry) {
	for scope := b.scope; scope != ""; scope = scope.Leave() {
		block := message.Entry{Instance: b.instance, Scope: scope.Leave(), Activity: scope.Inside()}
		if m.hosts(block.Row(), origin) {
			all = append(all, block)
		}
	}
	return all
}

// within says whether a block is around it.
func (b birth) within(block message.Entry) bool {
	for scope := b.scope; scope != "" && b.instance == block.Instance; scope = scope.Leave() {
		if scope.Leave() == block.Scope && scope.Inside() == block.Activity {
			return true
		}
	}
	return false
}

// Bounds of what a process thread remembers of starts; what it does not, the store says.
const (
	startsLimit    = 1 << 16 // in each of two generations: 5 MiB, with what names scopes
	unstartedLimit = 1 << 12
)

// starts are the instances, and iterations of blocks, whose begin a process thread knows of.
type starts struct {
	young, old map[birth]struct{}
	// unstarted are those of which something waits for it. With too many of them each that
	// is started may be one.
	unstarted map[birth]struct{}
	many      bool
	asked     map[birth]*startQuestion // whose begin is being read
}

func newStarts() *starts {
	return &starts{
		young: map[birth]struct{}{}, unstarted: map[birth]struct{}{},
		asked: map[birth]*startQuestion{},
	}
}

// note: it is being begun, or was.
func (s *starts) note(id birth) {
	if len(s.young) >= startsLimit {
		s.old, s.young = s.young, map[birth]struct{}{}
	}
	s.young[id] = struct{}{}
}

// forget: the start has failed.
func (s *starts) forget(id birth) {
	delete(s.young, id)
	delete(s.old, id)
}

// known says that it was begun, or is being begun and nothing has waited for that. False says
// nothing.
func (s *starts) known(id birth) bool {
	_, young := s.young[id]
	_, old := s.old[id]
	return (young || old) && !s.awaited(id)
}

// await: something of it waits for its begin.
func (s *starts) await(id birth) {
	if s.many = s.many || len(s.unstarted) >= unstartedLimit; !s.many {
		s.unstarted[id] = struct{}{}
	}
}

// awaited says whether something may wait for a begin.
func (s *starts) awaited(id birth) bool {
	_, waits := s.unstarted[id]
	return waits || s.many
}

// begun: the begin is on disk.
func (s *starts) begun(id birth) {
	delete(s.unstarted, id)
	if q := s.asked[id]; q != nil {
		q.begun = true
	}
}

// over: a block has ended. What waits for one of its iterations is to be asked about once more, if anything does.
func (s *starts) over(block message.Entry) (waits bool) {
	waits = s.many
	for id := range s.unstarted {
		if id.within(block) {
			delete(s.unstarted, id)
			waits = true
		}
	}
	return waits
}

// browse: all that waits is found again.
func (s *starts) browse() {
	s.unstarted, s.many = map[birth]struct{}{}, false
}

// whether says what is known of a start.
type whether uint8

const (
	startUnknown whether = iota
	wasStarted
	wasNotStarted
)

// started says whether what an entry belongs to was begun where its messages say, as far
// as that is for this node to know. An entry that has a message of its own goes on: whatever let
// it begin is in the store.
func (m *Machine) started(e *instancetable.Entry, origin processtable.NodeID) whether {
	id, here := m.birth(e.Key, origin)
	if !here || e.Started || e.Known.Own {
		return wasStarted
	}
	if e.Started = m.starts.known(id); e.Started {
		return wasStarted
	}
	if _, waits := m.starts.unstarted[id]; waits { // its start would have been heard of
		return wasNotStarted
	}
	return startUnknown
}

// unstarted is an entry that goes on for nothing that is there, since its instance was not started here.
// What does not fit the table is set aside, and no activity goes in error by it. If an operator has ended
// the instance, all of it is taken out, and no end is written: ends are kept by instance and activity, and
// the identifier may be that of an instance of another process, which goes on.
func (m *Machine) unstarted(e *instancetable.Entry, refused []behaviour.Refuse) {
	switch {
	case e.Known.Stopped:
		m.table.Remove(e.Key)
		m.dropKeys(e.Key, keysOf(e, refused), nil)
	case len(refused) > 0:
		if e.State.Empty() {
			m.table.Remove(e.Key)
		}
		m.setRefusedAside(e.Key, refused)
	}
}

// keysOf are those of the messages of an entry that are in the store.
func keysOf(e *instancetable.Entry, refused []behaviour.Refuse) []message.Key {
	keys := slices.Clone(e.Known.Keys)
	for i := range refused {
		keys = append(keys, refused[i].Message.Key())
	}
	return keys
}

// startQuestion asks whether something was begun here.
type startQuestion struct {
	of      birth
	waiting []undecided
	begun   bool // it was begun while this is read
}

// undecided is an entry that waits for the answer, with messages that do not fit the table.
type undecided struct {
	key     message.Entry
	refused []behaviour.Refuse
	keys    []message.Key // of all that it has
	stopped bool          // an operator has ended it
}

// awaitAnswer lets an entry wait until it is known whether its instance was started, which it says was at origin.
func (m *Machine) awaitAnswer(e *instancetable.Entry, origin processtable.NodeID, refused []behaviour.Refuse) {
	id, _ := m.birth(e.Key, origin)
	q := m.starts.asked[id]
	if q == nil {
		q = &startQuestion{of: id}
		m.starts.asked[id] = q
		m.load(q, HowEnded, append([]message.Entry{id.source()}, id.blocks(m, origin)...)...)
	}
	q.waiting = append(q.waiting, undecided{e.Key, refused, keysOf(e, refused), e.Known.Stopped})
}

// awaitsAnswer says whether an entry waits for that.
func (m *Machine) awaitsAnswer(e *instancetable.Entry) bool {
	id, _ := m.birth(e.Key, e.Known.Origin)
	q := m.starts.asked[id]
	return q != nil && slices.ContainsFunc(q.waiting, func(u undecided) bool { return u.key == e.Key })
}

func (q *startQuestion) unread(m *Machine, _ error) { delete(m.starts.asked, q.of) }

// loaded goes on with what has waited for the answer. What is not in memory any more is read
// again.
func (q *startQuestion) loaded(m *Machine, facts []Facts) {
	delete(m.starts.asked, q.of)
	ended := func(f Facts) bool { return f.End != nil && f.End.Process == m.id() } // under its identifier one of another process may have been
	found := q.begun || ended(facts[0])
	over := !found && slices.ContainsFunc(facts[1:], ended)
	switch {
	case found:
		m.starts.note(q.of)
	case !over:
		m.starts.await(q.of)
	}
	for _, u := range q.waiting {
		e := m.table.Get(u.key)
		switch {
		case e == nil && !found && (u.stopped || over):
			if m.dropping[u.key] == 0 {
				m.dropKeys(u.key, u.keys, nil)
			}
		case e == nil:
			if found || len(u.refused) > 0 {
				m.takeUp(u.key)
			}
		case e.Phase == instancetable.Settling:
			for i := range u.refused {
				e.Newcomers = append(e.Newcomers, u.refused[i].Message)
			}
		case over:
			m.table.Remove(e.Key)
			m.dropKeys(e.Key, keysOf(e, u.refused), nil)
		default:
			e.Started = found
			switch {
			case found && len(u.refused) > 0:
				m.refuse(e, u.refused)
			case found:
				m.consider(e)
			default:
				m.unstarted(e, u.refused)
			}
		}
	}
}
