package thread

import (
	"maps"
	"time"

	"fmqm/behaviour"
	"fmqm/instancetable"
	"fmqm/message"
	"fmqm/processtable"
)

// places are the entries that wait for a place of their program, and what was asked for. Of
// each program the first that waits asks, and the next when it has one: who hands out places
// gives them by their turn to all who ask.
type places struct {
	ready    map[processtable.ProgramID]*line
	limit    int                             // of a line, in entries
	room     int                             // of all lines, in bytes; the first entry of each has room
	bytes    int                             // of those in the lines
	overflow map[processtable.ProgramID]turn // entries are ready that no line holds, and the lowest of their turns: browse again when places are free
	since    map[message.Entry]time.Time     // since when what no line holds has been ready: of up to sinceLimit entries
	before   map[message.Entry]time.Time     // the same of what the browse under way has not found yet
	asked    map[processtable.ProgramID]question
	programs map[Token]processtable.ProgramID // of what was asked
	held     bool                             // an entry was held back: browse again when there is room
	rooms    uint64                           // how often there was room again
}

// question is what was asked for the first of a line.
type question struct {
	token Token
	entry *instancetable.Entry
	call  *behaviour.Invoke // as it was decided; nil: it is to be decided again
	rooms uint64
}

func newPlaces(room int) places {
	return places{
		ready: map[processtable.ProgramID]*line{}, limit: readyLimit, room: room,
		overflow: map[processtable.ProgramID]turn{}, since: map[message.Entry]time.Time{},
		asked: map[processtable.ProgramID]question{}, programs: map[Token]processtable.ProgramID{},
	}
}

// waiting counts the entries that wait.
func (p *places) waiting() (n int) {
	for _, ready := range p.ready {
		n += ready.len
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

// makeReady lets an entry wait for a place of its program: in a line that is bounded in entries and
// in bytes, since none of it can be evicted, and beyond that in the store only (invariant 10). What goes before
// the last of a full line takes its place. While there is more in the store, what has its turn after that waits
// there too: so the line comes to its end, and the store is read.
func (m *Machine) makeReady(e *instancetable.Entry, call *behaviour.Invoke) {
	program, p := call.Program, &m.places
	e.Program = program
	next := readyEntry{Entry: e, bytes: e.State.Bytes(), to: call.To, rank: call.Rank, since: m.now}
	if since, known := p.readySince(e.Key); known {
		next.since = since
	}
	l := p.ready[program]
	if l == nil {
		l = &line{}
		p.ready[program] = l
	}
	if over, more := p.overflow[program]; more && l.len > 0 && next.turn() >= over {
		p.overflows(program, &next)
		return
	}
	displaced, fits := m.makeRoom(l, &next)
	if fits {
		m.table.SetPhase(e, instancetable.Ready) // before others may be evicted, and it with them
	} else {
		p.overflows(program, &next)
	}
	for i := range displaced {
		m.table.SetPhase(displaced[i].Entry, instancetable.Waiting)
		p.overflows(program, &displaced[i])
	}
	if !fits {
		return
	}
	l.add(next)
	p.bytes += next.bytes
	first := m.first(program)
	switch q, asked := p.asked[program]; {
	case asked && q.entry == first:
	case first != e: // others have their turn before, as where it was held back and there is room
		m.askPlace(program, nil)
	default: // in place of what was asked for another
		m.askPlace(program, call)
	}
}

// makeRoom takes out of a line what has to leave it for the next one, which has its turn before. It says whether that fits then.
func (m *Machine) makeRoom(l *line, next *readyEntry) (displaced []readyEntry, fits bool) {
	p := &m.places
	for l.len > 0 && (l.len >= p.limit || p.bytes+next.bytes > p.room) {
		if last := l.last(); next.turn() >= last.turn() {
			return displaced, false
		}
		last := l.takeLast()
		if p.bytes -= last.bytes; last.Phase == instancetable.Ready {
			displaced = append(displaced, last)
		}
	}
	return displaced, true
}

// overflows notes that something is ready in the store only.
func (p *places) overflows(program processtable.ProgramID, e *readyEntry) {
	if lowest, more := p.overflow[program]; !more || e.turn() < lowest {
		p.overflow[program] = e.turn()
	}
	p.remember(e)
}

// remember notes since when what leaves the lines has been ready, as far as there is room. What is not noted has waited since
// it is found again.
func (p *places) remember(e *readyEntry) {
	if len(p.since) < sinceLimit {
		p.since[e.Key] = e.since
	}
}

// readySince says since when an entry has been ready that was in no line, if that is known.
func (p *places) readySince(key message.Entry) (since time.Time, known bool) {
	if since, known = p.since[key]; !known {
		since, known = p.before[key]
	}
	delete(p.since, key)
	delete(p.before, key)
	return since, known
}

// browses: what is ready in the store is found now. What is not has ended.
func (p *places) browses() {
	switch {
	case len(p.before) == 0:
		p.before = p.since
	case len(p.before) < sinceLimit: // one that was under way begins anew
		maps.Copy(p.before, p.since)
	}
	p.since = map[message.Entry]time.Time{}
}

// askPlace asks for a place for the first of a line, which is ready. call is what was decided for that one just now; nil:
// that was before.
func (m *Machine) askPlace(program processtable.ProgramID, call *behaviour.Invoke) {
	token, p := m.next(), &m.places
	first := p.ready[program].first()
	delete(p.programs, p.asked[program].token)
	p.asked[program] = question{token: token, entry: first.Entry, call: call, rooms: p.rooms}
	p.programs[token] = program
	m.do(Ask{token, program, first.Key.Row(), first.to, int64(first.turn())})
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

// first is the entry whose turn it is; nil: none waits.
func (m *Machine) first(program processtable.ProgramID) *instancetable.Entry {
	p := &m.places
	l := p.ready[program]
	for l != nil && l.len > 0 {
		if e := l.first(); e.Phase == instancetable.Ready {
			return e.Entry
		}
		p.drop(program) // it was stopped while it waited
	}
	return nil
}

// drop takes the first entry out of a line.
func (p *places) drop(program processtable.ProgramID) {
	p.bytes -= p.ready[program].takeFirst().bytes
}

// leaves takes an entry out of its line, and has it decided again: it may have another rank.
func (m *Machine) leaves(e *instancetable.Entry) {
	p := &m.places
	p.changed(e)
	if l := p.ready[e.Program]; l != nil {
		p.bytes -= l.take(e)
	}
	m.table.SetPhase(e, instancetable.Waiting)
}

// granted: there is a place.
func (m *Machine) granted(token Token, given processtable.ProgramID) {
	program, q, e, found := m.answered(token)
	if !found { // another was asked for since
		m.do(GiveBack{given})
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
	if _, more := p.overflow[program]; more {
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
