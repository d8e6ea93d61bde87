package prepare

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"

	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// park puts a message to wait.
func (b *builder) park(p *record.Parked) {
	if len(p.Message) > message.MaxEncoded || p.Peer != "" && !processtable.ValidNode(string(p.Peer)) {
		b.fail(fmt.Errorf("a message from %.80[2]q cannot wait: it is too large (%[1]d bytes), or this cannot be the name of a site", len(p.Message), p.Peer))
		return
	}
	p.Number, p.Size = b.p.Parked.Add(1), len(p.Message)
	b.Parks = append(b.Parks, p.Process)
	b.large(p.Key(), record.Begin(nil), p.Message)
	b.Charges = append(b.Charges, record.Charge{Peer: p.Peer, Process: p.Process, Size: p.Size, Number: 1})
}

// unpark removes one that waited.
func (b *builder) unpark(p *record.Parked) {
	b.Replaces = append(b.Replaces, b.op(p.Key(), nil))
	b.Charges = append(b.Charges, record.Charge{Peer: p.Peer, Process: p.Process, Size: p.Size, Number: -1})
}

// settle removes refused messages, and with them what was staged of them.
func (b *builder) settle(numbers []uint64) {
	for _, number := range numbers {
		b.Replaces = append(b.Replaces, b.op(record.AppendRefusedKey(nil, number), nil))
	}
	if len(numbers) > 0 {
		b.Settle = numbers
		b.SettleOp = b.op(record.KeySettled, record.New(record.KeySettled, make([]byte, 8)...)) // the committer knows the number
	}
}

// refuse keeps a refused message, charged to who has brought it.
func (b *builder) refuse(s *record.Refused) {
	if len(s.Message) > message.MaxEncoded {
		b.fail(errors.New("a refused message is too large to be kept"))
		return
	}
	number := b.p.Refused.Add(1)
	key := record.AppendRefusedKey(nil, number)
	if apart := len(s.Message) > min(b.inline, record.RefusedInline); !apart {
		b.sealed(key, record.End(append(append(record.Begin(nil), record.PlaceInline), record.RefusedContent(s, apart)...)))
	} else {
		staged := b.stageBody(s.Message)
		value := record.AppendRef([]byte{record.RefusedVersion, record.PlaceStaged}, b.Staged[staged].Ref)
		b.name(staged, b.sealed(key, record.End(append(value, record.RefusedContent(s, apart)...))))
	}
	b.charge(record.UsageRefused, binary.BigEndian.AppendUint64(nil, number), cmp.Or(s.From, s.Peer), len(s.Message))
}

// charge charges size to a peer, with an entry of the index.
func (b *builder) charge(kind byte, what []byte, peer processtable.NodeID, size int) {
	if !processtable.ValidNode(string(peer)) {
		return
	}
	c := record.Charge{Peer: peer, Kind: kind, Size: size, Number: 1}
	key := c.Key(what)
	b.op(key, record.New(key))
	b.Charges = append(b.Charges, c)
}

// chargeMarker charges a marker, or a mark, to who has brought it, the first of its key here.
func (b *builder) chargeMarker(m *message.Message) {
	entry := m.Entry()
	b.charge(record.UsageMarker, record.AppendName(record.AppendMessageKey(nil, m.Queue.Process, &entry, m.Key()), ""), m.From, 0)
}
