package instancetable

import "sync/atomic"

// Budget is what the tables of a node may hold together, beyond what is in execution.
// While it is spent, a table that adds an entry evicts entries of its own, but none of
// its share: it must not matter to it that the entries of another wait for days. The
// other is down to its share when it adds again; until then n of them together hold
// 1 + 1/2 + ... + 1/n of the budget at most: three times for 10, since each that comes
// takes its share. It is safe for concurrent use; nil is without bounds.
type Budget struct {
	entries, bytes         int64
	usedEntries, usedBytes atomic.Int64
	tables                 atomic.Int64 // that hold something of it
}

// NewBudget makes a budget of so many entries and bytes.
func NewBudget(entries, bytes int) *Budget {
	return &Budget{entries: int64(entries), bytes: int64(bytes)}
}

// full says whether a table that holds so much is to evict.
func (b *Budget) full(entries, bytes int) bool {
	if b == nil {
		return false
	}
	sharing := max(1, b.tables.Load())
	return b.usedEntries.Load() > b.entries && int64(entries) > b.entries/sharing ||
		b.usedBytes.Load() > b.bytes && int64(bytes) > b.bytes/sharing
}

// count notes that a table holds an entry of so many bytes (n is 1), or no more (-1),
// and now so many entries.
func (b *Budget) count(n, bytes, entries int) {
	if b == nil {
		return
	}
	b.usedEntries.Add(int64(n))
	b.usedBytes.Add(int64(n * bytes))
	if entries == max(0, n) { // its first came, or its last went
		b.tables.Add(int64(n))
	}
}
