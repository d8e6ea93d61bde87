package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fmqm/internal/store"
	"fmqm/internal/task"
	"fmqm/queue/commit"
	"fmqm/queue/prepare"
	"fmqm/queue/record"
)

// ErrStopped: the manager is closing or its disk failed; nothing more is committed. What was
// being written may be on disk, whole, or not: who got this for a transaction cannot know.
var ErrStopped = errors.New("the store is closed or has failed")

// trimAfter is how long a trim waits for a commit to go along with (L4).
const trimAfter = time.Second

// Submit hands tx to the committer, which owns it until Done is called. It encodes tx,
// which costs CPU, and never waits for the disk.
func (m *Manager) Submit(tx *record.Tx) { m.submit(m.prepare(tx)) }

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

// stoppedError is what transactions get once nothing is committed any more. The
// caller holds mu.
func (m *Manager) stoppedError() error {
	if m.cause != nil {
		return fmt.Errorf("%w: %w", ErrStopped, m.cause)
	}
	return ErrStopped
}

// await commits a transaction of the manager's own.
func (m *Manager) await(w *work) error {
	done := task.NewAnswer[error](m.sched)
	w.Tx.Done = done.Give
	m.submitOwn(w)
	err, _, _ := done.Wait(context.Background())
	return err
}

// submitOwn submits a transaction of the manager's own: one to which was added after it was prepared.
func (m *Manager) submitOwn(w *work) {
	w.Size = m.engine.Size(&store.Batch{Ops: w.Ops})
	m.submit(w)
}

// committer is the manager as its lanes and mailboxes know it.
type committer struct{ m *Manager }

func (c committer) Empty() *prepare.Changes           { return &c.m.prepare(&record.Tx{}).Changes }
func (c committer) Commit(own *prepare.Changes) error { return c.m.await(workOf(&own.Work)) }
func (c committer) Submit(own *prepare.Changes)       { c.m.submitOwn(workOf(&own.Work)) }
func (c committer) Trim(t commit.Trim)                { c.m.requestTrim(t) }

func (c committer) Tell(e commit.Event) {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	if !c.m.stopping {
		c.m.list = append(c.m.list, e)
	}
}

func (c committer) Reads(r commit.Reads) {
	c.m.mu.Lock()
	if !c.m.stopping {
		c.m.list = append(c.m.list, r)
		c.m.submitted = true
	}
	c.m.mu.Unlock()
	c.m.kick.Ring()
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
			m.countIfDue()
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
		m.core.Step(m.answer(e))
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

// answer reads what the core asks for.
func (m *Manager) answer(r *commit.Read) commit.Answer {
	a := commit.Answer{Token: r.Token, Values: make([][]byte, len(r.Keys)), First: make([][]byte, len(r.Under))}
	for i, key := range r.Keys {
		value, err := m.engine.Get(key)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			a.Err = fmt.Errorf("record %q: %w", record.Readable(key), err)
			return a
		}
		a.Values[i] = value
	}
	for i, prefix := range r.Under {
		if a.First[i], a.Err = m.read.FirstUnder(prefix, nil); a.Err != nil {
			return a
		}
	}
	return a
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
	m.lanes.Publish(&r.Facts)
	for _, i := range r.Markers {
		m.marks.add(i)
	}
	m.publishTables(r)
	for _, done := range r.Done {
		w := workOf(done)
		m.Queue.Written(w.Ops)
		m.depths.apply(w)
		m.usage.apply(w.Charges)
		m.refund(w.Claims)
		for _, l := range w.Links {
			w.Tx.Audit[l.Audit].Sent[l.Sent].Number = w.Items[l.Item].Number
		}
	}
}

// report tells each submitter, and hands the new messages to mailboxes, in the order
// of the transactions.
func (m *Manager) report(r *commit.Report) {
	for _, refused := range r.Refused {
		w := workOf(refused)
		w.done(w.Err)
		m.reuse(w)
	}
	for _, done := range r.Done {
		w := workOf(done)
		for i := range w.Puts {
			if put := &w.Puts[i]; put.Deliver {
				w.to[i].Deliver(w.Local[i].Message, put)
			}
		}
		for i := range w.Tx.Timers {
			m.timers.Set(&w.Tx.Timers[i])
		}
		w.done(nil)
		m.reuse(w)
	}
	m.lanes.Report(&r.Facts)
}

// done tells the submitter.
func (w *work) done(err error) {
	if w.Tx.Done != nil {
		w.Tx.Done(err)
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
