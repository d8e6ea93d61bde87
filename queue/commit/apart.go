package commit

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"fmqm/internal/store/change"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// What a peer cannot read yet gets no number of the link, and so holds up nothing behind it
// (N17). It waits apart, in an order of its own for each peer. Reads says what the peer reads;
// what it reads from then on is moved into the lanes, in that order, by works that are made of
// what a Report asks for (Moves), and gets its numbers there, in the lane and in the audit.
//
// Until a peer has said it, it is taken to read what the version before this one read
// (message.Before): nothing gets a number that it might not read.
//
// No rule depends on the order of messages in a lane, between lanes or between entries: what
// an entry is, is a function of the set of its messages (invariant 2). But of two messages with one key
// the later takes the place of the one before, and they may need different formats: an error
// and that it is over. So what has the key of something that waits, waits behind it; and nothing else
// does, for the peer may be upgraded in months.

// Reads is what a peer has said that it reads.
type Reads struct {
	Peer  processtable.NodeID
	Reads message.Reads
}

func (Reads) event() {}

// ErrMoved: what was to be moved is not what the core has asked for any more: the peer has
// said since that it reads less.
var ErrMoved = errors.New("the peer does not read these messages any more")

// Move makes items of what waits apart, in Work.Items and in the same order.
type Move struct {
	Peer  processtable.NodeID
	Items []Moved
}

// Moved is one item that is moved.
type Moved struct {
	Number uint64 // that it had apart
	Staged bool   // its payload is staged
	Sent   record.SentAt
}

// MoveFact asks for a work that moves what waits apart for a peer: these numbers.
type MoveFact struct {
	Peer    processtable.NodeID
	Numbers []uint64
}

// ApartFact is what waits apart for a peer.
type ApartFact struct {
	Count, Bytes uint64
	Needs        message.Needs // of the first that the peer does not read
	Oldest       time.Time
}

const (
	// At most so much is moved at once, beyond the last message.
	moveBytes = 1 << 20
	moveItems = 256
	// apartMore is how much larger a record is that waits apart, beside the key of the audit's.
	apartMore = 64
)

// ApartItem is what the core keeps of a record that waits apart.
type ApartItem struct {
	Number uint64
	Key    uint64
	Put    int64
	Size   uint32
	Needs  message.Needs
	First  bool
}

// ApartOf is what it keeps of a record.
func ApartOf(a *record.Apart) ApartItem {
	return ApartItem{Number: a.Number, Key: a.Key, Put: a.Put.UnixNano(), Size: uint32(a.Size), Needs: a.Needs, First: a.First}
}

// apart is what waits apart for a peer.
type apart struct {
	items []ApartItem
	keys  map[uint64]int // how many of each wait
	bytes uint64
	next  uint64   // number
	asked []uint64 // numbers that are being moved
	look  bool     // something may be movable that was not: what is put apart never is
	most  int      // as many are moved at once; 0: moveItems, since so many were never too large
}

func (a *apart) add(i ApartItem) {
	if a.keys == nil {
		a.keys = map[uint64]int{}
	}
	a.items = append(a.items, i)
	a.keys[i.Key]++
	a.bytes += uint64(i.Size)
	a.next = i.Number + 1
}

// remove takes out numbers, which are in ascending order.
func (a *apart) remove(numbers []uint64) {
	a.items = slices.DeleteFunc(a.items, func(i ApartItem) bool {
		if _, is := slices.BinarySearch(numbers, i.Number); !is {
			return false
		}
		if a.keys[i.Key]--; a.keys[i.Key] == 0 {
			delete(a.keys, i.Key)
		}
		a.bytes -= uint64(i.Size)
		return true
	})
	if len(a.items) == 0 {
		a.items, a.most = nil, 0
	}
}

// movable gives what can be moved next: whole messages, in their order, and none with the key
// of something before that has to wait.
func (a *apart) movable(reads *message.Reads) (numbers []uint64) {
	var waiting map[uint64]bool
	size, most := 0, cmp.Or(a.most, moveItems)
	for n := range a.items {
		i := &a.items[n]
		if i.First && (size >= moveBytes || len(numbers) >= most) {
			break
		}
		if !reads.Has(i.Needs) || waiting[i.Key] {
			if waiting == nil {
				waiting = map[uint64]bool{}
			}
			waiting[i.Key] = true
			continue
		}
		numbers = append(numbers, i.Number)
		size += int(i.Size)
	}
	return numbers
}

// fact tells of it.
func (a *apart) fact(reads *message.Reads) (f ApartFact) {
	f.Count, f.Bytes = uint64(len(a.items)), a.bytes
	if len(a.items) > 0 {
		f.Oldest = time.Unix(0, a.items[0].Put).UTC()
	}
	for n := range a.items {
		if !reads.Has(a.items[n].Needs) {
			f.Needs = a.items[n].Needs
			break
		}
	}
	return f
}

// lanesTo gives the lanes to a peer.
func (c *Core) lanesTo(peer processtable.NodeID) *lanes {
	l := c.lanes[peer]
	if l == nil {
		l = &lanes{peer: peer, reads: before}
		c.lanes[peer] = l
	}
	return l
}

var before = message.Before()

// place says which items of w wait apart, and what they take more.
func (c *Core) place(w *Work) {
	w.apart = 0
	var beside map[apartKey]bool // of those before that wait; made when one does
	for i := range w.Items {
		item := &w.Items[i]
		if item.Apart = item.Message != nil && c.waits(item, beside); !item.Apart {
			continue
		}
		if w.apart++; beside == nil {
			beside = map[apartKey]bool{}
		}
		beside[apartKey{item.Peer, record.KeySum(&item.Message.Header)}] = true
		w.Size += apartMore
	}
	if w.apart == 0 {
		return
	}
	for _, l := range w.Links {
		if w.Items[l.Item].Apart {
			w.Size += int64(len(w.Ops[w.Audits[l.Audit].Op].Key))
		}
	}
}

// apartKey is what waits apart: for whom, and the sum of its key.
type apartKey struct {
	peer processtable.NodeID
	sum  uint64
}

// waits says whether an item has to wait apart, beside those of its transaction that do.
func (c *Core) waits(item *Item, beside map[apartKey]bool) bool {
	l := c.lanes[item.Peer]
	reads := &before
	if l != nil {
		reads = &l.reads
	}
	if !reads.Has(message.NeedsOf(item.Message)) {
		return true
	}
	if l != nil && len(l.apart.items) > 0 && l.apart.keys[record.KeySum(&item.Message.Header)] > 0 {
		return true
	}
	return len(beside) > 0 && beside[apartKey{item.Peer, record.KeySum(&item.Message.Header)}]
}

// keepApart makes an item one that waits apart. Its audit record has its key by now.
func (c *Core) keepApart(w *Work, i int) {
	item := &w.Items[i]
	l := c.changed(item.Peer)
	op := &w.Ops[item.Op]
	content := op.Value[1 : len(op.Value)-record.CRCSize]
	a := record.Apart{
		Peer: item.Peer, Number: max(l.apart.next, 1), Lane: item.Lane, First: item.First, Needs: message.NeedsOf(item.Message),
		Key: record.KeySum(&item.Message.Header), Size: len(item.Payload),
		Put: time.Unix(0, int64(binary.BigEndian.Uint64(content[record.ItemFixed-8:]))),
	}
	for _, link := range w.Links {
		if link.Item == i {
			audit := &w.Audits[link.Audit]
			a.Sent = record.SentAt{Key: w.Ops[audit.Op].Key, Index: link.Sent, Of: audit.Sent}
		}
	}
	*op = record.NewApart(&a, content[record.ItemFixed:])
	if item.Staged >= 0 {
		staged := &w.Staged[item.Staged]
		named := &w.Ops[staged.Op]
		named.Value = record.New(named.Key, record.StagedContent(true, staged.Ref, op.Key)...)
	}
	l.apart.add(ApartOf(&a))
}

// takeReads takes what a peer reads; false where the group has no room for that.
func (c *Core) takeReads(e Reads) bool {
	l := c.lanesTo(e.Peer)
	if known, is := c.Reads[e.Peer]; is && known == e.Reads {
		return true
	}
	g := &c.group
	ops := []change.Op{record.NewReads(e.Peer, &e.Reads)}
	size := c.sizeOf(ops)
	if len(g.batch.Ops) > 0 && g.size+size > c.MaxBatch {
		return false
	}
	g.size += size
	g.batch.Ops = append(g.batch.Ops, ops...)
	c.Reads[e.Peer], l.reads, l.apart.look = e.Reads, e.Reads, true
	c.changed(e.Peer)
	return true
}

// checkMove says why w cannot move what it says, and what of the audit it changes. It is not
// known until that was read.
func (c *Core) checkMove(w *Work) (known bool, err error) {
	m := w.Move
	l := c.lanesTo(m.Peer)
	known, w.Size = true, w.bare
	audits := map[string]bool{}
	for n := range m.Items {
		i := &m.Items[n]
		at, is := slices.BinarySearchFunc(l.apart.items, i.Number, func(a ApartItem, n uint64) int { return cmp.Compare(a.Number, n) })
		if !is || len(l.apart.asked) != len(m.Items) || l.apart.asked[n] != i.Number || !l.reads.Has(l.apart.items[at].Needs) {
			return true, fmt.Errorf("move messages for %s: %w", m.Peer, ErrMoved)
		}
		w.Size += c.sizeOf([]change.Op{{Key: record.AppendApartKey(nil, m.Peer, i.Number)}})
		if len(i.Sent.Key) == 0 || audits[string(i.Sent.Key)] {
			continue
		}
		audits[string(i.Sent.Key)] = true
		value, ok := c.lookUp(i.Sent.Key)
		known = known && ok
		w.Size += c.sizeOf([]change.Op{{Key: i.Sent.Key, Value: value}})
	}
	return known, nil
}

// move moves what w says, which has its numbers by now, and completes the audit.
func (c *Core) move(w *Work) {
	m := w.Move
	l := c.changed(m.Peer)
	audits := map[string]int{} // in Ops
	for n := range m.Items {
		i := &m.Items[n]
		key := record.AppendApartKey(nil, m.Peer, i.Number)
		w.Ops = append(w.Ops, change.Op{Key: key})
		if i.Staged {
			c.removeBody(key)
		}
		if len(i.Sent.Key) == 0 {
			continue
		}
		at, changed := audits[string(i.Sent.Key)]
		value := c.known[string(i.Sent.Key)]
		if changed {
			value = w.Ops[at].Value
		}
		if value == nil {
			continue // retention has removed it
		}
		numbered := i.Sent.WithNumber(value, w.Items[n].Number)
		switch {
		case numbered == nil:
		case changed:
			w.Ops[at].Value = numbered
		default:
			audits[string(i.Sent.Key)] = len(w.Ops)
			w.Ops = append(w.Ops, change.Op{Key: i.Sent.Key, Value: numbered})
		}
	}
	l.apart.remove(l.apart.asked)
	l.apart.asked, l.apart.look = nil, true
}

// notMoved ends what a refused work was to move. What is too large together, with its records of
// the audit, is asked for in smaller lots: one message alone was in one transaction before.
func (c *Core) notMoved(w *Work) {
	if w.Move == nil {
		return
	}
	a := &c.changed(w.Move.Peer).apart
	if errors.Is(w.Err, ErrTooLarge) {
		a.most = max(1, len(a.asked)/2)
	}
	a.asked, a.look = nil, true
}

// askMoves asks for what can be moved of the peers whose lanes have changed.
func (c *Core) askMoves(changed []*lanes) (moves []MoveFact) {
	for _, l := range changed {
		if !l.apart.look || l.apart.asked != nil {
			continue
		}
		l.apart.look = false
		if numbers := l.apart.movable(&l.reads); len(numbers) > 0 {
			l.apart.asked = numbers
			moves = append(moves, MoveFact{l.peer, slices.Clone(numbers)})
		}
	}
	return moves
}
