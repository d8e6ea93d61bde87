package node

import (
	"context"
	"errors"
	"fmt"

	"fmqm/behaviour"
	"fmqm/link"
	"fmqm/message"
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

// Begin is called where the peer has let go what another store of this node had confirmed.
func (i *identity) Begin(at [link.Lanes]link.Position) error {
	if err := i.node.markAnew(); err != nil {
		return err
	}
	return i.node.queue.BeginAccepted(i.peer, at)
}

// inbox takes what a link brings from one peer: every message is judged, and put or
// set aside in the transaction that advances the link's number (invariant 5, L5).
type inbox struct {
	node *Node
	peer processtable.NodeID
}

func (i *inbox) Accepted(lane message.Lane) link.Position { return i.node.queue.Accepted(i.peer, lane) }

func (i *inbox) Capacity(ctx context.Context, paused func(reason string)) error {
	if err := i.node.pressure.waitRoom(ctx, paused); err != nil {
		return err
	}
	if err := i.waitLeft(ctx, paused); err != nil {
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
	a := &acceptance{inbox: i, open: i.node.queue.Incoming(i.peer, b.Lane), tx: &queue.Tx{Accept: &queue.Accept{
		Peer: i.peer, Incarnation: b.From, Lane: b.Lane,
		Number: last.Number, Count: uint64(len(b.Items)),
		Before: b.After.Hash, Hash: last.Hash,
	}}, arriving: i.node.arrivals.begin(i.node.sched)}
	for _, item := range b.Items {
		err := a.add(b.Lane, item)
		var other *underWay
		switch {
		case err == nil:
			continue
		case errors.As(err, &other):
			a.arriving.end()
			i.node.sched.Go(func() {
				_, _ = i.node.sched.Wait(context.Background(), other.ended)
				i.Accept(b, done)
			})
		default:
			a.arriving.end()
			done(err)
		}
		return
	}
	a.tx.Done = func(err error) {
		a.arriving.end()
		if errors.Is(err, queue.ErrBound) || errors.Is(err, queue.ErrTabled) {
			// A table that came another way at the same moment bound the version, or is what a
			// message was to wait for: judged again, they are set aside, or taken.
			i.node.sched.Go(func() { i.Accept(b, done) })
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
	open   queue.Incoming // what came of a message whose last part has not
	tables []behaviour.Process

	arriving *arriving
}

func (a *acceptance) add(lane message.Lane, item link.Item) error {
	piece, err := queue.Unpack(item.Payload)
	if err != nil {
		a.abandon(item.Number)
		a.aside(item.Payload, fmt.Sprintf("it cannot be read: %v", err))
		return nil
	}
	encoded := piece.Data
	if piece.Whole {
		a.abandon(item.Number)
	} else if encoded, err = a.part(lane, item.Number, piece); err != nil || encoded == nil {
		return err
	}
	m, err := message.Decode(encoded)
	if err != nil {
		a.aside(encoded, fmt.Sprintf("it cannot be read: %v", err))
		return nil
	}
	return a.judge(lane, m, encoded)
}

func (a *acceptance) aside(encoded []byte, reason string) {
	a.tx.SetAside = append(a.tx.SetAside, queue.SetAside{
		Time: a.node.sched.Now(), Peer: a.peer, Reason: reason, Message: encoded,
	})
	a.node.log.Warn().Str("peer", string(a.peer)).Str("reason", reason).Msg("message set aside")
}

// judge puts a message, stores a table, or sets aside what cannot be for here.
func (a *acceptance) judge(lane message.Lane, m message.Message, encoded []byte) error {
	reason, err := a.node.misdirected(a.peer, lane, &m)
	if err != nil {
		return err
	}
	if reason != "" {
		a.aside(encoded, reason)
		return nil
	}
	m.From = a.peer
	switch t := a.node.thread(m.Queue.Process); {
	case m.Kind == message.KindTable:
		return a.table(m, encoded)
	case t == nil:
		a.tx.Park = append(a.tx.Park, queue.Parked{Process: m.Queue.Process, Instance: m.Instance, Peer: a.peer, Message: encoded})
		return nil
	}
	reason, err = a.node.contradicts(a.arriving, a.tx, &m)
	switch {
	case err != nil:
		return err
	case reason != "":
		a.aside(encoded, reason)
		return nil
	}
	marked, err := a.node.marked(a.tx, &m)
	if err == nil && !marked {
		a.tx.Put = append(a.tx.Put, m)
	}
	return err
}

func (a *acceptance) table(m message.Message, encoded []byte) error {
	p, isNew, err := a.node.judgeTable(m.Body)
	if err == nil && p.Table().Process != m.Queue.Process {
		err = fmt.Errorf("it carries a table of %s, and says that it is of %s", p.Table().Process, m.Queue.Process)
	}
	if err != nil {
		a.node.noteRefused(m.Queue.Process, m.Body, err)
		a.aside(encoded, err.Error())
		return nil
	}
	if isNew {
		a.tx.Tables = append(a.tx.Tables, record(p, m.Body))
		a.tables = append(a.tables, p)
	}
	return nil
}

// misdirected says why a message that came from peer in a lane cannot be for this node
// (invariant 11), or nothing.
func (n *Node) misdirected(peer processtable.NodeID, lane message.Lane, m *message.Message) (string, error) {
	if reason := impossible(n.name, lane, &m.Header); reason != "" {
		return reason, nil
	}
	if m.Kind == message.KindTable {
		return "", nil // who defined it is what counts, and not who brings it
	}
	if t := n.thread(m.Queue.Process); t != nil {
		return n.inadmissible(peer, t.process, m)
	}
	return "", nil // it waits for its table
}

// inadmissible says why peer may not send a message of a process of which the table is
// here, or nothing.
func (n *Node) inadmissible(peer processtable.NodeID, p behaviour.Process, m *message.Message) (string, error) {
	if reason := p.Refuses(peer, &m.Header); reason != "" {
		return reason, nil
	}
	if reason, err := n.strayNotice(m); reason != "" || err != nil {
		return reason, err
	}
	return n.usurped(peer, m)
}
