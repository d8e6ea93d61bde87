package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fmqm/internal/store"
	"fmqm/processtable"
	"fmqm/queue/commit"
	"fmqm/queue/record"
)

// trimAfter is how long a trim waits for a commit to go along with (L4).
const trimAfter = time.Second

// Submit hands tx to the committer, which owns it until Done is called. It encodes tx,
// which costs CPU, and never waits for the disk.
func (m *Manager) Submit(tx *Tx) { m.submit(m.prepare(tx)) }

func (m *Manager) submit(w *work) {
	m.mu.Lock()
	if m.stopping {
		err := m.stoppedError()
		m.mu.Unlock()
		m.sched.Go(func() { w.done(err) })
		return
	}
	m.list = append(m.list, &w.Work)
	m.submitted = true
	m.mu.Unlock()
	m.kick.Ring()
}

// tell tells the core what a reader does, before it handles what that reader submits later. It
// is no reason for a commit.
func (m *Manager) tell(e commit.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.stopping {
		m.list = append(m.list, e)
	}
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
func (m *Manager) requestTrim(t commit.Trim) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stopping {
		return
	}
	m.trims = append(m.trims, t)
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
			m.collect()
			effect := m.core.Next()
			if effect == nil {
				break
			}
			if err := m.carryOut(effect); err != nil {
				m.fail(err)
				return
			}
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

// collect tells the core what has happened, in its order.
func (m *Manager) collect() {
	m.mu.Lock()
	list := m.list
	m.list, m.spare = m.spare, nil
	if m.submitted || m.trimDue {
		for _, t := range m.trims {
			m.core.Step(t)
		}
		m.trims = m.trims[:0]
		m.submitted, m.trimDue = false, false
	}
	m.mu.Unlock()
	for _, e := range list {
		m.core.Step(e)
	}
	clear(list)
	m.spare = list[:0]
}

// carryOut does what the core wants done.
func (m *Manager) carryOut(effect commit.Effect) error {
	switch e := effect.(type) {
	case *commit.Read:
		values, err := m.values(e.Keys)
		m.core.Step(commit.Answer{Token: e.Token, Values: values, Err: err})
	case *commit.Write:
		m.write(e)
	case *commit.Report:
		m.publish(e)
		pass("commit.published", m.kinds)
		m.kinds = nil
		m.report(e)
		// Whoever was told just now may submit again: let it join the next group.
		m.sched.Pass()
	case *commit.Failed:
		return e.Err
	}
	return nil
}

// values reads what the core asks for; nil where there is nothing.
func (m *Manager) values(keys [][]byte) ([][]byte, error) {
	values := make([][]byte, len(keys))
	for i, key := range keys {
		value, err := m.engine.Get(key)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, fmt.Errorf("record %q: %w", record.Readable(key), err)
		}
		values[i] = value
	}
	return values, nil
}

// write makes a group durable. What was submitted until then did not know of it.
func (m *Manager) write(w *commit.Write) {
	m.kinds = kindsOfWrite(w.Batch.Ops, w.Works)
	pass("commit.before", m.kinds)
	written := commit.Written{Number: w.Number, Last: w.Number}
	if w.Large {
		written.Err = m.commitLarge(w.Batch.Ops)
		written.Last = m.engine.Last()
	} else {
		written.Err = m.engine.Commit(w.Number, w.Batch)
	}
	if written.Err == nil {
		pass("commit.written", m.kinds)
		if w.Staging {
			pass("commit.staged", []string{"stage"})
		}
		m.mu.Lock()
		m.stats.Commits++
		m.stats.Transactions += uint64(len(w.Works))
		m.mu.Unlock()
	}
	m.collect()
	m.core.Step(written)
}

// publish makes visible what is durable now, before anybody is told.
func (m *Manager) publish(r *commit.Report) {
	for _, l := range r.Lanes {
		t := m.Transmission(l.Peer)
		t.mu.Lock()
		t.ends = l.Ends
		t.mu.Unlock()
	}
	for _, i := range r.Markers {
		m.marks.add(i)
	}
	if len(r.Accepted)+len(r.Peers)+len(r.Tables) > 0 {
		m.publishDurable(&r.Facts)
	}
	for _, done := range r.Done {
		w := workOf(done)
		m.stock.apply(w)
		m.left.apply(w.leavings)
		for _, l := range w.Links {
			w.tx.Audit[l.Audit].Sent[l.Sent].Number = w.Items[l.Item].Number
		}
	}
}

func (m *Manager) publishDurable(f *commit.Facts) {
	m.durable.Lock()
	for i := range f.Accepted {
		a := &f.Accepted[i]
		m.durable.accepted[a.LaneKey] = a.At
		if a.Incoming != nil {
			m.durable.incoming[a.LaneKey] = *a.Incoming
		}
	}
	for _, b := range f.Peers {
		m.durable.peers[b.Peer] = b.Incarnation
	}
	for _, t := range f.Tables {
		m.durable.tables[t.Process] = t.Definition
	}
	m.durable.Unlock()
	for _, t := range f.Tables {
		m.process(t.Process).tabled.Store(true)
	}
}

// report tells each submitter, and hands the new messages to mailboxes, in the order
// of the transactions.
func (m *Manager) report(r *commit.Report) {
	for _, refused := range r.Refused {
		w := workOf(refused)
		w.done(w.Err)
		m.works.put(w)
	}
	for _, done := range r.Done {
		w := workOf(done)
		for i := range w.Puts {
			if put := &w.Puts[i]; put.Deliver {
				w.local[i].process.deliver(w.local[i].message, put)
			}
		}
		for i := range w.tx.Timers {
			m.timers.set(w.tx.Timers[i])
		}
		w.done(nil)
		m.works.put(w)
	}
	for _, l := range r.Lanes {
		m.Transmission(l.Peer).wake.Ring()
	}
}

// done tells the submitter.
func (w *work) done(err error) {
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
	m.mu.Unlock()
	m.collect()
	m.core.Step(commit.Stop{Err: err})
	for e := m.core.Next(); e != nil; e = m.core.Next() {
		if r, is := e.(*commit.Report); is {
			m.publish(r)
			m.report(r)
		}
	}
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
