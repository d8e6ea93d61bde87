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

// Bounds of what a process thread remembers of starts; what it does not, the store says.
const (
	startsLimit    = 1 << 16 // instances in each of two generations: 3 MiB
	unstartedLimit = 1 << 12
)

// starts are the instances whose start a process thread knows of.
type starts struct {
	young, old map[message.InstanceID]struct{}
	// unstarted are those of which something waits for it. With too many of them each that
	// is started may be one.
	unstarted map[message.InstanceID]struct{}
	many      bool
	asked     map[message.InstanceID]*startQuestion // whose start is being read
}

func newStarts() *starts {
	return &starts{
		young: map[message.InstanceID]struct{}{}, unstarted: map[message.InstanceID]struct{}{},
		asked: map[message.InstanceID]*startQuestion{},
	}
}

// note: the instance is being started, or was.
func (s *starts) note(id message.InstanceID) {
	if len(s.young) >= startsLimit {
		s.old, s.young = s.young, map[message.InstanceID]struct{}{}
	}
	s.young[id] = struct{}{}
}

// forget: the start has failed.
func (s *starts) forget(id message.InstanceID) {
	delete(s.young, id)
	delete(s.old, id)
}

// known says that an instance was started, or is being started and nothing has waited for
// that. False says nothing.
func (s *starts) known(id message.InstanceID) bool {
	_, young := s.young[id]
	_, old := s.old[id]
	return (young || old) && !s.awaited(id)
}

// await: something of the instance waits for its start.
func (s *starts) await(id message.InstanceID) {
	if s.many = s.many || len(s.unstarted) >= unstartedLimit; !s.many {
		s.unstarted[id] = struct{}{}
	}
}

// awaited says whether something of an instance may wait for its start.
func (s *starts) awaited(id message.InstanceID) bool {
	_, waits := s.unstarted[id]
	return waits || s.many
}

// begun: the start is on disk.
func (s *starts) begun(id message.InstanceID) {
	delete(s.unstarted, id)
	if q := s.asked[id]; q != nil {
		q.begun = true
	}
}

// browse: all that waits is found again.
func (s *starts) browse() {
	s.unstarted, s.many = map[message.InstanceID]struct{}{}, false
}

// whether says what is known of a start.
type whether uint8

const (
	startUnknown whether = iota
	wasStarted
	wasNotStarted
)

// started says whether the instance of an entry was started where its messages say, as far
// as that is for this node to know. An entry that has a message of its own goes on: whatever let
// it begin is in the store.
func (m *Machine) started(e *instancetable.Entry, origin processtable.NodeID) whether {
	id := e.Key.Instance
	if origin != m.self || e.Started || e.Known.Own {
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
		if e.Known.Empty() {
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

// startQuestion asks whether an instance was started here.
type startQuestion struct {
	instance message.InstanceID
	waiting  []undecided
	begun    bool // it was started while this is read
}

// undecided is an entry that waits for the answer, with messages that do not fit the table.
type undecided struct {
	key     message.Entry
	refused []behaviour.Refuse
	stopped []message.Key // that it has, if an operator has ended it
}

// awaitAnswer lets an entry wait until it is known whether its instance was started.
func (m *Machine) awaitAnswer(e *instancetable.Entry, refused []behaviour.Refuse) {
	id := e.Key.Instance
	q := m.starts.asked[id]
	if q == nil {
		q = &startQuestion{instance: id}
		m.starts.asked[id] = q
		m.load(q, HowEnded, message.Entry{Instance: id, Activity: processtable.Source})
	}
	u := undecided{key: e.Key, refused: refused}
	if e.Known.Stopped {
		u.stopped = keysOf(e, refused)
	}
	q.waiting = append(q.waiting, u)
}

func (q *startQuestion) unread(m *Machine, _ error) { delete(m.starts.asked, q.instance) }

// loaded goes on with what has waited for the answer. What is not in memory any more is read
// again.
func (q *startQuestion) loaded(m *Machine, facts []Facts) {
	delete(m.starts.asked, q.instance)
	end := facts[0].End
	found := q.begun || end != nil && end.Process == m.id() // under its identifier one of another process may have been
	if found {
		m.starts.note(q.instance)
	} else {
		m.starts.await(q.instance)
	}
	for _, u := range q.waiting {
		e := m.table.Get(u.key)
		switch {
		case e == nil && !found && u.stopped != nil:
			if m.dropping[u.key] == 0 {
				m.dropKeys(u.key, u.stopped, nil)
			}
		case e == nil:
			if found || len(u.refused) > 0 {
				m.takeUp(u.key)
			}
		case e.Phase == instancetable.Settling:
			for i := range u.refused {
				e.Newcomers = append(e.Newcomers, u.refused[i].Message)
			}
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
