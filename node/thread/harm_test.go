package thread

import (
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// meddle does what an operator or a broken peer may do at any moment: a retry, with or
// without an output, or a message that fits no connector.
func (w *world) meddle() {
	w.meddles--
	if n := len(w.orders); n > 0 && w.rand.IntN(3) == 0 {
		w.comeAgain(w.orders[w.rand.IntN(n)])
		return
	}
	s := w.sites[w.rand.IntN(len(w.sites))]
	rows := s.process.Table().Activities
	row := rows[w.rand.IntN(len(rows))]
	started := w.starts[w.rand.IntN(len(w.starts))]
	home, _ := s.process.Table().NodeOf(row.Row())
	atOrigin := row.Name == processtable.Sink || home == processtable.Origin && row.Name != processtable.Source // the entry has no scope: of a block's sink it is the process's
	if !started.heard() || atOrigin && started.site != s {
		return // what comes for them is judged before it is put
	}
	e := message.Entry{Instance: started.call.Instance, Activity: row.Name}
	if w.rand.IntN(3) == 0 && row.Kind != processtable.KindSource {
		w.put(message.Message{Header: message.Header{
			Queue: message.Queue{Process: s.machine.id(), Node: s.name}, Definition: s.process.Definition(),
			Instance: e.Instance, Origin: started.site.name, Activity: e.Activity, Source: "nobody",
			Kind: message.KindConnector, Control: message.True,
		}})
		return
	}
	var output []byte
	if w.rand.IntN(2) == 0 {
		output = []byte("{}")
	}
	s.order(e, message.Word{Output: output, Reply: w.rand.IntN(2) == 0})
}

// order has an operator ask for a retry, and gives the word's identifier.
func (s *site) order(e message.Entry, o message.Word) message.WordID {
	w := s.world
	o.ID, o.Wish, o.Site = wordID(len(w.orders)+1), message.WishRetry, "elsewhere"
	if o.Reply {
		w.awaited[o.ID] = true
	}
	m := wordTo(s.machine, e, o)
	w.orders = append(w.orders, m)
	w.came[o.ID]++
	w.put(m)
	return o.ID
}

// comeAgain puts a word once more that lies nowhere any more: the one who has brought it has lost
// his store.
func (w *world) comeAgain(m message.Message) {
	if _, lies := w.site(m.Queue.Node).store.entries[m.Entry()][m.Key()]; lies {
		return // a repeat is not put
	}
	if o, err := message.DecodeWord(m.Body); err == nil {
		w.came[o.ID]++
		w.put(m)
	}
}

// noteAnswer: an answer is on its way to the site that asked.
func (w *world) noteAnswer(m message.Message) {
	a, err := message.DecodeAnswer(m.Body)
	if err != nil || m.Number != message.WordNumber(a.Word) {
		w.t.Fatalf("answer %+v: %v", m.Header, err)
	}
	w.answered[a.Word]++
}

// checkWords: each word that another site waits for has its answer there, once for each time that
// it has come; and history tells of no word twice, for nothing is done twice.
func (w *world) checkWords() {
	for id := range w.awaited {
		if n := w.answered[id]; n != w.came[id] {
			w.t.Fatalf("word %s has come %d times and has %d answers\n%s", id, w.came[id], n, w.given)
		}
	}
	lines := map[message.WordID]int{}
	for _, s := range w.sites {
		for _, a := range s.store.audits {
			if a.Word == nil {
				continue
			}
			if lines[a.Word.ID]++; lines[a.Word.ID] > 1 {
				w.t.Fatalf("history tells twice of word %s\n%s", a.Word.ID, w.given)
			}
		}
	}
}

// wordID gives the identifier of a word by its number.
func wordID(number int) message.WordID {
	return message.WordID{6: 0x70, 8: 0x80, 14: byte(number >> 8), 15: byte(number)}
}

// wordTo is the message of a word for an entry of a machine.
func wordTo(m *Machine, e message.Entry, o message.Word) message.Message {
	return message.Message{Header: message.Header{
		Queue: message.Queue{Process: m.id(), Node: m.self}, Instance: e.Instance, Scope: e.Scope, SourceScope: e.Scope,
		Activity: e.Activity, Number: message.WordNumber(o.ID), Kind: message.KindWord,
	}, Body: message.EncodeWord(o)}
}

// put is what a link does: a transaction that puts the message. It is kept by its
// sender until it is on disk, so it is committed here at once.
func (w *world) put(m message.Message) {
	s := w.site(m.Queue.Node)
	s.store.deliver(s.store.put(m))
}

// crash ends a site at any moment and opens it again. Some of what was submitted is on
// disk, though nobody was told.
func (s *site) crash() {
	s.world.crashes--
	s.world.crashed = true
	if n := len(s.store.pending); n > 0 {
		s.send(s.store.commit(s.world.rand.IntN(n+1), func(*record.Tx) error { return nil }))
	}
	s.store.crash()
	s.open(1 + s.world.rand.IntN(3))
	s.machine.places.limit = 1 + s.world.rand.IntN(3)
	s.machine.places.room = s.world.rand.IntN(4000)
	for _, c := range s.world.starts {
		if c.site == s {
			c.asked = false
		}
	}
}

// ask says the client's word; heard is what came of it.
func (c *startCall) ask() {
	c.asked = true
	c.word = c.site.say(func(word Token) Event { return Start{word, c.call} })
}

// heard: the client has its answer.
func (c *startCall) heard() bool {
	if a, answered := c.site.answers[c.word]; c.asked && answered {
		if a.Code != OK && a.Code != Known {
			c.site.world.t.Fatalf("a start is answered with %d: %s", a.Code, a.Text)
		}
		c.done = true
	}
	return c.done
}
