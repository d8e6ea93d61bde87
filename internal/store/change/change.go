// Package change is what a commit of a store changes, as data: for those that say what is to
// be written, and cannot write.
package change

// Op is one change: a put, or a delete where Value is nil.
type Op struct {
	Key   []byte
	Value []byte
}

// Batch is what one commit changes; of two changes of one key the later one holds.
type Batch struct{ Ops []Op }

// Put adds a change of key to value. Neither may be altered until the commit returned.
func (b *Batch) Put(key, value []byte) { b.Ops = append(b.Ops, Op{Key: key, Value: value}) }

// Delete adds a removal of key; one that is not there is no error.
func (b *Batch) Delete(key []byte) { b.Ops = append(b.Ops, Op{Key: key}) }
