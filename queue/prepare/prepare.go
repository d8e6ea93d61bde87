package prepare

import (
	"fmt"
	"sync/atomic"
	"time"

	"fmqm/internal/store/change"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/commit"
	"fmqm/queue/record"
)

const (
	// inlineSize is the largest part of a record that is not staged, in bytes (S2).
	inlineSize = 32 << 10
	// SmallInline is the same in a transaction that would be too large otherwise: what
	// is staged in its place costs the transaction less from here on.
	SmallInline = 256
)

// Preparer makes the transactions of one store ready. It may be used by several goroutines at
// a time; what it is made of is set before.
type Preparer struct {
	Node     processtable.NodeID                                              // whose store it is
	MaxBatch int64                                                            // what the engine commits at once, in bytes as Size reckons
	Size     func(*change.Batch) int64                                        // adds up
	Now      func() time.Time                                                 // when items were put; asked once for a transaction that has any
	Bound    func(processtable.ProcessID) (processtable.DefinitionHash, bool) // what a process is bound to on disk
	// Standing reads, by the start of an instance that is on disk, where it stands in the index of instances; false: it was not
	// started here. It is asked once for each that ends, and for each notice of an error.
	Standing func(message.InstanceID) (record.Standing, bool, error)

	// The highest number that was given, of staged bodies, of refused messages and of those that
	// wait for a table.
	Bodies, Refused, Parked atomic.Uint64
}

// Changes are a transaction made ready: what the committer has to know of it, and what follows
// from it for those who count.
type Changes struct {
	commit.Work
	Tx      *record.Tx
	Local   []Local // of Puts
	Charges []record.Charge
	// Recreated: it notes that this store was made for a node that others knew by another one.
	Recreated bool

	sent []itemPut // of Items
	buf  []byte    // that keys and values are encoded into
}

// Local is a message for an entry of this node.
type Local struct {
	Message *message.Message
	Adds    bool // to the depth of its queue: it replaces nothing
	Sure    bool // that it does, unless messages come again
}

// itemPut is what an item carries.
type itemPut struct {
	put   int // of Tx.Put
	first bool
}

const (
	firstBuffer = 4 << 10
	// maxKeptBuffer bounds what Changes that are used again hold, in bytes: what a link accepts at
	// once, 512 KiB of items, fits.
	maxKeptBuffer = 1 << 20
	// From here on Changes hold more than most transactions need: of the buffer in bytes, and of operations.
	largeBuffer     = 64 << 10
	largeOperations = 128
)

// Large says whether c holds memory for a large transaction.
func (c *Changes) Large() bool { return cap(c.buf) > largeBuffer || cap(c.Ops) > largeOperations }

// Reset empties c for another transaction, which encodes into the same memory; its Ticket stays.
// It is false where that is more than is worth keeping.
func (c *Changes) Reset() bool {
	if cap(c.buf) > maxKeptBuffer {
		return false
	}
	clear(c.Ops)
	clear(c.Consumes)
	clear(c.Puts)
	clear(c.Items)
	clear(c.Local)
	*c = Changes{
		Work: commit.Work{
			Ticket: c.Ticket, Ops: c.Ops[:0], Replaces: c.Replaces[:0], Consumes: c.Consumes[:0], Puts: c.Puts[:0],
			Items: c.Items[:0], Audits: c.Audits[:0], Links: c.Links[:0],
		},
		Local: c.Local[:0], sent: c.sent[:0], buf: c.buf[:0],
	}
	return true
}

// Prepare makes the changes of tx in c, which is empty. Where many parts that are small enough
// to stay with their records are too much together, it begins again and stages them too. What is
// wrong with tx is c.Err: the committer refuses it in its turn.
func (p *Preparer) Prepare(c *Changes, tx *record.Tx) {
	p.build(c, tx, inlineSize)
	if c.Err != nil || c.Size <= p.MaxBatch {
		return
	}
	if !c.Reset() {
		*c = Changes{Work: commit.Work{Ticket: c.Ticket}}
	}
	p.build(c, tx, SmallInline)
}

func (p *Preparer) build(c *Changes, tx *record.Tx, inline int) {
	if c.buf == nil {
		c.buf = make([]byte, 0, firstBuffer)
	}
	c.Tx = tx
	b := builder{Changes: c, p: p, inline: inline}
	for i := range tx.Consume {
		b.consume(&tx.Consume[i])
	}
	for i := range tx.Put {
		b.put(i)
	}
	for i := range tx.Came {
		b.untimer(&tx.Came[i])
	}
	for i := range tx.Timers {
		b.timer(&tx.Timers[i])
	}
	for i := range tx.Audit {
		b.audit(i)
	}
	b.index()
	b.begins()
	for i := range tx.Tables {
		b.table(&tx.Tables[i])
	}
	for _, p := range tx.Current {
		b.current(p)
	}
	for i := range tx.Retire {
		b.retire(&tx.Retire[i])
	}
	b.Quiet = append(b.Quiet, tx.Quiet...)
	for i := range tx.Final {
		b.final(&tx.Final[i])
	}
	for i := range tx.Without {
		b.writeOff(&tx.Without[i])
	}
	for i := range tx.Remove {
		b.remove(&tx.Remove[i])
	}
	for i := range tx.Definitions {
		b.definition(&tx.Definitions[i])
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
	for i := range tx.Refuse {
		b.refuse(&tx.Refuse[i])
	}
	b.settle(tx.Settle)
	b.rebuild(tx.Rebuild)
	b.schedule(tx.Schedule)
	c.Ops = append(c.Ops, tx.Forget...)
	for i := range tx.Rewrite {
		b.rewrite(&tx.Rewrite[i])
	}
	b.erasing(tx.Erasing)
	b.dropReplaced()
	if c.Err == nil {
		c.Size = p.Size(&change.Batch{Ops: c.Ops})
		if inline == SmallInline && c.Size > commit.MaxLarge {
			c.Err = fmt.Errorf("%w: its records have %d bytes, and at most %d are allowed", commit.ErrTooLarge, c.Size, commit.MaxLarge)
		}
	}
}

// builder adds the operations of one transaction.
type builder struct {
	*Changes
	p      *Preparer
	inline int // the largest part of a record that is not staged
	now    time.Time

	started, ended []int // of Tx.Audit
	notices        []notice
}

func (b *builder) fail(err error) {
	if b.Err == nil {
		b.Err = fmt.Errorf("transaction refused: %w", err)
	}
}

// cut gives what was appended to buf since start, as a slice of its own.
func (b *builder) cut(start int) []byte { return b.buf[start:len(b.buf):len(b.buf)] }

func (b *builder) op(key, value []byte) int {
	b.Ops = append(b.Ops, change.Op{Key: key, Value: value})
	return len(b.Ops) - 1
}

// sealed adds a put of a record whose content is complete.
func (b *builder) sealed(key, value []byte) int {
	record.Seal(key, value)
	return b.op(key, value)
}

// empty adds a put of a record that has no content.
func (b *builder) empty(key []byte) {
	start := len(b.buf)
	b.buf = record.End(record.Begin(b.buf))
	b.sealed(key, b.cut(start))
}

func (b *builder) timer(t *record.Timer) {
	if t.Name != "" && !processtable.ValidActivity(t.Name) {
		b.fail(fmt.Errorf("timer %.80q of %s: this cannot be the name of a timer", t.Name, t.Entry.Activity))
		return
	}
	key := record.AppendTimerKey(nil, t)
	b.op(key, record.NewTimer(key, t))
}

func (b *builder) untimer(t *record.Timer) {
	start := len(b.buf)
	b.buf = record.AppendTimerKey(b.buf, t)
	b.op(b.cut(start), nil)
}

func (b *builder) table(t *record.TableRecord) {
	bound, known := b.p.Bound(t.Process)
	stores := !known || bound != t.Definition
	b.Tables = append(b.Tables, commit.Table{Process: t.Process, Definition: t.Definition, Stores: stores, Pending: stores && t.Pending})
	if !stores {
		return // nothing changes
	}
	start := len(b.buf)
	b.buf = record.AppendProcess(b.buf, record.ClassTable, t.Process)
	key := b.cut(start)
	value := append(record.Begin(nil), t.Definition[:]...)
	b.Replaces = append(b.Replaces, b.large(key, value, t.Encoded))
	if t.Pending {
		key := record.PendingKey(t.Process)
		b.op(key, record.New(key))
	}
}

// current removes the record that a version is pending.
func (b *builder) current(p processtable.ProcessID) {
	b.Current = append(b.Current, p)
	b.op(record.PendingKey(p), nil)
}

// retire notes what is said of a version.
func (b *builder) retire(r *record.Retirement) {
	if !processtable.ValidProcess(r.Process.Name) {
		b.fail(fmt.Errorf("retirement of %.80q: this cannot be the name of a process", r.Process.Name))
		return
	}
	b.Retired = append(b.Retired, *r)
	key, value := record.RetirementRecord(r)
	b.op(key, value)
}

// begins says of which processes the transaction begins instances: of a subprocess when it is put into its queue.
func (b *builder) begins() {
	for i := range b.Tx.Put {
		if m := &b.Tx.Put[i]; m.Kind == message.KindStart {
			b.Begins = append(b.Begins, m.Queue.Process)
		}
	}
	for i := range b.Tx.Audit {
		if a := &b.Tx.Audit[i]; a.Event == record.EventStarted && a.Parent == nil {
			b.Begins = append(b.Begins, a.Process)
		}
	}
}

// final notes a final word about a version.
func (b *builder) final(f *record.Final) {
	if !processtable.ValidProcess(f.Process.Name) || !processtable.ValidNode(string(f.Node)) {
		b.fail(fmt.Errorf("final word of %.80q about %.80q: these cannot be the names of a node and a process", f.Node, f.Process.Name))
		return
	}
	if f.Node == b.p.Node {
		b.Closes = append(b.Closes, f.Process)
	}
	b.Final = append(b.Final, *f)
	key, value := record.FinalRecord(f)
	b.op(key, value)
}

// writeOff notes that the table of a version goes here without a node, or that it does not.
func (b *builder) writeOff(o *record.WriteOff) {
	if !processtable.ValidProcess(o.Process.Name) || !processtable.ValidNode(string(o.Node)) {
		b.fail(fmt.Errorf("write off %.80q of %.80q: these cannot be the names of a node and a process", o.Node, o.Process.Name))
		return
	}
	b.Without = append(b.Without, *o)
	key, value := record.WriteOffRecord(o)
	b.op(key, value)
}

// remove removes the table of a version, with its text, and puts a tombstone in their place.
func (b *builder) remove(t *record.Tombstone) {
	bound, known := b.p.Bound(t.Process)
	if !known || bound != t.Definition {
		b.fail(fmt.Errorf("remove the table of %s: another definition is bound to it here, or none", t.Process))
		return
	}
	b.Removes = append(b.Removes, *t)
	start := len(b.buf)
	b.buf = record.AppendProcess(b.buf, record.ClassTable, t.Process)
	b.Replaces = append(b.Replaces, b.op(b.cut(start), nil))
	b.op(record.DefinitionKey(t.Process), nil)
	b.op(record.PendingKey(t.Process), nil)
	key, value := record.TombstoneRecord(t)
	b.op(key, value)
}

// definition keeps the text of a definition.
func (b *builder) definition(d *record.Definition) {
	if !processtable.ValidProcess(d.Process.Name) || len(d.Text) > record.MaxDefinition {
		b.fail(fmt.Errorf("text of %.80q: it has %d bytes, of %d, or this cannot be the name of a process", d.Process, len(d.Text), record.MaxDefinition))
		return
	}
	key, value := record.DefinitionRecord(d)
	b.op(key, value)
}

// rebuild adds the record of how far a rebuilding has come with the transaction.
func (b *builder) rebuild(r *record.Rebuild) {
	if r == nil {
		return
	}
	if !processtable.ValidNode(string(r.Peer)) {
		b.fail(fmt.Errorf("rebuild of %.80q: this cannot be the name of a node", r.Peer))
		return
	}
	key, value := record.RebuildRecord(r)
	b.op(key, value)
}

// erasing adds the record of how far the erasing of an instance has come with the transaction.
func (b *builder) erasing(e *record.Erasing) {
	if e == nil {
		return
	}
	if err := e.Members.Check(); err != nil {
		b.fail(fmt.Errorf("erase instance %s: %w", e.Instance, err))
		return
	}
	b.op(record.ErasingRecord(e))
}

// schedule adds the record of how far the schedules of a process have come with the transaction.
func (b *builder) schedule(s *record.Schedule) {
	if s == nil {
		return
	}
	if !processtable.ValidProcess(s.Process) {
		b.fail(fmt.Errorf("schedule of %.80q: this cannot be the name of a process", s.Process))
		return
	}
	key, value := record.ScheduleRecord(s)
	b.op(key, value)
}

func (b *builder) consume(c *record.Consume) {
	b.Consumes = append(b.Consumes, commit.Consume{Process: c.Process, Entry: c.Entry, Takes: len(c.Keys)+len(c.Timers) > 0})
	for _, k := range c.Keys {
		if record.IsNotice(&c.Entry, k.Kind) {
			b.notices = append(b.notices, notice{c.Entry.Instance, k, true})
		}
		start := len(b.buf)
		b.buf = record.AppendMessageKey(b.buf, c.Process, &c.Entry, k)
		op := b.op(b.cut(start), nil)
		b.Replaces = append(b.Replaces, op)
	}
	for _, t := range c.Timers {
		t.Process, t.Entry = c.Process, c.Entry
		b.untimer(&t)
	}
}
