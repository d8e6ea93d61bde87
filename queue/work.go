package queue

import (
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

// prepare makes tx ready. It runs in the submitter's goroutine.
func (m *Manager) prepare(tx *record.Tx) *work {
	w, ok := m.works.Get().(*work)
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
	m.works.Put(w)
}

// workOf gives what the core was given.
func workOf(w *commit.Work) *work { return w.Ticket.(*work) }
