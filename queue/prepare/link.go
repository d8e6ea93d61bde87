package prepare

import (
	"fmt"
	"slices"

	"fmqm/processtable"
	"fmqm/queue/commit"
	"fmqm/queue/record"
)

func (b *builder) accept(a *record.Accept) {
	if !processtable.ValidNode(string(a.Peer)) || a.Lane >= record.Lanes {
		b.fail(fmt.Errorf("accept from %.80q lane %d: there is no such site or lane", a.Peer, a.Lane))
		return
	}
	put := &commit.Accept{
		LaneKey: record.LaneKey{Peer: a.Peer, Lane: a.Lane},
		To:      record.AcceptedAt{Incarnation: a.Incarnation, Position: record.Position{Number: a.Number, Hash: a.Hash}},
		Count:   a.Count, Before: a.Before, Whole: a.Whole,
	}
	b.Accept = put
	b.Ops = append(b.Ops, record.Accepted(put.LaneKey, put.To))
	if len(a.Whole) > 0 {
		put.Incoming = &record.Incoming{}
	}
	for i := range a.Parts {
		p := &a.Parts[i]
		if slices.Contains(a.Whole, p.First) {
			continue
		}
		if len(p.Data) > record.PartSize || p.Index < 0 || p.Index >= record.MaxParts || p.First+uint64(p.Index) != a.Number-uint64(len(a.Parts)-1-i) {
			b.fail(fmt.Errorf("accept from %[4]s: part %[1]d (%[2]d bytes) of message %[3]d does not fit items up to %[5]d", p.Index, len(p.Data), p.First, a.Peer, a.Number))
			return
		}
		b.large(record.AppendPartKey(nil, a.Peer, a.Lane, p.First, p.Index), record.Begin(nil), p.Data)
		put.Incoming = &record.Incoming{First: p.First, Count: p.Index + 1}
	}
}

// MoveApart adds the item of what waits apart. Where its payload is staged it stays where it is,
// and is of the item from then on.
func (c *Changes) MoveApart(a *record.Apart, payload []byte) {
	b := builder{Changes: c, now: a.Put}
	key, start := b.beginItem(a.Peer, a.Lane)
	item := commit.Item{Peer: a.Peer, Lane: a.Lane, Staged: -1, Payload: payload}
	if a.Place.Ref.Count == 0 {
		b.buf = append(append(b.buf, record.PlaceInline), payload...)
	} else {
		b.buf = record.AppendRef(append(b.buf, record.PlaceStaged), a.Place.Ref)
		item.Staged = len(c.Staged)
	}
	b.buf = record.End(b.buf)
	item.Op = b.op(key, b.cut(start))
	if item.Staged >= 0 {
		c.Staged = append(c.Staged, commit.Staged{Ref: a.Place.Ref, Op: -1, Owner: -1})
		b.name(item.Staged, item.Op)
	}
	c.Items = append(c.Items, item)
	c.Move.Items = append(c.Move.Items, commit.Moved{Number: a.Number, Staged: item.Staged >= 0, Sent: a.Sent})
}
