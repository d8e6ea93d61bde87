package thread

import (
	"slices"

	"fmqm/behaviour"
	"fmqm/instancetable"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// Suspends (N29), and priorities (N31). The marks of an instance lie at a node as a set, beside its marker; each entry has those in
// force, read with it and changed where it is in memory. What a suspend holds decides nothing and invokes
// nothing: its messages lie. What has ended meanwhile is committed at once, and what that leads to lies.
//
// A mark that is new is acted on in one transaction, which puts it once more as one that is not: its time is
// set, the instances are told that activities here have begun, and, of what has come to the origin only, the
// other nodes. So a kill at any moment has it done once more, and what is put twice is one. Where there is nothing of
// that the mark is not new: what is in memory is told of it, and whatever is read later finds it.

// held says whether an entry of an instance that was started at origin is suspended; "" where that is not known.
func held(suspends []message.Marked, origin processtable.NodeID, key message.Entry) bool {
	return slices.ContainsFunc(suspends, func(s message.Marked) bool {
		return (origin == "" || s.Origin == origin) && s.Holds(&key)
	})
}

// suspended: what was terminated is not (N7), nor what is cancelled: that begins nothing, and what is around it may have
// ended, so that nobody would be left who could resume it (N25).
func suspended(e *instancetable.Entry) bool {
	return len(e.Suspends) > 0 && !e.Known.Stopped && !e.Known.Cancelled && held(e.Suspends, e.Known.Origin, e.Key)
}

// suspendedBy is the oldest suspend that holds an entry; nil: none does.
func suspendedBy(e *instancetable.Entry) *message.Marked {
	if suspended(e) {
		for i := range e.Suspends {
			if held(e.Suspends[i:i+1], e.Known.Origin, e.Key) {
				return &e.Suspends[i]
			}
		}
	}
	return nil
}

// tellMarks tells an entry of the marks of its instance, which was started at origin. What follows on a resume comes after
// it (invariant 14).
func tellMarks(e *instancetable.Entry, marks []message.Marked, origin processtable.NodeID) {
	e.Suspends, e.Known.Expedited = message.InForce(marks), 0
	if last := message.Expedited(marks, origin); last != nil {
		e.Known.Expedited = last.Rank
	}
	for i := range marks {
		if m := &marks[i]; m.Resumes() && (e.Known.Origin == "" || m.Origin == e.Known.Origin) && m.Holds(&e.Key) {
			e.Known.Clock = max(e.Known.Clock, m.Clock)
		}
	}
}

// stands says whether an entry stays as it is since it is suspended. What its program has come to is committed;
// what an activity thread was to begin only is begun anew after the resume.
func (m *Machine) stands(e *instancetable.Entry) bool {
	switch {
	case !suspended(e):
		return false
	case e.Result == nil:
		return true
	case e.Program != behaviour.Begin:
		return false
	}
	e.Result = nil
	m.table.SetPhase(e, instancetable.Waiting)
	return true
}

// passedAround says whether others have passed a dead path around what is suspended (N6): its end is a record and tells
// nobody anything, and the instance may have ended with that, so that nobody would be left who could resume it.
func (m *Machine) passedAround(e *instancetable.Entry) bool {
	if e.Result != nil {
		return false
	}
	effects := e.Behaviour.Decide(e.State, m.now)
	return effects.Ends && effects.Outcome.What == behaviour.Skipped && len(effects.Put) == 0
}

// heeding is the acting on the marks of an instance: what is in memory of it is told; when all that was decided
// before is on disk, who else is to know is told.
type heeding struct {
	id      message.InstanceID
	marks   []message.Marked
	settles []message.WordID // what this puts as done
	clock   uint64           // the highest that entries in memory know of
	acts    bool             // there is, or may be, something to put
	wakes   bool             // there is, or may be, something to go on with
	awaits  map[Token]bool
	listed  bool
	writing int  // transactions under way
	stale   bool // one of them came too early
	again   bool // more has come meanwhile
}

// deliverInstance takes what is for an instance as a whole: its marker, marks, and the time of a suspend.
func (m *Machine) deliverInstance(d record.Delivery) {
	whole := len(d.Messages) == 0 // whatever of it is there
	h, heeds := heeding{id: d.Entry.Instance, acts: whole, wakes: whole}, whole
	for i := range d.Messages {
		switch msg := &d.Messages[i]; msg.Kind {
		case message.KindMarker:
			m.stopInstance(*msg)
		case message.KindMark:
			mark, err := message.MarkOf(msg)
			if err == nil && !mark.New && m.heeding[h.id].puts(mark.ID) {
				continue
			}
			heeds, h.acts, h.wakes = true, h.acts || err != nil || mark.New, h.wakes || err != nil || !mark.Suspends()
		default: // the time of a suspend has come
			heeds, h.acts, h.wakes = true, true, true
		}
	}
	if heeds {
		m.heed(&h)
	}
}

// puts says whether a mark has come since it is put as one that was acted on.
func (h *heeding) puts(id message.WordID) bool { return h != nil && slices.Contains(h.settles, id) }

// heed begins to act on the marks of an instance, or only to tell of them. What is read of it from now on is read with them.
func (m *Machine) heed(h *heeding) {
	id := h.id
	m.acts++
	m.lives.mark(id)
	if s := m.starting[id]; s != nil {
		s.marked = true
	}
	for key, a := range m.arriving {
		a.void = a.void || key.Instance == id
	}
	for _, g := range m.gathers {
		g.spoil(func(key message.Entry) bool { return key.Instance == id })
	}
	if before := m.heeding[id]; before != nil {
		before.again, before.acts, before.wakes = true, before.acts || h.acts, before.wakes || h.wakes
		return
	}
	if !h.acts && !h.wakes && !m.offersAny() && !m.table.Holds(id) { // what is suspended is not in memory
		return
	}
	m.heeding[id] = h
	m.load(h, Marker, message.Entry{Instance: id})
}

// loaded takes the marks; and once entries were told of them, the children and the marks as they are by then.
func (h *heeding) loaded(m *Machine, facts []Facts) {
	if h.listed {
		h.act(m, &facts[0])
		return
	}
	h.marks = facts[0].Marks
	m.list(h.id, &roll{heeding: h})
}

func (h *heeding) unread(m *Machine, _ error) { delete(m.heeding, h.id) }

// call tells an entry of its instance's marks; e is nil where it is not in memory: there it is read with them,
// once there is something to go on with.
func (h *heeding) call(m *Machine, key message.Entry, e *instancetable.Entry) {
	switch {
	case e != nil:
		h.clock = max(h.clock, e.Known.Clock)
		rank := e.Known.Expedited
		if tellMarks(e, h.marks, e.Known.Origin); rank != e.Known.Expedited && e.Phase == instancetable.Ready {
			m.leaves(e)
		}
		m.show(e)
		m.consider(e)
	case h.wakes, m.offers(key): // worklists show what is suspended
		m.takeUp(key)
	}
}

// called: all that is in memory was told. What was decided before is on its way to the disk: a child that it
// begins is to be told too.
func (m *Machine) called(h *heeding) {
	if !h.acts {
		m.heedingEnded(h)
		return
	}
	h.listed, h.awaits = true, map[Token]bool{}
	for token, c := range m.commits {
		if c.heeding == nil {
			h.awaits[token] = true
		}
	}
	m.heedNext(h)
}

// heedOn: a transaction has ended, which others may have waited for.
func (m *Machine) heedOn(ended Token) {
	if len(m.heeding) == 0 {
		return
	}
	var next []*heeding
	for _, h := range m.heeding {
		if h.awaits[ended] {
			delete(h.awaits, ended)
			next = append(next, h)
		}
	}
	slices.SortFunc(next, func(a, b *heeding) int { return slices.Compare(a.id[:], b.id[:]) })
	for _, h := range next {
		m.heedNext(h)
	}
}

// heedNext reads on, once nothing is awaited any more.
func (m *Machine) heedNext(h *heeding) {
	if len(h.awaits) == 0 {
		m.load(h, Marker|Children|Messages, message.Entry{Instance: h.id})
	}
}

// marksInTx is how many messages one transaction puts that tells of marks.
const marksInTx = 500

// act puts what follows from the marks that are new, and from suspends whose time has come.
func (h *heeding) act(m *Machine, f *Facts) {
	var puts []message.Message
	tx := &record.Tx{}
	if len(f.Messages) > 0 {
		tx.Consume = []record.Consume{{Process: m.id(), Entry: message.Entry{Instance: h.id}, Keys: keysIn(f.Messages)}}
	}
	force := message.InForce(f.Marks)
	for i := range f.Marks {
		if mark := &f.Marks[i]; mark.New {
			lies := !mark.Suspends() || slices.ContainsFunc(force, func(s message.Marked) bool { return s.ID == mark.ID })
			puts = append(puts, m.spread(h, mark)...)
			if lies && !mark.Expires() { // a child has the time itself
				puts = append(puts, m.toChildren(mark, f.Children)...)
			}
			h.settle(m, tx, mark)
		}
	}
	for i := range force {
		if s := &force[i]; slices.ContainsFunc(f.Messages, func(due message.Message) bool { return comes(s, &due) }) {
			expired := message.Marked{Origin: s.Origin, Clock: message.Next(max(s.Clock, h.clock)), Mark: s.Expired()}
			tx.Put = append(tx.Put, expired.Message(m.queue(), h.id, s.Origin, expired.Clock))
			h.note(m, tx, &expired)
		}
	}
	if len(puts)+len(tx.Put)+len(tx.Consume) == 0 {
		m.heedingEnded(h)
		return
	}
	for len(puts) > marksInTx { // in their order: the last one says that all of it is done
		h.write(m, &record.Tx{Put: puts[:marksInTx:marksInTx]})
		puts = puts[marksInTx:]
	}
	tx.Put = append(tx.Put, puts...)
	h.write(m, tx)
}

func (h *heeding) write(m *Machine, tx *record.Tx) {
	h.writing++
	m.commit(tx, commitment{heeding: h})
}

func keysIn(messages []message.Message) (keys []message.Key) {
	for i := range messages {
		keys = append(keys, messages[i].Key())
	}
	return keys
}

func (m *Machine) queue() message.Queue { return message.Queue{Process: m.id(), Node: m.self} }

// comes says whether a message is that the time of a suspend has come.
func comes(s *message.Marked, due *message.Message) bool {
	return due.Kind == message.KindDue && due.Source == untilTimer && !s.Until.IsZero() && message.DueNumber(s.Until) <= due.Number
}

// untilTimer is the name of the timer that lifts suspends.
const untilTimer = "until"

// settle has a new mark be one that was acted on.
func (h *heeding) settle(m *Machine, tx *record.Tx, mark *message.Marked) {
	done := mark.Done()
	h.settles = append(h.settles, mark.ID)
	tx.Put = append(tx.Put, done.Message(m.queue(), h.id, mark.Origin, mark.Clock))
	if !mark.Until.IsZero() {
		tx.Timers = append(tx.Timers, record.Timer{Name: untilTimer, Due: mark.Until, Process: m.id(), Entry: message.Entry{Instance: h.id}})
	}
	if !mark.Noted {
		h.note(m, tx, mark)
	}
}

// note writes the line of the instance's history, which has it where that was started.
func (h *heeding) note(m *Machine, tx *record.Tx, mark *message.Marked) {
	if mark.Origin == m.self {
		line := record.Marked(&mark.Mark)
		line.Time, line.Clock, line.Origin = m.now, message.Next(max(mark.Clock, h.clock)), m.self
		line.Process, line.Definition, line.Instance = m.id(), m.process.Definition(), h.id
		tx.Audit = append(tx.Audit, line)
	}
}

// spread tells the other nodes that have a part in the process of a mark that came to the origin.
func (m *Machine) spread(h *heeding, mark *message.Marked) (puts []message.Message) {
	if !mark.Spread || mark.Origin != m.self {
		return nil
	}
	return mark.ForOthers(m.process.Table(), m.self, h.id, mark.Clock)
}

// toChildren tells the instances that activities here have begun, unless they are independent: each is an instance
// of its own that was started here.
func (m *Machine) toChildren(mark *message.Marked, children []Child) (puts []message.Message) {
	for i := range children {
		c := &children[i]
		row := m.process.Table().Activity(c.By.Row())
		if row == nil || row.Independent || !mark.Holds(&c.By) {
			continue
		}
		told := mark.Mark
		told.Scope, told.Activity, told.Spread, told.Noted = "", "", true, false
		puts = append(puts, told.Message(message.Queue{Process: c.Process, Node: m.self}, c.Instance, m.self, mark.Clock))
	}
	return puts
}

// heeded takes the end of a transaction of marks.
func (m *Machine) heeded(h *heeding, e Committed) {
	h.writing--
	switch e.End {
	case Done:
	case Stale:
		h.stale = true
	case Stopped: // the next start begins with them again
		return
	case TooLarge, NotAside, Failed:
		m.failed(e)
		return
	}
	if h.writing == 0 {
		h.again = h.again || h.stale
		m.heedingEnded(h)
	}
}

// heedingEnded begins once more where more has come.
func (m *Machine) heedingEnded(h *heeding) {
	delete(m.heeding, h.id)
	if h.again {
		m.heed(&heeding{id: h.id, acts: h.acts, wakes: h.wakes})
	}
}
