package queue

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/queue/commit"
	"fmqm/queue/record"
)

const (
	// inlineSize is the largest part of a record that is not staged, in bytes (S2).
	inlineSize = 32 << 10
	// smallInline is the same in a transaction that would be too large otherwise: what
	// is staged in its place costs the transaction less from here on.
	smallInline = 256
)

// work is a transaction made ready by its submitter: what the committer has to know of it,
// and what it is told by.
type work struct {
	commit.Work
	tx  *Tx
	buf []byte

	from     []*process // of tx.Consume
	local    []localPut // of Puts
	sent     []itemPut  // of Items
	leavings []leaving
	anew     bool // it notes that a store was made anew
}

// localPut is a message for an entry of this node.
type localPut struct {
	process *process
	message *message.Message
	adds    bool // to what is stored: it replaces nothing
	sure    bool // that it does, unless messages come again
}

// itemPut is what an item carries.
type itemPut struct {
	put   int // of Tx.Put
	first bool
}

// prepare makes tx ready. It runs in the submitter's goroutine. Where many parts that
// are small enough to stay with their records are too much together, it begins again
// and stages them too.
func (m *Manager) prepare(tx *Tx) *work {
	w := m.build(tx, inlineSize)
	if w.Err == nil && w.Size > m.maxBatch {
		m.works.put(w)
		w = m.build(tx, smallInline)
	}
	return w
}

func (m *Manager) build(tx *Tx, inline int) *work {
	w := m.works.get()
	w.tx = tx
	b := builder{m: m, work: w, inline: inline}
	for i := range tx.Consume {
		b.consume(&tx.Consume[i])
	}
	for i := range tx.Put {
		b.put(i)
	}
	for i := range tx.Timers {
		b.timer(&tx.Timers[i])
	}
	for i := range tx.Audit {
		b.audit(i)
	}
	for i := range tx.Tables {
		b.table(&tx.Tables[i])
	}
	if tx.Accept != nil {
		b.accept(tx.Accept)
	}
	for i := range tx.Park {
		b.park(&tx.Park[i])
	}
	for i := range tx.Unpark {
		b.unpark(&tx.Unpark[i])
	}
	for i := range tx.SetAside {
		b.setAside(&tx.SetAside[i])
	}
	b.takeAside(tx.TakeAside)
	b.rebuild(tx.Rebuild)
	w.Ops = append(w.Ops, tx.forget...)
	b.dropReplaced()
	if w.Err == nil {
		w.Size = m.engine.Size(&store.Batch{Ops: w.Ops})
		if inline == smallInline && w.Size > commit.MaxLarge {
			w.Err = fmt.Errorf("%w: its records have %d bytes, and at most %d are allowed", ErrTooLarge, w.Size, commit.MaxLarge)
		}
	}
	return w
}

// builder adds the operations of one transaction.
type builder struct {
	m *Manager
	*work
	inline int // the largest part of a record that is not staged
	now    time.Time
}

func (b *builder) fail(err error) {
	if b.Err == nil {
		b.Err = fmt.Errorf("transaction refused: %w", err)
	}
}

// cut gives what was appended to buf since start, as a slice of its own.
func (b *builder) cut(start int) []byte { return b.buf[start:len(b.buf):len(b.buf)] }

func (b *builder) op(key, value []byte) int {
	b.Ops = append(b.Ops, store.Op{Key: key, Value: value})
	return len(b.Ops) - 1
}

// sealed adds a put of a record whose content is complete.
func (b *builder) sealed(key, value []byte) int {
	record.Seal(key, value)
	return b.op(key, value)
}

func (b *builder) consume(c *Consume) {
	p := b.m.process(c.Process)
	b.from = append(b.from, p)
	b.Consumes = append(b.Consumes, commit.Consume{Process: c.Process, Entry: c.Entry, Takes: len(c.Keys) > 0 || !c.Due.IsZero()})
	for _, k := range c.Keys {
		start := len(b.buf)
		b.buf = record.AppendMessageKey(b.buf, c.Process, &c.Entry, k)
		op := b.op(b.cut(start), nil)
		b.Replaces = append(b.Replaces, op)
	}
	if !c.Due.IsZero() {
		start := len(b.buf)
		b.buf = record.AppendTimerKey(b.buf, &Timer{Due: c.Due, Process: c.Process, Entry: c.Entry})
		b.op(b.cut(start), nil)
	}
}

func (b *builder) put(i int) {
	m := &b.tx.Put[i]
	if m.Queue.Node == b.m.node {
		b.putLocal(m)
	} else {
		b.putRemote(i, m)
	}
}

func (b *builder) putLocal(m *message.Message) {
	entry := m.Entry()
	start := len(b.buf)
	b.buf = record.AppendMessageKey(b.buf, m.Queue.Process, &entry, m.Key())
	key := b.cut(start)
	start = len(b.buf)
	b.buf = record.Begin(b.buf)
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
	op := b.sealed(key, b.cut(start))
	b.name(staged, op)
	b.Replaces = append(b.Replaces, op)
	if m.Kind == message.KindMarker {
		b.leaveMark(m)
	}
	b.Puts = append(b.Puts, commit.Put{Process: m.Queue.Process, Entry: entry, Marker: m.Kind == message.KindMarker})
	b.local = append(b.local, b.countPut(localPut{process: b.m.process(m.Queue.Process), message: m}, entry))
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
		b.now = b.m.sched.Now()
	}
	to := b.m.Transmission(m.Queue.Node)
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
func (b *builder) beginItem(to *Transmission, lane message.Lane) (key []byte, start int) {
	start = len(b.buf)
	b.buf = record.AppendItemKey(b.buf, to.peer, lane, 0)
	key = b.cut(start)
	start = len(b.buf)
	b.buf = record.Begin(b.buf)
	var fixed [record.ItemFixed]byte
	binary.BigEndian.PutUint64(fixed[record.ItemFixed-8:], uint64(b.now.UnixNano()))
	b.buf = append(b.buf, fixed[:]...)
	return key, start
}

// item adds an item that carries a whole small message, which encode appends.
func (b *builder) item(to *Transmission, lane message.Lane, put int, first bool, encode func() bool) {
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
		Peer: to.peer, Lane: lane, Op: b.op(key, value), Staged: -1, Payload: value[payload : len(value)-record.CRCSize],
	})
}

// largeItem adds an item whose payload is staged.
func (b *builder) largeItem(to *Transmission, lane message.Lane, put int, first bool, payload []byte) {
	staged := b.stageBody(payload)
	key, start := b.beginItem(to, lane)
	b.buf = record.End(record.AppendRef(append(b.buf, record.PlaceStaged), b.Staged[staged].Ref))
	op := b.op(key, b.cut(start))
	b.name(staged, op)
	b.sent = append(b.sent, itemPut{put, first})
	b.Items = append(b.Items, commit.Item{Peer: to.peer, Lane: lane, Op: op, Staged: staged, Payload: payload})
}

// stageBody adds body's chunks to what is written before the transaction, and a record
// that says that nothing names them yet. It gives the index in staged.
func (b *builder) stageBody(body []byte) int {
	ref := record.BodyRef{ID: b.m.nextBody.Add(1), Size: len(body), Count: (len(body) + record.ChunkSize - 1) / record.ChunkSize}
	key := record.AppendStagedKey(nil, ref.ID)
	b.Stage = append(b.Stage, store.Op{Key: key, Value: record.New(key, record.StagedContent(false, ref, nil)...)})
	index := 0
	for part := range slices.Chunk(body, record.ChunkSize) {
		key := record.AppendChunkKey(nil, ref.ID, index)
		b.Stage = append(b.Stage, store.Op{Key: key, Value: record.New(key, part...)})
		index++
	}
	b.Staged = append(b.Staged, commit.Staged{Ref: ref, Op: -1, Owner: -1})
	return len(b.Staged) - 1
}

// name adds the record that says which record names the body, so that it is found
// when that record goes. Where staged is -1 there is none.
func (b *builder) name(staged, owner int) {
	if staged < 0 {
		return
	}
	s := &b.Staged[staged]
	key := record.AppendStagedKey(nil, s.Ref.ID)
	s.Owner, s.Kept = owner, true
	s.Op = b.op(key, record.New(key, record.StagedContent(true, s.Ref, b.Ops[owner].Key)...))
}

// dropReplaced drops the staged body of a record that a later one of this very
// transaction replaces.
func (b *builder) dropReplaced() {
	if len(b.Staged) == 0 {
		return
	}
	last := make(map[string]int, len(b.Replaces))
	for _, op := range b.Replaces {
		last[string(b.Ops[op].Key)] = op
	}
	for i := range b.Staged {
		s := &b.Staged[i]
		if !s.Kept {
			continue
		}
		if op, replaceable := last[string(b.Ops[s.Owner].Key)]; replaceable && op != s.Owner {
			s.Kept = false
			b.Ops = record.RemoveStaged(b.Ops, s.Ref)
		}
	}
}

func (b *builder) timer(t *Timer) {
	start := len(b.buf)
	b.buf = record.AppendTimerKey(b.buf, t)
	key := b.cut(start)
	start = len(b.buf)
	b.buf = record.End(record.Begin(b.buf))
	b.sealed(key, b.cut(start))
}

func (b *builder) table(t *TableRecord) {
	b.Tables = append(b.Tables, commit.Table{Process: t.Process, Definition: t.Definition})
	b.m.durable.Lock()
	bound, known := b.m.durable.tables[t.Process]
	b.m.durable.Unlock()
	if known && bound == t.Definition {
		return // nothing changes
	}
	start := len(b.buf)
	b.buf = record.AppendProcess(b.buf, record.ClassTable, t.Process)
	key := b.cut(start)
	value := append(record.Begin(nil), t.Definition[:]...)
	b.Replaces = append(b.Replaces, b.large(key, value, t.Encoded))
}

// large adds a record of head and body, which is staged if it has to be.
func (b *builder) large(key, head, body []byte) (op int) {
	if len(body) <= b.inline {
		return b.sealed(key, record.End(append(append(head, record.PlaceInline), body...)))
	}
	staged := b.stageBody(body)
	op = b.sealed(key, record.End(record.AppendRef(append(head, record.PlaceStaged), b.Staged[staged].Ref)))
	b.name(staged, op)
	return op
}

func (b *builder) audit(i int) {
	a := &b.tx.Audit[i]
	if err := record.ValidateAudit(a); err != nil {
		b.fail(err)
		return
	}
	key, history := b.auditKey(a)
	start := len(b.buf)
	b.buf = record.Begin(b.buf)
	staged := -1
	if len(a.Output) > b.inline {
		staged = b.stageBody(a.Output)
		b.buf = record.AppendRef(append(b.buf, record.PlaceStaged), b.Staged[staged].Ref)
	} else {
		b.buf = append(b.buf, record.PlaceInline)
	}
	b.buf = record.AppendAudit(b.buf, a, staged < 0)
	for i := range a.Sent {
		b.buf = binary.BigEndian.AppendUint64(b.buf, a.Sent[i].Number) // of what was put here, from the committer
	}
	b.buf = record.End(b.buf)
	op := b.op(key, b.cut(start))
	if staged >= 0 { // named for ever: nothing is kept that open would have to read
		b.Staged[staged].Op = b.op(record.AppendStagedKey(nil, b.Staged[staged].Ref.ID), nil)
	}
	b.linkSent(i)
	b.Audits = append(b.Audits, commit.Audit{Op: op, History: history, Sent: len(a.Sent)})
	if a.Event == EventStarted {
		start := len(b.buf)
		b.buf = record.AppendStartKey(b.buf, a.Time, a.Instance)
		key := b.cut(start)
		start = len(b.buf)
		b.buf = record.End(record.Begin(b.buf))
		b.sealed(key, b.cut(start))
	}
}

// auditKey says where an audit record lies: at its entry's or instance's end where it
// is one, else in the history.
func (b *builder) auditKey(a *AuditRecord) (key []byte, history bool) {
	start := len(b.buf)
	entry := message.Entry{Instance: a.Instance, Scope: a.Scope, Activity: a.Activity}
	which, ends := record.EndOf(a)
	switch {
	case which != 0:
		b.buf = record.AppendInstanceKey(b.buf, a.Instance, which)
	case ends:
		b.buf = record.AppendEndKey(b.buf, &entry)
	default:
		b.buf = append(append(b.buf, record.ClassHistory), a.Instance[:]...)
		b.buf = binary.BigEndian.AppendUint64(b.buf, a.Clock)
		b.buf = append(b.buf, make([]byte, 12)...) // commit and index, from the committer
		history = true
	}
	return b.cut(start), history
}

// linkSent finds the items that an audit record's Sent are about.
func (b *builder) linkSent(i int) {
	a := &b.tx.Audit[i]
	at := 0
	for s := range a.Sent {
		if a.Sent[s].Node == b.m.node || a.Sent[s].Node == "" {
			continue
		}
		for range b.Items {
			if at >= len(b.Items) {
				at = 0
			}
			item := b.sent[at]
			at++
			if item.first && sentAs(a, &a.Sent[s], &b.tx.Put[item.put].Header) {
				b.Links = append(b.Links, commit.Link{Audit: len(b.Audits), Sent: s, Item: at - 1})
				break
			}
		}
	}
}

func sentAs(a *AuditRecord, s *Sent, h *message.Header) bool {
	return h.Activity == s.Target && h.Source == a.Activity && h.Queue.Node == s.Node &&
		h.Instance == a.Instance && h.Scope == a.Scope && h.Lane == s.Lane
}
