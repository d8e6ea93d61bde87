// Package store is the seam to the storage engine: an ordered map of keys to values
// with numbered, durable, all-or-nothing commits. Only the packages below this one
// import an engine; storetest is the one suite that every engine has to pass.
//
// What an Engine guarantees:
//
//   - Commit applies all of a batch or none of it, and returns only once it is on
//     disk (invariant 8). Commits come one at a time, with numbers that grow by one.
//   - What was committed is there after any crash of the process; the last commit
//     number is known at open (S1).
//   - Reads see every commit that has returned and none in part; they never wait for
//     a commit under way (managed mode), and may come from many goroutines.
//   - A value or key that would not fit is refused before anything is written.
//   - After a commit that failed while it was written, all later ones are refused. One
//     for which the disk has too little room is refused before it is written.
//
// Keys are not empty, and begin neither with 0 nor with '!': those are the engine's.
package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"fmqm/internal/store/change"
)

// Errors that engines return, wrapped.
var (
	ErrNotFound = errors.New("key not found")
	ErrTooLarge = errors.New("the transaction is too large for the store")
	ErrClosed   = errors.New("the store is closed")
	ErrNoSpace  = errors.New("too little free disk space")
)

// Op and Batch are what a commit changes.
type (
	Op    = change.Op
	Batch = change.Batch
)

// Bounds are what an engine takes, in bytes: of a key, of a value, and Size of a batch.
type Bounds struct {
	Key, Value int
	Batch      int64
}

// Check refuses, before anything is written, a batch that would fail in the middle. Its Size is size.
func (o Bounds) Check(b *Batch, size int64) error {
	if size > o.Batch {
		return fmt.Errorf("%w: it has %d bytes, and at most %d are allowed", ErrTooLarge, size, o.Batch)
	}
	return o.CheckOps(b.Ops)
}

// CheckOps refuses changes that no batch can have, for a key or a value of them.
func (o Bounds) CheckOps(ops []Op) error {
	for i := range ops {
		op := &ops[i]
		switch {
		case len(op.Key) == 0 || op.Key[0] == 0 || op.Key[0] == '!':
			return errors.New("a key is empty, or begins with 0 or '!', which engines keep for themselves")
		case len(op.Key) > o.Key:
			return fmt.Errorf("%w: a key has %d bytes, and at most %d are allowed", ErrTooLarge, len(op.Key), o.Key)
		case len(op.Value) > o.Value:
			return fmt.Errorf("%w: a value has %d bytes, and at most %d are allowed", ErrTooLarge, len(op.Value), o.Value)
		}
	}
	return nil
}

// Reader reads a store.
type Reader interface {
	// Get gives a copy of the value of key, or ErrNotFound.
	Get(key []byte) ([]byte, error)
	// Scan calls visit for each key with the prefix, from the first one >= from (or,
	// backwards, the last one <= from; a nil from means the end of the prefix), until
	// visit gives false. Key and value are valid during the call only.
	Scan(o ScanOptions, visit func(key, value []byte) bool) error
}

// Engine is a storage engine, opened on a directory that it holds locked.
type Engine interface {
	Reader
	// View calls read with a Reader of the store as it is now: no commit that returns
	// later shows there. The Reader is valid during the call only, which should be short:
	// what is removed meanwhile stays on disk.
	View(read func(Reader) error) error
	// Commit applies the batch durably as commit number version, which is Last() + 1.
	Commit(version uint64, b *Batch) error
	// Last is the number of the last commit.
	Last() uint64
	// MaxBatch is the limit for Size(batch) in bytes; a larger one is ErrTooLarge.
	MaxBatch() int64
	// Bounds are all that Commit goes by before it writes; MaxBatch is a part of them.
	Bounds() Bounds
	// Size reckons what a batch takes of MaxBatch, before anything is written. It adds
	// up: the size of two batches' changes in one is the sum of their sizes.
	Size(b *Batch) int64
	// Close waits for reads under way and closes the files.
	Close() error
}

// Doubter is an Engine whose files can rot under it.
type Doubter interface {
	// Doubt is for a caller that did not find what must be there: it reads all files
	// that were written long ago, and gives what is wrong with them, or nil. After an
	// error nothing more is committed.
	Doubt() error
}

// Compactor is an Engine whose files keep what was removed until they are rewritten.
type Compactor interface {
	// Compact rewrites files so that what was removed takes no room any more, slowly, while
	// commits and reads go on. It ends with ctx, whose error it gives then, or with Close. Where there
	// is no room for what it writes it ends with ErrNoSpace, and what it has not rewritten stays as it is.
	Compact(ctx context.Context) error
	// Buffered is how many bytes the newest commits have together that Compact may not
	// see: what they removed takes room for longer. ErrNoSpace: there would be no room for Compact
	// once as many more were written.
	Buffered() (int64, error)
}

// Scrubber is a Compactor that also takes what it leaves to itself where little is stored, and can tell whether it has met all.
type Scrubber interface {
	Compactor
	// Unmet is Buffered of a Scrub that is to meet all that is committed by now: how many bytes have to be committed first.
	Unmet() (int64, error)
	// Scrub is Compact. done: of what was replaced or removed before it was called, as far as that lay in tables
	// then, nothing is in the files any more; else it is to be called again, after Unmet.
	Scrub(ctx context.Context) (done bool, err error)
}

// ScanOptions says what to scan. KeysOnly spares reading values: visit gets nil. Few is for a prefix of which few keys
// are expected, of one instance for example: backwards, an engine may then look for all of them first.
type ScanOptions struct {
	Prefix   []byte
	From     []byte
	Reverse  bool
	KeysOnly bool
	Few      bool
}

// After gives the first key behind all that begin with prefix; nil: there is none.
func After(prefix []byte) []byte {
	next := bytes.Clone(prefix)
	for i := len(next) - 1; i >= 0; i-- {
		if next[i] != 0xff {
			next[i]++
			return next[:i+1]
		}
	}
	return nil
}
