package admission

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fmqm/behaviour"
	"fmqm/internal/text"
	"fmqm/link"
	"fmqm/message"
	"fmqm/node/tables"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/commit"
	"fmqm/queue/record"
)

// inbox takes what a link brings from one peer: every message is judged, and put or
// set aside in the transaction that advances the link's number (invariant 5, L5).
type inbox struct {
	*Admission
	peer processtable.NodeID
}

func (i *inbox) Accepted(lane message.Lane) record.Position { return i.Queue.Accepted(i.peer, lane) }

func (i *inbox) Capacity(ctx context.Context, paused func(reason string)) error {
	if err := i.Site.WaitRoom(ctx, paused); err != nil {
		return err
	}
	if err := i.waitQuota(ctx, paused); err != nil {
		return err
	}
	return i.Queue.WaitCapacity(ctx)
}

// waitQuota lets a link wait while the usage of its peer is beyond its quota.
func (i *inbox) waitQuota(ctx context.Context, paused func(reason string)) error {
	waited := false
	fits := func(l queue.Usage) bool {
		quota := i.Site.PeerQuota()
		return quota == 0 || l.Bytes < quota
	}
	err := i.Queue.WaitQuota(ctx, i.peer, fits, func(l queue.Usage) {
		waited = true
		paused(overQuota(&l, i.Site.PeerQuota()))
	})
	if waited && err == nil {
		paused("")
	}
	return err
}

// overQuota says why a link is paused, and what to do.
func overQuota(l *queue.Usage, quota int64) string {
	why := fmt.Sprintf("its messages that nothing here can use are at their quota (limits.peer, %d MiB):", quota>>20)
	if l.Refused > 0 {
		why += " " + text.Counted(l.Refused, "refused message", "refused messages") + " (fmqm refused list, then retry or drop);"
	}
	if l.Parked > 0 {
		why += " " + text.Counted(l.Parked, "message waits for the table of its process", "messages wait for the table of their process") + " (upload it to this site);"
	}
	if l.Marks > 0 {
		why += " " + text.Counted(l.Marks, "mark", "marks") + " of instances that were terminated, suspended, resumed or expedited from there;"
	}
	return why + " or raise limits.peer"
}

// againAtMost is the longest pause before a batch is judged again that came together with a table.
const againAtMost = 100 * time.Millisecond

// Accept judges the items and submits them in one transaction. What they follow on, and
// the store that they are from, is the link's word, and the committer holds it to it.
func (i *inbox) Accept(b link.Batch, done func(error)) { i.accept(b, done, 0) }

// accept is Accept; where the batch is to be judged again, it is so after a pause.
func (i *inbox) accept(b link.Batch, done func(error), pause time.Duration) {
	if len(b.Items) == 0 {
		done(fmt.Errorf("accept from %s: there is no item", i.peer))
		return
	}
	a := i.acceptance(&b)
	for _, item := range b.Items {
		err := a.add(item)
		if err == nil {
			continue
		}
		a.end()
		var other *underWay
		if errors.Is(err, errEventsFull) {
			i.whenRoom(b, done, pause)
			return
		}
		if !errors.As(err, &other) {
			done(fmt.Errorf("accept from %s: %w", i.peer, err))
			return
		}
		i.Scheduler.Go(func() {
			_, _ = i.Scheduler.Wait(context.Background(), other.ended)
			i.accept(b, done, pause)
		})
		return
	}
	a.tx.Done = func(err error) {
		a.end()
		if errors.Is(err, commit.ErrBound) || errors.Is(err, commit.ErrTabled) {
			// A table that came another way at the same moment bound the version, or is what a
			// message was to wait for: judged again, they are set aside, or taken.
			i.again(b, done, pause)
			return
		}
		if err == nil {
			a.taken()
		}
		done(err)
	}
	i.Queue.Submit(a.tx)
}

// again judges a batch once more: at first at once, then after pauses that double. A table is on disk
// before it is taken up; and where the node stops, it is not taken up any more, and the end of the queue
// ends this.
func (i *inbox) again(b link.Batch, done func(error), pause time.Duration) {
	judge := func() { i.accept(b, done, min(max(2*pause, time.Millisecond), againAtMost)) }
	if pause == 0 {
		i.Scheduler.Go(judge)
	} else {
		i.Scheduler.AfterFunc(pause, judge)
	}
}

// errEventsFull: a batch brings an event, and as many are kept here as may be.
var errEventsFull = errors.New("as many events are kept as may be")

// eventsPause is how long a batch waits that brings an event while as many are kept here as may be.
const eventsPause = time.Second

// whenRoom judges a batch once more, after a pause: so the link's lane waits, and with it the peer keeps what follows.
// Where the node has stopped, the end of the queue ends this.
func (i *inbox) whenRoom(b link.Batch, done func(error), pause time.Duration) {
	if pause < eventsPause {
		i.Log.Warn().Str("peer", string(i.peer)).Msg("as many events are kept here as may be (events.limit): what the peer sends waits there; see fmqm event list")
	}
	i.Scheduler.AfterFunc(eventsPause, func() {
		i.Queue.Submit(&record.Tx{Done: func(err error) {
			if err != nil {
				done(err)
				return
			}
			i.Scheduler.Go(func() { i.accept(b, done, eventsPause) })
		}})
	})
}

// acceptance is one transaction of accepted items being built.
type acceptance struct {
	taking
	peer    processtable.NodeID
	lane    message.Lane
	parts   parts
	tables  []behaviour.Process
	answers int                            // that follow from its words
	stored  []func()                       // to be called once it is on disk
	marks   map[message.InstanceID]int     // that it puts
	late    map[processtable.ProcessID]int // messages that are dropped: their process's table was removed
}

func (i *inbox) acceptance(b *link.Batch) *acceptance {
	last := b.Items[len(b.Items)-1]
	accept := &record.Accept{
		Peer: i.peer, Incarnation: b.From, Lane: b.Lane,
		Number: last.Number, Count: uint64(len(b.Items)),
		Before: b.After.Hash, Hash: last.Hash,
	}
	tx := &record.Tx{Accept: accept, Put: make([]message.Message, 0, len(b.Items))} // most items are put
	a := &acceptance{taking: i.begin(tx), peer: i.peer, lane: b.Lane}
	a.parts = parts{
		open: i.Queue.Incoming(i.peer, b.Lane), accept: accept, aside: a.aside,
		stored: func(first uint64) ([][]byte, error) { return i.Queue.Parts(i.peer, b.Lane, first) },
	}
	return a
}

// taken: the transaction is on disk.
func (a *acceptance) taken() {
	for _, p := range a.tables {
		a.Tables.Install(p)
	}
	a.Tables.NowCurrent(a.tx.Current...)
	for _, told := range a.stored {
		told()
	}
	for id, messages := range a.late {
		a.Site.Absorbed(id, messages)
	}
	a.Site.Taken(a.tx)
}

func (a *acceptance) aside(encoded []byte, reason string) { a.setAside(a.peer, encoded, reason) }

func (a *acceptance) add(item record.Item) error {
	piece, err := record.Unpack(item.Payload)
	if err != nil || piece.Whole {
		a.parts.abandon(item.Number)
	}
	encoded := piece.Data
	switch {
	case err != nil:
		a.unread(item.Payload, err)
		return nil
	case !piece.Whole:
		if encoded, err = a.parts.take(item.Number, piece); err != nil || encoded == nil {
			return err
		}
	}
	m, err := message.Decode(encoded)
	if err != nil {
		a.unread(encoded, err)
		return nil
	}
	m.From = a.peer
	return a.judge(m, encoded)
}

// unread sets aside what this site cannot read.
func (a *acceptance) unread(encoded []byte, err error) {
	a.aside(encoded, fmt.Sprintf("it cannot be read: %v", err))
}

// judge puts a message, stores a table, or sets aside what cannot be for here.
func (a *acceptance) judge(m message.Message, encoded []byte) error {
	reason := impossible(a.Self, a.lane, &m.Header)
	switch {
	case reason != "":
		a.aside(encoded, reason)
		return nil
	case a.absorbs(&m, encoded):
		return nil
	case m.Kind.OfWord():
		return a.word(m, encoded)
	case m.Kind.OfTable():
		a.table(m, encoded)
		return nil
	case m.Kind == message.KindEvent:
		return a.event(m, encoded)
	}
	p := a.Site.Process(m.Queue.Process) // once: it may come at any moment
	if p == nil {
		a.tx.Park = append(a.tx.Park, record.Parked{Process: m.Queue.Process, Instance: m.Instance, Peer: a.peer, Message: encoded})
		return nil
	}
	if m.Kind == message.KindMark {
		return a.mark(p, m, encoded)
	}
	reason, err := a.refuses(a.peer, p, &m)
	switch {
	case err != nil:
		return err
	case reason != "":
		a.aside(encoded, reason)
		return nil
	}
	_, err = a.take(m, encoded)
	return err
}

// absorbs says whether a message is for a version whose table was removed, and drops it then: all instances of that have
// ended at their origins, so it is a repeat or comes too late (N31). What is of another definition is set aside. A table that
// comes again is remembered for whoever asks what became of it.
func (a *acceptance) absorbs(m *message.Message, encoded []byte) bool {
	stone, gone := a.Queue.Tombstone(m.Queue.Process)
	switch none := (processtable.ShortHash{}); {
	case !gone:
		return false
	case m.Kind.OfTable():
		_, _, err := a.Tables.Judge(m.Body, false)
		if !errors.Is(err, tables.ErrGone) {
			return false
		}
		a.Tables.Refused(m.Queue.Process, m.Body, err)
	case m.Definition != none && m.Definition != stone.Definition.Short():
		a.aside(encoded, fmt.Sprintf("%s is retired at %s, which has removed its table, and this is of another definition of it", m.Queue.Process, a.Self))
		return true
	}
	if a.late == nil {
		a.late = map[processtable.ProcessID]int{}
	}
	a.late[m.Queue.Process]++
	return true
}

// word takes an operator's word, or the answer to one, as its room rules (N15). While a word with
// the same identifier lies here, that one counts.
func (a *acceptance) word(m message.Message, encoded []byte) error {
	r, err := a.Commands.Rule(a.peer, &m, a.answers, func() (bool, error) {
		_, again, err := a.claim(arrivalOf(&m))
		return again, err
	})
	switch {
	case err != nil:
		return err
	case r.Aside != "":
		a.aside(encoded, r.Aside)
	case r.Word:
		if put, err := a.take(m, encoded); err != nil || !put {
			return err
		}
		a.answers++
	case r.Reply != nil:
		a.tx.Put = append(a.tx.Put, *r.Reply)
		a.answers++
	case r.Line != nil:
		a.tx.Audit = append(a.tx.Audit, *r.Line)
	}
	if r.Stored != nil {
		a.stored = append(a.stored, r.Stored)
	}
	return nil
}

// event takes an event, sets it aside, or lets a repeat go (N24).
func (a *acceptance) event(m message.Message, encoded []byte) error {
	put, again, err := a.claim(arrivalOf(&m))
	if err != nil || put != nil || again {
		return err
	}
	if a.Events.EventsFull() {
		return errEventsFull
	}
	kept, timer, reason, err := a.Events.JudgeEvent(a.peer, m)
	switch {
	case err != nil:
		return err
	case reason != "":
		a.aside(encoded, reason)
	case kept != nil:
		a.tx.Put, a.tx.Timers = append(a.tx.Put, *kept), append(a.tx.Timers, timer)
	}
	return nil
}

// table stores a process table, or sets it aside. Who defined it is what counts, and not who
// brings it.
func (a *acceptance) table(m message.Message, encoded []byte) {
	now := m.Kind == message.KindCurrent
	p, isNew, err := a.Tables.Judge(m.Body, now)
	if err == nil {
		err = tables.Named(p, m.Queue.Process)
	}
	if err == nil && isNew {
		isNew, err = a.first(p.Table())
	}
	if err != nil {
		a.Tables.Refused(m.Queue.Process, m.Body, err)
		a.aside(encoded, err.Error())
		return
	}
	tables.Add(a.tx, a.Queue, p, m.Body, isNew, now)
	if isNew {
		a.tables = append(a.tables, p)
	}
}

// first says whether a table is the first of its process in the transaction: what this stores is not
// bound yet, and of two definitions the store would keep the last, and the node run the first (N3).
func (a *acceptance) first(t *processtable.Table) (bool, error) {
	for _, p := range a.tables {
		if before := p.Table(); before.Process == t.Process {
			if before.Definition != t.Definition {
				return false, fmt.Errorf("another table of %s came before it: raise the version", t.Process)
			}
			return false, nil
		}
	}
	return true, nil
}
