package node

import (
	"context"
	"errors"
	"fmt"

	"fmqm/link"
	"fmqm/message"
	"fmqm/navigator"
	"fmqm/processtable"
	"fmqm/queue"
)

// identity is what the store knows of a peer's incarnation (L1).
type identity struct {
	node *Node
	peer processtable.NodeID
}

func (i *identity) Known() (queue.Incarnation, bool) { return i.node.queue.KnownIncarnation(i.peer) }

func (i *identity) Bind(inc queue.Incarnation) error {
	return i.node.queue.BindIncarnation(i.peer, inc)
}

func (i *identity) Rebind(inc queue.Incarnation) error {
	return i.node.queue.RebindIncarnation(i.peer, inc)
}

func (i *identity) Began() ([link.Lanes]link.Position, error) { return i.node.queue.Began(i.peer) }

func (i *identity) Begin(at [link.Lanes]link.Position) error {
	return i.node.queue.BeginAccepted(i.peer, at)
}

// inbox takes what a link brings from one peer: every message is judged, and put or
// set aside in the transaction that advances the link's number (invariant 5, L5).
type inbox struct {
	node *Node
	peer processtable.NodeID
}

var _ link.Inbox = (*inbox)(nil)

func (i *inbox) Accepted(lane message.Lane) link.Position { return i.node.queue.Accepted(i.peer, lane) }

func (i *inbox) Capacity(ctx context.Context, paused func(reason string)) error {
	if err := i.node.pressure.waitRoom(ctx, paused); err != nil {
		return err
	}
	return i.node.queue.WaitCapacity(ctx)
}

// Accept judges the items and submits them in one transaction. What they follow on, and
// the store that they are from, is the link's word, and the committer holds it to it.
func (i *inbox) Accept(b link.Batch, done func(error)) {
	if len(b.Items) == 0 {
		done(fmt.Errorf("accept from %s: there is no item", i.peer))
		return
	}
	last := b.Items[len(b.Items)-1]
	a := &acceptance{inbox: i, tx: &queue.Tx{Accept: &queue.Accept{
		Peer: i.peer, Incarnation: b.From, Lane: b.Lane,
		Number: last.Number, Count: uint64(len(b.Items)),
		Before: b.After.Hash, Hash: last.Hash,
	}}}
	for _, item := range b.Items {
		if err := a.add(b.Lane, item); err != nil {
			done(err)
			return
		}
	}
	a.tx.Done = func(err error) {
		if errors.Is(err, queue.ErrBound) {
			// A table that came another way at the same moment bound the version: judged
			// again, it is set aside.
			go i.Accept(b, done)
			return
		}
		if err == nil {
			i.node.meters.setAside.Add(uint64(len(a.tx.SetAside)))
			for _, p := range a.tables {
				i.node.install(p)
			}
		}
		done(err)
	}
	i.node.queue.Submit(a.tx)
}

// acceptance is one transaction of accepted items being built.
type acceptance struct {
	*inbox
	tx     *queue.Tx
	parts  []queue.Part // of this transaction, not on disk yet
	tables []*navigator.Process
}

func (a *acceptance) add(lane message.Lane, item link.Item) error {
	piece, err := queue.Unpack(item.Payload)
	if err != nil {
		a.aside(item.Payload, fmt.Sprintf("it cannot be read: %v", err))
		return nil
	}
	encoded := piece.Data
	if !piece.Whole {
		if encoded, err = a.part(lane, item.Number, piece); err != nil || encoded == nil {
			return err
		}
	}
	m, err := message.Decode(encoded)
	if err != nil {
		a.aside(encoded, fmt.Sprintf("it cannot be read: %v", err))
		return nil
	}
	return a.judge(m, encoded)
}

// part keeps a piece of a large message, and gives the whole of it with the last (L4).
func (a *acceptance) part(lane message.Lane, number uint64, piece queue.Piece) ([]byte, error) {
	first := number - uint64(piece.Index)
	part := queue.Part{First: first, Index: piece.Index, Data: piece.Data}
	if !piece.Last() {
		a.parts = append(a.parts, part)
		a.tx.Accept.Parts = append(a.tx.Accept.Parts, part)
		return nil, nil
	}
	stored, err := a.node.queue.Parts(a.peer, lane, first)
	if err != nil {
		return nil, fmt.Errorf("accept from %s: read the parts of message %d: %w", a.peer, first, err)
	}
	var whole []byte
	for _, data := range stored {
		whole = append(whole, data...)
	}
	for _, p := range a.parts {
		if p.First == first {
			whole = append(whole, p.Data...)
		}
	}
	a.tx.Accept.Whole = append(a.tx.Accept.Whole, first)
	return append(whole, piece.Data...), nil
}

func (a *acceptance) aside(encoded []byte, reason string) {
	a.tx.SetAside = append(a.tx.SetAside, queue.SetAside{
		Time: a.node.clock.Now(), Peer: a.peer, Reason: reason, Message: encoded,
	})
	a.node.log.Warn().Str("peer", string(a.peer)).Str("reason", reason).Msg("message set aside")
}

// judge puts a message, stores a table, or sets aside what cannot be for here.
func (a *acceptance) judge(m message.Message, encoded []byte) error {
	if m.Kind == message.KindTable {
		return a.table(m, encoded)
	}
	if reason := a.node.misdirected(a.peer, m); reason != "" {
		a.aside(encoded, reason)
		return nil
	}
	a.tx.Put = append(a.tx.Put, m)
	return nil
}

func (a *acceptance) table(m message.Message, encoded []byte) error {
	p, isNew, err := a.node.judgeTable(m.Body)
	if err != nil {
		a.node.mu.Lock()
		a.node.refused[m.Queue.Process] = refusedTable{sumOf(m.Body), err.Error()}
		a.node.mu.Unlock()
		a.aside(encoded, err.Error())
		return nil
	}
	if isNew {
		a.tx.Tables = append(a.tx.Tables, record(p, m.Body))
		a.tables = append(a.tables, p)
	}
	return nil
}

// misdirected says why a message from peer cannot be for this node (invariant 11), or
// nothing. Whether it fits the table in content is the process thread's to judge.
func (n *Node) misdirected(peer processtable.NodeID, m message.Message) string {
	if m.Queue.Node != n.name {
		return fmt.Sprintf("it is for node %s, this is %s", m.Queue.Node, n.name)
	}
	t := n.thread(m.Queue.Process)
	if t == nil {
		if n.queue.ParkedFull(m.Queue.Process) {
			return fmt.Sprintf("the table of %s is not here, and too many messages wait for it already: upload the process again", m.Queue.Process)
		}
		return ""
	}
	switch m.Kind {
	case message.KindMarker:
		return ""
	case message.KindConnector, message.KindNotice:
		return n.misconnected(peer, t.core.process.Table, m)
	case message.KindRecord, message.KindSnapshot, message.KindTable:
		return "a message of this kind never leaves its node"
	}
	return fmt.Sprintf("it is of unknown kind %d", m.Kind)
}

// misconnected checks both ends of a connector against the table.
func (n *Node) misconnected(peer processtable.NodeID, t *processtable.Table, m message.Message) string {
	if t.Activity(m.Activity) == nil {
		return fmt.Sprintf("activity %s of %s is not hosted at %s", m.Activity, t.Process, n.name)
	}
	if m.Activity == processtable.Sink && m.Origin != n.name {
		return fmt.Sprintf("sink of an instance started at %s is not at %s", m.Origin, n.name)
	}
	from := m.Origin
	if m.Source != processtable.Source {
		node, ok := t.NodeOf(m.Source)
		if !ok {
			return fmt.Sprintf("%s has no activity %s", t.Process, m.Source)
		}
		from = node
	}
	if from != peer {
		return onBehalf(peer, from, t, m)
	}
	return ""
}
