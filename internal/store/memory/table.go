package memory

import (
	"bytes"
	"cmp"
	"slices"

	"fmqm/internal/store"
)

// record is a key and its value. Neither is ever changed.
type record struct{ key, value []byte }

// table is an ordered map that is never changed: with gives another one, which shares what
// it did not change. Blocks are not empty.
type table struct{ blocks [][]record }

// blockSize is how many records a block has at most.
const blockSize = 64

// with gives the table after the changes of a batch; of two of one key the later one holds.
func (t *table) with(b *store.Batch) *table {
	changes := make([]record, 0, len(b.Ops))
	for i := range b.Ops {
		op := &b.Ops[i]
		change := record{key: bytes.Clone(op.Key)}
		if op.Value != nil {
			change.value = append([]byte{}, op.Value...)
		}
		changes = append(changes, change)
	}
	slices.SortStableFunc(changes, func(a, b record) int { return bytes.Compare(a.key, b.key) })
	changes = lastOfEach(changes)

	next := &table{blocks: make([][]record, 0, len(t.blocks)+1)}
	for i, block := range t.blocks {
		mine := len(changes)
		if i+1 < len(t.blocks) {
			mine, _ = find(changes, t.blocks[i+1][0].key)
		}
		next.add(block, changes[:mine])
		changes = changes[mine:]
	}
	next.add(nil, changes)
	return next
}

// lastOfEach leaves the last change of each key.
func lastOfEach(changes []record) []record {
	kept := changes[:0]
	for i := range changes {
		if i+1 == len(changes) || !bytes.Equal(changes[i].key, changes[i+1].key) {
			kept = append(kept, changes[i])
		}
	}
	return kept
}

// add appends a block with changes made to it.
func (t *table) add(block, changes []record) {
	if len(changes) == 0 {
		if len(block) > 0 {
			t.blocks = append(t.blocks, block)
		}
		return
	}
	merged := make([]record, 0, len(block)+len(changes))
	for _, c := range changes {
		at, there := find(block, c.key)
		merged = append(merged, block[:at]...)
		if c.value != nil {
			merged = append(merged, c)
		}
		if there {
			at++
		}
		block = block[at:]
	}
	merged = append(merged, block...)
	for len(merged) > blockSize {
		half := min(blockSize, len(merged)/2)
		t.blocks = append(t.blocks, merged[:half:half])
		merged = merged[half:]
	}
	if len(merged) > 0 {
		t.blocks = append(t.blocks, merged)
	}
}

// find gives where key is, or would be.
func find(records []record, key []byte) (at int, there bool) {
	return slices.BinarySearchFunc(records, key, func(r record, key []byte) int { return bytes.Compare(r.key, key) })
}

// seek gives the place of the first record whose key is key or behind it.
func (t *table) seek(key []byte) (block, at int) {
	block, there := slices.BinarySearchFunc(t.blocks, key, func(b []record, key []byte) int { return bytes.Compare(b[0].key, key) })
	if there {
		return block, 0
	}
	if block == 0 {
		return 0, 0
	}
	at, _ = find(t.blocks[block-1], key)
	if at == len(t.blocks[block-1]) {
		return block, 0
	}
	return block - 1, at
}

// get gives the value of a key.
func (t *table) get(key []byte) ([]byte, bool) {
	block, at := t.seek(key)
	if block == len(t.blocks) {
		return nil, false
	}
	if r := t.blocks[block][at]; bytes.Equal(r.key, key) {
		return r.value, true
	}
	return nil, false
}

// scan is store.Reader's.
func (t *table) scan(o store.ScanOptions, visit func(key, value []byte) bool) {
	show := func(r record) bool {
		if !bytes.HasPrefix(r.key, o.Prefix) {
			return false
		}
		if o.KeysOnly {
			return visit(r.key, nil)
		}
		return visit(r.key, r.value)
	}
	if o.Reverse {
		t.backwards(o, show)
		return
	}
	first := o.Prefix
	if bytes.Compare(o.From, first) > 0 {
		first = o.From
	}
	block, at := t.seek(first)
	for ; block < len(t.blocks); block, at = block+1, 0 {
		for _, r := range t.blocks[block][at:] {
			if !show(r) {
				return
			}
		}
	}
}

// backwards shows the records from the last one that is to be shown on, until show gives false.
func (t *table) backwards(o store.ScanOptions, show func(record) bool) {
	block, at := len(t.blocks), 0 // behind the last to be shown
	if end := store.After(o.Prefix); end != nil {
		block, at = t.seek(end)
	}
	if o.From != nil {
		b, a := t.seek(append(bytes.Clone(o.From), 0))
		if c := cmp.Or(cmp.Compare(b, block), cmp.Compare(a, at)); c < 0 {
			block, at = b, a
		}
	}
	for {
		if at == 0 {
			if block == 0 {
				return
			}
			block--
			at = len(t.blocks[block])
		}
		at--
		if !show(t.blocks[block][at]) {
			return
		}
	}
}
