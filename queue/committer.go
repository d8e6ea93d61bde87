package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// trimAfter is how long a trim waits for a commit to go along with (L4).
const trimAfter = time.Second

// Submit hands tx to the committer, which owns it until Done is called. It encodes tx,
// which costs CPU, and never waits for the disk.
func (m *Manager) Submit(tx *Tx) { m.submit(m.prepare(tx)) }

func (m *Manager) submit(w *work) {
	for i := range w.consumes {
		w.consumes[i].process.hold(&w.consumes[i].consume.Entry)
	}
	m.mu.Lock()
	if m.stopping {
		err := m.stoppedError()
		m.mu.Unlock()
		m.sched.Go(func() { w.done(err) })
		return
	}
	m.submitted++
	w.seq = m.submitted
	m.list = append(m.list, w)
	m.mu.Unlock()
	m.kick.Ring()
}

// stoppedError is what transactions get once nothing is committed any more. The
// caller holds mu.
func (m *Manager) stoppedError() error {
	if m.cause != nil {
		return fmt.Errorf("%w: %w", ErrStopped, m.cause)
	}
	return ErrStopped
}

// requestTrim notes a trim; it goes with the next commit, or with one of its own after
// trimAfter.
func (m *Manager) requestTrim(t *Transmission, lane message.Lane, number uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stopping {
		return
	}
	m.trims = append(m.trims, trimRequest{t, lane, number})
	if m.stopTrim == nil {
		m.stopTrim = m.sched.AfterFunc(trimAfter, func() {
			m.mu.Lock()
			m.stopTrim, m.trimDue = nil, true
			m.mu.Unlock()
			m.kick.Ring()
		})
	}
}

// commitLoop is the committer's task: it joins what was submitted while a commit was under
// way into the next one.
func (m *Manager) commitLoop() {
	defer m.committed.Open()
	for {
		_, _ = m.sched.Wait(context.Background(), m.kick)
		for {
			if cause, halted := m.halted(); halted {
				m.fail(cause)
				return
			}
			m.takeStockIfDue()
			if !m.collect() && m.core.idle() {
				break
			}
			if err := m.commitGroup(); err != nil {
				m.fail(err)
				return
			}
			// Whoever was told just now may submit again: let it join the next group.
			m.sched.Pass()
		}
		if m.drained() {
			return
		}
	}
}

// halted says whether nothing more may be committed, and of which damage.
func (m *Manager) halted() (damage error, halted bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.broken, m.broken != nil || m.abandoned
}

// drained says whether the manager is closing and all was committed.
func (m *Manager) drained() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stopping && len(m.list) == 0
}

// collect takes what was submitted, and says whether there was anything.
func (m *Manager) collect() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	taken := len(m.list) > 0
	for _, w := range m.list {
		m.core.add(w)
	}
	clear(m.list)
	m.list = m.list[:0]
	if taken || m.trimDue {
		for _, r := range m.trims {
			m.core.trim(r)
		}
		m.trims = m.trims[:0]
		m.trimDue = false
	}
	return taken
}

// commitGroup writes one group and hands out what follows from it.
func (m *Manager) commitGroup() error {
	g := &m.group
	err := m.core.build(g)
	if err == nil && len(g.batch.Ops) > 0 {
		g.pass("commit.before")
		err = m.write(g)
	}
	if err != nil {
		return err
	}
	g.pass("commit.written")
	m.core.passStaged()
	m.mu.Lock()
	submitted := m.submitted
	m.stats.Commits++
	m.stats.Transactions += uint64(len(g.works))
	m.mu.Unlock()
	m.core.finish(g, submitted)
	m.publish(g)
	g.pass("commit.published")
	m.report(g)
	g.reset()
	return nil
}

// write makes a group durable.
func (m *Manager) write(g *group) error {
	if g.size <= m.maxBatch {
		return m.engine.Commit(g.version, &g.batch)
	}
	err := m.commitLarge(g.batch.Ops)
	g.version = m.engine.Last()
	return err
}

func (g *group) reset() {
	clear(g.batch.Ops)
	clear(g.works)
	clear(g.refused)
	clear(g.lanes)
	g.batch.Ops, g.works, g.refused, g.size = g.batch.Ops[:0], g.works[:0], g.refused[:0], 0
}

// publish makes visible what is durable now, before anybody is told.
func (m *Manager) publish(g *group) {
	for t := range g.lanes {
		t.mu.Lock()
		t.ends = *m.core.lanes[t]
		t.mu.Unlock()
	}
	for _, w := range g.works {
		for i := range w.local {
			if w.local[i].message.Kind == message.KindMarker {
				m.marks.add(w.local[i].message.Instance)
			}
		}
		m.stock.aside.Add(int64(len(w.tx.SetAside) - len(w.tx.TakeAside)))
		m.left.apply(w.leavings)
		if w.accept == nil && w.bind == nil && len(w.tx.Tables) == 0 {
			continue
		}
		m.durable.Lock()
		if a := w.accept; a != nil {
			m.durable.accepted[record.LaneKey{Peer: a.peer, Lane: a.lane}] = a.at
			if a.incoming != nil {
				m.durable.incoming[record.LaneKey{Peer: a.peer, Lane: a.lane}] = *a.incoming
			}
		}
		if b := w.bind; b != nil {
			m.durable.peers[b.peer] = b.incarnation
			if b.start != nil {
				for lane := range message.Lane(record.Lanes) {
					if at := (record.LaneKey{Peer: b.peer, Lane: lane}); b.start.anew || m.durable.accepted[at].Number == 0 {
						delete(m.durable.incoming, at)
					}
				}
				b.start.accept(b, m.durable.accepted)
			}
		}
		for i := range w.tx.Tables {
			m.durable.tables[w.tx.Tables[i].Process] = w.tx.Tables[i].Definition
		}
		m.durable.Unlock()
		for i := range w.tx.Tables {
			m.process(w.tx.Tables[i].Process).gotTable()
		}
	}
	m.stock.unsure.Store(m.core.unsure)
}

// report tells each submitter, and hands the new messages to mailboxes, in the order
// of the transactions.
func (m *Manager) report(g *group) {
	for _, w := range g.refused {
		w.done(w.err)
		m.works.put(w)
	}
	for _, w := range g.works {
		for i := range w.local {
			w.local[i].process.deliver(w.local[i].message)
		}
		for i := range w.tx.Timers {
			m.timers.set(w.tx.Timers[i])
		}
		w.done(nil)
		m.works.put(w)
	}
	for t := range g.lanes {
		t.wake.Ring()
	}
}

// done tells the submitter. What came for the transaction's entries meanwhile can be
// taken from now on.
func (w *work) done(err error) {
	for i := range w.consumes {
		w.consumes[i].process.release(&w.consumes[i].consume.Entry)
	}
	if w.tx.Done != nil {
		w.tx.Done(err)
	}
}

// fail ends the committer: the store is damaged, or a write failed (invariant 8), or,
// with no cause, closing took too long.
func (m *Manager) fail(cause error) {
	m.mu.Lock()
	m.stopping = true
	if cause != nil {
		m.cause = cause
		m.failed.Give(cause)
	}
	err := m.stoppedError()
	list := m.list
	m.list = nil
	m.mu.Unlock()
	for _, w := range m.group.refused {
		w.done(w.err)
	}
	for _, w := range m.group.works {
		w.done(err)
	}
	for _, w := range m.core.waiting[m.core.next:] {
		w.done(err)
	}
	for _, w := range list {
		w.done(err)
	}
}

// gotTable: the process has a table.
func (p *process) gotTable() {
	p.mu.Lock()
	p.tabled = true
	p.mu.Unlock()
}

// first1 gives the first of two errors that is one.
func first1(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

var errNode = errors.New("the store belongs to another node")

func wrongNode(have, want processtable.NodeID) error {
	return fmt.Errorf("%w: it was made for %s, not for %s: correct `node:` or `data:` in the configuration", errNode, have, want)
}
