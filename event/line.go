package event

import (
	"bytes"
	"cmp"
	"slices"

	"fmqm/message"
	"fmqm/processtable"
)

// id is a token in little room: so many wait in one entry that each byte counts.
type id [16]byte

// idOf is the first half of a token's sum: as good as never that of another one of its kind.
func idOf(token processtable.ActivityID) (i id) {
	const skipped, digits, bits = 1, 26, 5 // of base 32, whose letters are in the order of their values
	at := 0
	for n := skipped; n < min(len(token), skipped+digits); n++ {
		value := byte(0)
		switch c := token[n]; {
		case c >= 'a' && c <= 'z':
			value = c - 'a'
		case c >= '2' && c <= '7':
			value = c - '2' + 26
		}
		for bit := bits - 1; bit >= 0 && at < 8*len(i); bit, at = bit-1, at+1 {
			i[at/8] |= value >> bit & 1 << (7 - at%8)
		}
	}
	return i
}

// placed is something in a line, with its place. The body is the message's: it is decoded where it is looked at.
type placed struct {
	order message.Arrival
	clock uint64 // of the message
	id    id
	body  string
}

func (p *placed) compare(q *placed) int {
	return cmp.Or(p.order.Compare(q.order), bytes.Compare(p.id[:], q.id[:]))
}

// block is how many a block of a line has at most. What a change costs is of that order, and not of how many wait.
const block = 512

// line is an ordered set, in blocks. What comes last, and what goes first, costs least.
type line struct {
	blocks [][]placed // none is empty
	places map[id]message.Arrival
	bytes  int // of bodies
}

func (l *line) len() int { return len(l.places) }

func (l *line) has(i id) bool {
	_, there := l.places[i]
	return there
}

// find gives the block where one belongs, and its place there.
func (l *line) find(p *placed) (at, within int, there bool) {
	at, _ = slices.BinarySearchFunc(l.blocks, p, func(b []placed, p *placed) int { return b[len(b)-1].compare(p) })
	if at = min(at, len(l.blocks)-1); at < 0 {
		return 0, 0, false
	}
	within, there = slices.BinarySearchFunc(l.blocks[at], p, func(o placed, p *placed) int { return o.compare(p) })
	return at, within, there
}

// add puts one in its place; of one that is there already it takes that.
func (l *line) add(p placed) {
	l.remove(p.id)
	if l.places == nil {
		l.places = map[id]message.Arrival{}
	}
	l.places[p.id] = p.order
	l.bytes += len(p.body)
	if len(l.blocks) == 0 {
		l.blocks = [][]placed{{p}}
		return
	}
	at, within, _ := l.find(&p)
	full := len(l.blocks[at]) >= block
	switch {
	case full && within == len(l.blocks[at]):
		l.blocks = slices.Insert(l.blocks, at+1, []placed{p})
	case full:
		half := slices.Clone(l.blocks[at][block/2:])
		l.blocks[at] = slices.Delete(l.blocks[at], block/2, len(l.blocks[at]))
		l.blocks = slices.Insert(l.blocks, at+1, half)
		if within > block/2 {
			at, within = at+1, within-block/2
		}
		l.blocks[at] = slices.Insert(l.blocks[at], within, p)
	default:
		l.blocks[at] = slices.Insert(l.blocks[at], within, p)
	}
}

// get gives one of the line; nil: it is not there.
func (l *line) get(i id) *placed {
	order, there := l.places[i]
	if !there {
		return nil
	}
	at, within, _ := l.find(&placed{order: order, id: i})
	return &l.blocks[at][within]
}

// remove takes one out, if it is there.
func (l *line) remove(i id) {
	order, there := l.places[i]
	if !there {
		return
	}
	at, within, _ := l.find(&placed{order: order, id: i})
	l.bytes -= len(l.blocks[at][within].body)
	delete(l.places, i)
	if l.blocks[at] = slices.Delete(l.blocks[at], within, within+1); len(l.blocks[at]) == 0 {
		l.blocks = slices.Delete(l.blocks, at, at+1)
	}
}

// clone is one that can be changed without changing l.
func (l *line) clone() line {
	c := line{blocks: make([][]placed, len(l.blocks)), places: make(map[id]message.Arrival, len(l.places)), bytes: l.bytes}
	for i, b := range l.blocks {
		c.blocks[i] = slices.Clone(b)
	}
	for i, order := range l.places {
		c.places[i] = order
	}
	return c
}

// walk goes through a line that does not change meanwhile.
type walk struct {
	*line
	at, within int
}

// next gives the next one; nil: there is none.
func (w *walk) next() *placed {
	if w.at == len(w.blocks) {
		return nil
	}
	p := &w.blocks[w.at][w.within]
	if w.within++; w.within == len(w.blocks[w.at]) {
		w.at, w.within = w.at+1, 0
	}
	return p
}
