package prepare

import (
	"encoding/binary"
	"fmt"
	"slices"

	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/commit"
	"fmqm/queue/record"
)

func (b *builder) put(i int) {
	m := &b.Tx.Put[i]
	if m.Queue.Node == b.p.Node {
		b.putLocal(m)
	} else {
		b.putRemote(i, m)
	}
}

func (b *builder) putLocal(m *message.Message) {
	entry := m.Entry()
	if record.IsNotice(&entry, m.Kind) {
		b.notice(m)
	}
	start := len(b.buf)
	b.buf = record.AppendMessageKey(b.buf, m.Queue.Process, &entry, m.Key())
	key := b.cut(start)
	start = len(b.buf)
	b.buf = record.BeginMessage(b.buf)
	staged := -1
	inline := *m
	if len(m.Body) > b.inline {
		staged = b.stageBody(m.Body)
		inline.Body = nil
		b.buf = record.AppendRef(append(b.buf, record.PlaceStaged), b.Staged[staged].Ref)
	} else {
		b.buf = append(b.buf, record.PlaceInline)
	}
	if !b.encode(inline) {
		return
	}
	b.buf = record.End(b.buf)
	op := b.op(key, b.cut(start)) // the committer seals it
	b.name(staged, op)
	b.Replaces = append(b.Replaces, op)
	if m.Kind.OfInstance() {
		b.chargeMarker(m)
	}
	b.Puts = append(b.Puts, commit.Put{Process: m.Queue.Process, Entry: entry, Op: op, Marker: m.Kind.OfInstance()})
	b.Local = append(b.Local, b.count(m, entry))
}

func (b *builder) encode(m message.Message) bool {
	encoded, err := message.AppendEncode(b.buf, m)
	if err != nil {
		b.fail(fmt.Errorf("message from %q to %q: %w", m.Source, m.Activity, err))
		return false
	}
	b.buf = encoded
	return true
}

func (b *builder) putRemote(i int, m *message.Message) {
	if b.now.IsZero() {
		b.now = b.p.Now()
	}
	to := m.Queue.Node
	if len(m.Body) <= min(b.inline, inlineSize-message.MaxHeader) {
		b.item(to, m.Lane, i, true, func() bool { return b.encode(*m) })
		return
	}
	encoded, err := message.Encode(*m)
	if err != nil {
		b.fail(fmt.Errorf("message from %q to %q: %w", m.Source, m.Activity, err))
		return
	}
	of := record.Pieces(len(encoded))
	if of == 1 {
		b.largeItem(to, m.Lane, i, true, append([]byte{record.PayloadWhole}, encoded...))
		return
	}
	index := 0
	for part := range slices.Chunk(encoded, record.PartSize) {
		payload := append(record.AppendPartHead(make([]byte, 0, record.PartHead+len(part)), index, of), part...)
		b.largeItem(to, m.Lane, i, index == 0, payload)
		index++
	}
}

// beginItem adds the key of an item and the part of its value before its place.
func (b *builder) beginItem(to processtable.NodeID, lane message.Lane) (key []byte, start int) {
	start = len(b.buf)
	b.buf = record.AppendItemKey(b.buf, to, lane, 0)
	key = b.cut(start)
	start = len(b.buf)
	b.buf = record.Begin(b.buf)
	var fixed [record.ItemFixed]byte
	binary.BigEndian.PutUint64(fixed[record.ItemFixed-8:], uint64(b.now.UnixNano()))
	b.buf = append(b.buf, fixed[:]...)
	return key, start
}

// item adds an item that carries a whole small message, which encode appends.
func (b *builder) item(to processtable.NodeID, lane message.Lane, put int, first bool, encode func() bool) {
	key, start := b.beginItem(to, lane)
	b.buf = append(b.buf, record.PlaceInline)
	payload := len(b.buf) - start
	b.buf = append(b.buf, record.PayloadWhole)
	if !encode() {
		return
	}
	b.buf = record.End(b.buf)
	value := b.cut(start)
	b.sent = append(b.sent, itemPut{put, first})
	b.Items = append(b.Items, commit.Item{
		Peer: to, Lane: lane, Op: b.op(key, value), Staged: -1, Payload: value[payload : len(value)-record.CRCSize],
		Message: &b.Tx.Put[put], First: first,
	})
}

// largeItem adds an item whose payload is staged.
func (b *builder) largeItem(to processtable.NodeID, lane message.Lane, put int, first bool, payload []byte) {
	staged := b.stageBody(payload)
	key, start := b.beginItem(to, lane)
	b.buf = record.End(record.AppendRef(append(b.buf, record.PlaceStaged), b.Staged[staged].Ref))
	op := b.op(key, b.cut(start))
	b.name(staged, op)
	b.sent = append(b.sent, itemPut{put, first})
	b.Items = append(b.Items, commit.Item{Peer: to, Lane: lane, Op: op, Staged: staged, Payload: payload, Message: &b.Tx.Put[put], First: first})
}

// Counts says whether a message of a kind is counted in the depth of its queue.
func Counts(k message.Kind) bool { return !k.OfInstance() }

// count says what a put adds to the depth of its queue. Connectors and records come once
// each, unless a store was lost or an operator lets one come again; who counts knows about
// that. Of an entry that the transaction was decided on, the submitter may know.
func (b *builder) count(m *message.Message, entry message.Entry) Local {
	put := Local{Message: m, Adds: Counts(m.Kind)}
	put.Sure = !put.Adds || m.Kind == message.KindConnector || m.Kind == message.KindRecord || m.Kind == message.KindDue ||
		m.Kind == message.KindBegin || m.Kind == message.KindReturn || m.Kind == message.KindStart || m.Kind == message.KindChunk || m.Kind == message.KindWait
	if put.Sure {
		return put
	}
	key, process := m.Key(), m.Queue.Process
	for i := range b.Tx.Consume {
		if k := &b.Tx.Consume[i]; k.Replaces != nil && k.Entry == entry && k.Process == process {
			put.Sure = true
			put.Adds = !slices.Contains(k.Replaces, key)
			for n := range b.Local {
				put.Adds = put.Adds && (b.Puts[n].Entry != entry || b.Puts[n].Process != process || b.Local[n].Message.Key() != key)
			}
			return put
		}
	}
	return put
}
