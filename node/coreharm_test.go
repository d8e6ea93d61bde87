package node

import (
	"errors"

	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue"
)

// meddle does what an operator or a broken peer may do at any moment: a retry, with or
// without an output, or a message that fits no connector.
func (w *world) meddle() {
	w.meddles--
	s := w.sites[w.rand.IntN(len(w.sites))]
	rows := s.process.Table.Activities
	row := rows[w.rand.IntN(len(rows))]
	started := w.starts[w.rand.IntN(len(w.starts))]
	if !started.done || row.Name == processtable.Sink && started.site != s {
		return // what comes for them is judged before it is put
	}
	e := message.Entry{Instance: started.call.Instance, Activity: row.Name}
	if w.rand.IntN(3) == 0 && row.Kind != processtable.KindSource {
		w.put(message.Message{Header: message.Header{
			Queue: message.Queue{Process: s.core.id(), Node: s.name}, Definition: s.process.Definition(),
			Instance: e.Instance, Origin: started.site.name, Activity: e.Activity, Source: "nobody",
			Kind: message.KindConnector, Control: message.True,
		}})
		return
	}
	var output *container.Struct
	if w.rand.IntN(2) == 0 {
		output = container.New(row.Output)
	}
	s.core.retry(retrying{entry: e, output: output, done: func(error) {}}, w.now)
	s.perform()
}

// put is what a link does: a transaction that puts the message. It is kept by its
// sender until it is on disk, so it is committed here at once.
func (w *world) put(m message.Message) {
	s := w.site(m.Queue.Node)
	s.store.put(m)
	s.store.deliver(m)
}

// crash ends a site at any moment and opens it again. Some of what was submitted is on
// disk, though nobody was told.
func (s *site) crash() {
	s.world.crashes--
	s.world.crashed = true
	if n := len(s.store.pending); n > 0 {
		s.send(s.store.commit(s.world.rand.IntN(n+1), func(*queue.Tx) error { return nil }))
	}
	s.store.crash()
	s.open(1 + s.world.rand.IntN(3))
	s.core.readyLimit = 1 + s.world.rand.IntN(3)
	for _, c := range s.world.starts {
		if c.site == s {
			c.asked = false
		}
	}
}

func (c *startCall) ask() {
	c.asked = true
	c.site.core.start(c.call, func(_ bool, err error) {
		switch {
		case errors.Is(err, queue.ErrStale):
			c.asked = false // the client repeats
		case err != nil:
			c.site.world.t.Fatal(err)
		default:
			c.done = true
		}
	}, c.site.world.now)
	c.site.perform()
}
