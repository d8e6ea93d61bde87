package thread

import (
	"slices"

	"fmqm/instancetable"
	"fmqm/message"
	"fmqm/queue/record"
)

// browse is how far the queue was read: after open, and when memory had no room for all that
// is ready. Recovery is this, beside new work, and nothing else (paper §4).
type browse struct {
	on    bool
	token Token // of what is being read; 0: nothing is
	after message.Entry
	past  map[message.Entry]bool // of which transactions have ended since that was asked
	heard map[message.Entry]bool // for which something was delivered since
}

// browseOn reads on, unless so much is under way that it waits.
func (m *Machine) browseOn() {
	b := &m.browse
	if !b.on || b.token != 0 || len(m.commits) >= inFlightLimit {
		return
	}
	b.token, b.past, b.heard = m.next(), nil, nil
	m.do(Browse{b.token, b.after, browseChunk})
}

// browseAgain lets the browse begin anew.
func (m *Machine) browseAgain() {
	m.browse = browse{on: true}
	m.places.browses()
	m.starts.browse()
	m.census.restart()
	m.do(Look{})
}

// touch notes the entries of a transaction that has ended.
func (b *browse) touch(tx *record.Tx) {
	if b.token == 0 {
		return
	}
	for i := range tx.Consume {
		b.touched(tx.Consume[i].Entry)
	}
}

func (b *browse) touched(e message.Entry) { b.note(&b.past, e) }

// delivered notes that something came for an entry.
func (b *browse) delivered(e message.Entry) { b.note(&b.heard, e) }

func (b *browse) note(these *map[message.Entry]bool, e message.Entry) {
	if b.token == 0 {
		return
	}
	if *these == nil {
		*these = map[message.Entry]bool{}
	}
	(*these)[e] = true
}

// browsed takes what was read, up to the first entry of which a transaction has ended since
// it was asked for: from there on it is read again.
func (m *Machine) browsed(e Browsed) {
	b := &m.browse
	if e.Token != b.token || b.token == 0 {
		return
	}
	entries, more := b.current(e)
	m.countEnding(entries, more)
	heard := b.heard
	b.token, b.past, b.heard = 0, nil, nil
	for i := range entries {
		found := &entries[i]
		b.after = found.Entry
		e := m.table.Get(found.Entry)
		m.census.found(found, e, m.process.Activity(found.Entry.Row()))
		switch {
		case e == nil && heard[found.Entry]: // it was in memory meanwhile, with what has come
			m.takeUp(found.Entry)
		case e == nil:
			m.found(found)
		case e.Phase == instancetable.Waiting:
			m.consider(e)
		}
		if !b.on || b.token != 0 || b.after != found.Entry {
			return // it has begun anew meanwhile
		}
	}
	if more {
		m.do(Look{})
		return
	}
	b.on = false
	m.places.before = nil
	m.census.complete = true
	m.table.Scanned()
}

// countEnding counts the activities in error that a transaction has ended of which only the
// store knows yet: what was read does not have them, and they will be taken off the count.
func (m *Machine) countEnding(entries []record.EntryMessages, more bool) {
	if m.census.complete {
		return
	}
	after := m.browse.after
	for _, c := range m.commits {
		if c.settlement == nil {
			continue
		}
		for _, key := range c.settlement.ended {
			e := m.table.Get(key)
			beyond := more && (len(entries) == 0 || compareEntries(key, entries[len(entries)-1].Entry) > 0)
			if e == nil || !e.State.InError() || beyond || compareEntries(key, after) <= 0 {
				continue
			}
			if !slices.ContainsFunc(entries, func(f record.EntryMessages) bool { return f.Entry == key }) {
				m.census.inError++
			}
		}
	}
}

// found is arrive for an entry with all its messages.
func (m *Machine) found(f *record.EntryMessages) {
	d := record.Delivery{Entry: f.Entry, Messages: f.Messages}
	if f.Entry.Activity == "" {
		m.deliverInstance(d)
		return
	}
	if a := m.arriving[f.Entry]; a != nil {
		a.join(record.Delivery{Entry: f.Entry}, nil)
		return
	}
	m.ask(d, m.lacking(f.Entry), nil)
}

// current gives the part of what was read that nothing has happened to, and whether there is
// more behind it.
func (b *browse) current(e Browsed) ([]record.EntryMessages, bool) {
	if len(b.past) == 0 {
		return e.Entries, e.More
	}
	var first message.Entry // of those behind what was read before
	for p := range b.past {
		if compareEntries(p, b.after) > 0 && (first == message.Entry{} || compareEntries(p, first) < 0) {
			first = p
		}
	}
	if (first == message.Entry{}) {
		return e.Entries, e.More
	}
	if n := slices.IndexFunc(e.Entries, func(f record.EntryMessages) bool { return compareEntries(f.Entry, first) >= 0 }); n >= 0 {
		return e.Entries[:n], true
	}
	return e.Entries, true
}
