package thread

import (
	"fmqm/behaviour"
	"fmqm/instancetable"
	"fmqm/processtable"
)

// places are the entries that wait for a place of their program, and what was asked for. Of
// each program the first that waits asks, and the next when it has one: who hands out places
// gives them in turn to all who ask.
type places struct {
	ready    map[processtable.ProgramID][]readyEntry
	limit    int                             // of a list, in entries
	room     int                             // of all lists, in bytes; the first entry of each has room
	bytes    int                             // of those in the lists
	overflow map[processtable.ProgramID]bool // entries are ready that no list holds: browse again when places are free
	asked    map[processtable.ProgramID]question
	programs map[Token]processtable.ProgramID // of what was asked
	held     bool                             // an entry was held back: browse again when there is room
	rooms    uint64                           // how often there was room again
}

// readyEntry is an entry in a list, and how large it was when it came there.
type readyEntry struct {
	*instancetable.Entry
	bytes int
	to    []processtable.NodeID // into whose queues it will send
}

// question is what was asked for the first of a list.
type question struct {
	entry *instancetable.Entry
	call  *behaviour.Invoke // as it was decided; nil: it is to be decided again
	rooms uint64
}

func newPlaces(room int) places {
	return places{
		ready: map[processtable.ProgramID][]readyEntry{}, limit: readyLimit, room: room,
		overflow: map[processtable.ProgramID]bool{}, asked: map[processtable.ProgramID]question{},
		programs: map[Token]processtable.ProgramID{},
	}
}

// waiting counts the entries that wait.
func (p *places) waiting() (n int) {
	for _, ready := range p.ready {
		n += len(ready)
	}
	return n
}

// changed: what was decided for an entry that waits is to be decided again.
func (p *places) changed(e *instancetable.Entry) {
	if e.Phase != instancetable.Ready {
		return
	}
	if q := p.asked[e.Program]; q.entry == e && q.call != nil {
		q.call = nil
		p.asked[e.Program] = q
	}
}

// makeReady lets an entry wait for a place of its program: in a list that is bounded in entries and
// in bytes, since none of it can be evicted, and beyond that in the store only (invariant 10).
func (m *Machine) makeReady(e *instancetable.Entry, call *behaviour.Invoke) {
	program, p := call.Program, &m.places
	e.Program = program
	listed, bytes := len(p.ready[program]), e.State.Bytes()
	if listed >= p.limit || listed > 0 && p.bytes+bytes > p.room {
		p.overflow[program] = true
		return
	}
	m.table.SetPhase(e, instancetable.Ready)
	p.ready[program] = append(p.ready[program], readyEntry{e, bytes, call.To})
	p.bytes += bytes
	if _, asked := p.asked[program]; asked {
		return
	}
	if m.first(program) != e { // others have waited longer, as where it was held back and there is room
		call = nil
	}
	m.askPlace(program, call)
}

// askPlace asks for a place for the first of a list, which is ready. call is what was decided for that one just now; nil:
// that was before.
func (m *Machine) askPlace(program processtable.ProgramID, call *behaviour.Invoke) {
	token, p := m.next(), &m.places
	first := p.ready[program][0]
	p.asked[program] = question{entry: first.Entry, call: call, rooms: p.rooms}
	p.programs[token] = program
	m.do(Ask{token, program, first.Key.Row(), first.to})
}

// answered gives what was asked under a token, and the entry, taken out of its list; nil: it
// does not wait any more.
func (m *Machine) answered(token Token) (program processtable.ProgramID, q question, e *instancetable.Entry, found bool) {
	p := &m.places
	program, found = p.programs[token]
	if !found {
		return "", question{}, nil, false
	}
	q = p.asked[program]
	delete(p.programs, token)
	delete(p.asked, program)
	if first := m.first(program); first == q.entry {
		p.drop(program)
		e = first
	}
	return program, q, e, true
}

// first is the entry that has waited longest; nil: none waits.
func (m *Machine) first(program processtable.ProgramID) *instancetable.Entry {
	p := &m.places
	for len(p.ready[program]) > 0 {
		if e := p.ready[program][0]; e.Phase == instancetable.Ready {
			return e.Entry
		}
		p.drop(program) // it was stopped while it waited
	}
	return nil
}

// drop takes the first entry out of a list.
func (p *places) drop(program processtable.ProgramID) {
	list := p.ready[program]
	p.bytes -= list[0].bytes
	list[0] = readyEntry{}
	if len(list) == 1 {
		p.ready[program] = list[:0] // what it has grown to stays
		return
	}
	p.ready[program] = list[1:]
}

// granted: there is a place.
func (m *Machine) granted(token Token) {
	program, q, e, found := m.answered(token)
	if !found {
		return
	}
	call := q.call
	if e != nil && call == nil {
		if call = e.Behaviour.Decide(e.State, m.now).Invoke; call == nil {
			m.table.SetPhase(e, instancetable.Waiting)
			m.consider(e)
		}
	}
	if e != nil && call != nil {
		m.invoke(e, call)
	} else {
		m.do(GiveBack{program})
	}
	m.askNext(program)
}

// heldBack: the entry has to stay ready for lack of room. It is in no list then: its messages
// are in the store, and relieved finds them.
func (m *Machine) heldBack(token Token) {
	program, q, e, found := m.answered(token)
	switch {
	case !found:
		return
	case e != nil && q.rooms != m.places.rooms: // there was room since
		m.table.SetPhase(e, instancetable.Waiting)
		m.consider(e)
	case e != nil:
		m.table.SetPhase(e, instancetable.Waiting)
		m.places.held = true
	}
	m.askNext(program)
}

// askNext asks for the next one that waits for a place of a program, if nothing is asked.
func (m *Machine) askNext(program processtable.ProgramID) {
	p := &m.places
	if _, asked := p.asked[program]; asked {
		return
	}
	if m.first(program) != nil {
		m.askPlace(program, nil)
		return
	}
	delete(p.ready, program)
	if p.overflow[program] {
		delete(p.overflow, program)
		m.browseAgain()
	}
}

// relieved: there is room again for what was held back.
func (m *Machine) relieved() {
	m.places.rooms++
	if m.places.held {
		m.places.held = false
		m.browseAgain()
	}
}
