package queue

import (
	"sync"

	"fmqm/queue/commit"
	"fmqm/queue/prepare"
	"fmqm/queue/record"
)

// work is a transaction made ready by its submitter, with the process queues that it is about.
type work struct {
	prepare.Changes
	from []*process // of Consumes
	to   []*process // of Puts
}

// works are those that are done, with the memory that they were encoded into. Those of large transactions are
// apart: with one pool each of the thousands that are under way at once would come to hold what the largest takes.
type works struct{ small, large sync.Pool }

// fewPuts is how many messages a transaction puts that seldom needs more than little memory.
const fewPuts = 16

// of gives the pool that tx is encoded in memory of.
func (w *works) of(tx *record.Tx) *sync.Pool {
	if tx.Accept != nil || len(tx.Put) > fewPuts {
		return &w.large
	}
	return &w.small
}

// prepare makes tx ready. It runs in the submitter's goroutine.
func (m *Manager) prepare(tx *record.Tx) *work {
	w, ok := m.works.of(tx).Get().(*work)
	if !ok {
		w = &work{}
		w.Ticket = w
	}
	m.Ends(tx.Audit)
	m.preparer.Prepare(&w.Changes, tx)
	for i := range w.Consumes {
		w.from = append(w.from, m.process(w.Consumes[i].Process))
	}
	for i := range w.Puts {
		w.to = append(w.to, m.process(w.Puts[i].Process))
	}
	return w
}

// reuse keeps a work that is done, with the memory that it encodes into.
func (m *Manager) reuse(w *work) {
	if !w.Reset() {
		return
	}
	w.from, w.to = w.from[:0], w.to[:0]
	if w.Large() {
		m.works.large.Put(w)
	} else {
		m.works.small.Put(w)
	}
}

// workOf gives what the core was given.
func workOf(w *commit.Work) *work { return w.Ticket.(*work) }
