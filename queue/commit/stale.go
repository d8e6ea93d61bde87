package commit

import (
	"fmqm/message"
	"fmqm/processtable"
)

// queue is what the core knows of one process queue: its entries that a transaction may not be
// decided on as if nothing had happened.
type queue struct {
	id    processtable.ProcessID
	read  bool   // it has a reader
	put   uint64 // the last commit that has put anything into it, since the store was opened
	marks map[message.Entry]*mark
}

// mark is one entry's: what was put for it that its owner has not taken, and which commit has
// consumed of it. An entry without either has none.
type mark struct {
	of       *queue
	entry    message.Entry
	newest   uint64 // number of the last delivery, written or being written, that was not taken; 0: there is none
	oldest   uint64 // and of the first; said only beside newest
	consumed uint64 // by this commit; 0: by none that a transaction may have missed
}

// lateMarks are the entries that a commit has consumed of, until every transaction was looked
// at that was submitted before it was on disk.
type lateMarks struct {
	commit uint64
	marks  []*mark
}

// queue gives a process queue, making it where there is none.
func (c *Core) queue(id processtable.ProcessID) *queue {
	if c.last != nil && c.last.id == id {
		return c.last
	}
	q := c.queues[id]
	if q == nil {
		q = &queue{id: id, marks: map[message.Entry]*mark{}}
		c.queues[id] = q
	}
	c.last = q
	return q
}

// mark gives an entry's mark, making it where there is none.
func (c *Core) mark(id processtable.ProcessID, e *message.Entry) *mark {
	q := c.queue(id)
	m := q.marks[*e]
	if m == nil {
		if last := len(c.free) - 1; last >= 0 {
			m, c.free = c.free[last], c.free[:last]
		} else {
			m = new(mark)
		}
		*m = mark{of: q, entry: *e}
		q.marks[*e] = m
	}
	return m
}

// forget removes a mark that says nothing.
func (c *Core) forget(m *mark) {
	if m.newest == 0 && m.consumed == 0 {
		delete(m.of.marks, m.entry)
		c.free = append(c.free, m)
	}
}

// stale says whether a work was decided without something that was put for an entry, or
// without the knowledge that another has consumed of it.
func (c *Core) stale(w *Work, k *Consume) bool {
	m := c.queue(k.Process).marks[k.Entry]
	return m != nil && (m.newest > 0 || m.consumed > w.seen)
}

// marks notes what w consumes and puts, as part of a commit.
func (c *Core) marks(w *Work, commit uint64) {
	for i := range w.Consumes {
		if k := &w.Consumes[i]; k.Takes {
			k.mark = c.mark(k.Process, &k.Entry)
			k.mark.consumed = commit
		}
	}
	for i := range w.Puts {
		p := &w.Puts[i]
		c.puts++
		p.Number, p.mark = c.puts, c.mark(p.Process, &p.Entry)
		p.mark.of.put = commit
		if p.mark.newest == 0 {
			p.mark.oldest = p.Number
		}
		p.mark.newest, p.Oldest = p.Number, p.mark.oldest
	}
}

// take forgets what was taken. What was put since then, and is being written, stays.
func (c *Core) take(t Taken) {
	q := c.queue(t.Process)
	for i := range t.Entries {
		e := &t.Entries[i]
		if m := q.marks[e.Entry]; m != nil && m.newest > 0 && m.newest <= e.Upto {
			m.newest = 0
			c.forget(m)
		}
	}
}

// durable says of the messages of works that are on disk now which are to be delivered. The
// others only lie in the store, where who reads the queue first finds them. What was consumed
// is remembered for those that were submitted before they could know.
func (c *Core) durable(works []*Work, commit uint64) {
	late := c.unaware(commit)
	var consumed []*mark
	for _, w := range works {
		for i := range w.Puts {
			p := &w.Puts[i]
			p.Deliver = p.mark.of.read
			if !p.Deliver && p.mark.newest == p.Number {
				p.mark.newest = 0
				c.forget(p.mark)
			}
			p.mark = nil
		}
		for i := range w.Consumes {
			if m := w.Consumes[i].mark; m != nil && m.consumed == commit {
				if late {
					consumed = append(consumed, m)
				} else {
					m.consumed = 0
					c.forget(m)
				}
			}
			w.Consumes[i].mark = nil
		}
	}
	if len(consumed) > 0 {
		c.late = append(c.late, lateMarks{commit, consumed})
	}
}

// unaware says whether a transaction waits that was submitted before a commit was on disk.
func (c *Core) unaware(commit uint64) bool {
	for _, e := range c.waiting[c.next:] {
		if w, is := e.(*Work); is {
			return w.seen < commit
		}
	}
	return false
}

// forgetLate clears the marks of consumptions that nobody can have missed any more.
func (c *Core) forgetLate() {
	for len(c.late) > 0 && !c.unaware(c.late[0].commit) {
		for _, m := range c.late[0].marks {
			if m.consumed == c.late[0].commit {
				m.consumed = 0
				c.forget(m)
			}
		}
		c.late = c.late[1:]
	}
}
