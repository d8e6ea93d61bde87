package instancetable

import (
	"unsafe"

	"fmqm/behaviour"
	"fmqm/message"
	"fmqm/processtable"
)

// Phase is how far an entry has come. The paper's states of an activity (§3.3) are
// seen through it: inactive has no entry; waiting; in execution is Ready and Running;
// executed is Settling; terminated has no entry any more.
type Phase uint8

const (
	Waiting  Phase = iota // for connectors, a pause or an operator
	Ready                 // start condition TRUE, waiting for a free place of its program
	Running               // an activity thread runs the program
	Settling              // a transaction of it is under way
)

// Entry is one activity of one instance.
type Entry struct {
	Key       message.Entry
	Behaviour behaviour.Behaviour
	State     behaviour.State
	Known     *behaviour.Basis // of State
	Phase     Phase
	// Result is the program's, once it ended and until the transaction is on disk: a
	// transaction that came too early is built again from it. An entry with one is pinned.
	Result *behaviour.Result
	// Newcomers came while a transaction was under way: they are folded once it is known
	// how that ended.
	Newcomers []message.Message
	// Program is what a Ready entry waits for a place of.
	Program processtable.ProgramID
	// Started: that its instance was started is known.
	Started bool
	// Suspends are those of its instance that are in force here (N29).
	Suspends []message.Marked

	older, newer *Entry // in the order of use
	listed       bool   // in that order; not while pinned
	bytes        int
}

// entryBytes is what an entry takes beside its state: itself, and its place in the table, whose
// map is about half full.
const entryBytes = int(unsafe.Sizeof(Entry{}) + 2*(unsafe.Sizeof(message.Entry{})+unsafe.Sizeof((*Entry)(nil))))

// NewEntry makes an entry without messages. It and its state are two objects: there are
// thousands of entries that wait for days, and what each costs is the objects that the
// garbage collector has to look at in every cycle.
func NewEntry(key message.Entry, b behaviour.Behaviour) *Entry {
	s := b.Empty(key)
	return &Entry{Key: key, Behaviour: b, State: s, Known: s.Known()}
}

// pinned: something of the entry is in memory only.
func (e *Entry) pinned() bool { return e.Phase != Waiting || e.Result != nil }

// Limits of the cache of entries that are not in execution. Shared, if not nil, bounds
// it together with those of the node's other process queues.
type Limits struct {
	Entries int
	Bytes   int
	Shared  *Budget
	Seed    uint64 // of a hash of what was evicted: who does not know it cannot choose what falls together
}

// Table holds entries by key.
type Table struct {
	limits  Limits
	entries map[message.Entry]*Entry
	of      map[message.InstanceID]int // how many of them an instance has
	unused  order
	bytes   int
	evicted *filter
	scanned bool
}

// New makes an empty table. Until Scanned is called, every entry may be in the store.
func New(limits Limits) *Table {
	return &Table{
		limits:  limits,
		entries: map[message.Entry]*Entry{},
		of:      map[message.InstanceID]int{},
		evicted: newFilter(minFilterBits, limits.Seed),
	}
}

// Len is the number of entries held.
func (t *Table) Len() int { return len(t.entries) }

// Unused is the number of those that may be evicted: the cache.
func (t *Table) Unused() int { return t.unused.len }

// Get finds an entry and marks it as used, or gives nil.
func (t *Table) Get(key message.Entry) *Entry {
	e := t.entries[key]
	if e != nil && e.listed {
		t.unused.remove(e)
		t.unused.add(e)
	}
	return e
}

// Add puts an entry that is not there yet. It may evict others.
func (t *Table) Add(e *Entry) {
	if t.entries[e.Key] != nil {
		return
	}
	t.entries[e.Key] = e
	t.of[e.Key.Instance]++
	t.settle(e)
}

// Remove forgets an entry whose messages are gone from the store.
func (t *Table) Remove(key message.Entry) {
	e := t.entries[key]
	if e == nil {
		return
	}
	t.unlist(e)
	t.drop(key)
}

func (t *Table) drop(key message.Entry) {
	delete(t.entries, key)
	if t.of[key.Instance]--; t.of[key.Instance] == 0 {
		delete(t.of, key.Instance)
	}
}

// Holds says whether any entry of an instance is held.
func (t *Table) Holds(i message.InstanceID) bool { return t.of[i] > 0 }

// SetPhase moves an entry on. Entries that are Ready, Running or Settling are pinned,
// and so are those with a Result.
func (t *Table) SetPhase(e *Entry, p Phase) {
	e.Phase = p
	t.unlist(e)
	t.settle(e)
}

// Touch takes account of what was folded into e.
func (t *Table) Touch(e *Entry) {
	t.unlist(e)
	t.settle(e)
}

// settle lists e among the unused if it is not pinned, and evicts over the limits.
func (t *Table) settle(e *Entry) {
	if e.pinned() {
		return
	}
	e.bytes = entryBytes + e.State.Bytes()
	t.unused.add(e)
	t.count(1, e.bytes)
	for t.unused.len > 1 && t.full() {
		t.Evict(t.unused.oldest)
	}
}

func (t *Table) unlist(e *Entry) {
	if !e.listed {
		return
	}
	t.unused.remove(e)
	t.count(-1, e.bytes)
}

// count notes that an entry was listed, or taken out (n is -1).
func (t *Table) count(n, bytes int) {
	t.bytes += n * bytes
	t.limits.Shared.count(n, bytes, t.unused.len)
}

func (t *Table) full() bool {
	return t.unused.len > t.limits.Entries || t.bytes > t.limits.Bytes || t.limits.Shared.full(t.unused.len, t.bytes)
}

// Evict drops an entry from memory; its messages are its durable form.
func (t *Table) Evict(e *Entry) {
	t.unlist(e)
	t.drop(e.Key)
	t.evicted.add(e.Key)
}

// Scanned says that the queue was browsed to its end: from now on only what was
// evicted can be in the store and not here.
func (t *Table) Scanned() { t.scanned = true }

// Crowded reports that so much was evicted that MayBeStored says yes too often: time
// to browse the queue again, from Rescan to Scanned.
func (t *Table) Crowded() bool { return t.scanned && t.evicted.crowded() }

// Rescan forgets what was evicted; until Scanned is called again every entry may be in
// the store. Entries that the browse finds are added, and evicted, as at open.
func (t *Table) Rescan() {
	t.scanned = false
	t.evicted = newFilter(t.evicted.grown(), t.limits.Seed)
}

// MayBeStored reports whether an entry that is not in the table may have messages in
// the store that were delivered before.
func (t *Table) MayBeStored(key message.Entry) bool {
	return !t.scanned || t.evicted.has(key)
}

// All calls visit for every entry, in no order, until it gives false.
func (t *Table) All(visit func(*Entry) bool) {
	for _, e := range t.entries {
		if !visit(e) {
			return
		}
	}
}
