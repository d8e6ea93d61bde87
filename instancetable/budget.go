package instancetable

import "sync/atomic"

// Budget is what all tables of a node may take together, in bytes. A table that adds
// an entry while it is spent evicts entries of its own, down to one. It is safe for
// concurrent use; nil is without bounds.
type Budget struct {
	limit int64
	used  atomic.Int64
}

// NewBudget makes a budget of so many bytes.
func NewBudget(bytes int) *Budget { return &Budget{limit: int64(bytes)} }

func (b *Budget) full() bool { return b != nil && b.used.Load() > b.limit }
