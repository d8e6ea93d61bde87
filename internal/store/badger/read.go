package badger

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/dgraph-io/badger/v4"

	"fmqm/internal/store"
)

// Get implements store.Engine.
func (e *Engine) Get(key []byte) (value []byte, err error) {
	err = e.read(func(txn *badger.Txn) (err error) {
		value, err = reader{txn, e.mask}.get(key)
		return err
	})
	return value, ofGet(err)
}

// Scan implements store.Engine.
func (e *Engine) Scan(o store.ScanOptions, visit func(key, value []byte) bool) error {
	return ofScan(e.read(func(txn *badger.Txn) error { return reader{txn, e.mask}.scan(o, visit) }))
}

// View implements store.Engine.
func (e *Engine) View(read func(store.Reader) error) error {
	return e.read(func(txn *badger.Txn) error { return read(reader{txn, e.mask}) })
}

// reader reads at the version of its transaction.
type reader struct {
	txn  *badger.Txn
	mask mask
}

func (r reader) Get(key []byte) ([]byte, error) {
	value, err := r.get(key)
	return value, ofGet(err)
}

func (r reader) Scan(o store.ScanOptions, visit func(key, value []byte) bool) error {
	return ofScan(r.scan(o, visit))
}

func (r reader) get(key []byte) (value []byte, err error) {
	if len(key) == 0 || key[0] == 0 {
		return nil, badger.ErrKeyNotFound
	}
	item, err := r.txn.Get(key)
	if err != nil {
		return nil, err
	}
	err = item.Value(func(stored []byte) (err error) {
		value, err = r.mask.unmasked([]byte{}, item.UserMeta(), stored)
		return err
	})
	return value, err
}

// ofGet makes an error of a get fit for a caller.
func ofGet(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, badger.ErrKeyNotFound):
		return fmt.Errorf("get: %w", store.ErrNotFound)
	case errors.Is(err, store.ErrClosed), errors.Is(err, ErrDamaged):
		return fmt.Errorf("get: %w", err)
	}
	return fmt.Errorf("get: %w", hide(err))
}

func (r reader) scan(o store.ScanOptions, visit func(key, value []byte) bool) error {
	if o.Reverse && o.Few {
		if keys, all := r.few(o); all {
			return r.backwards(keys, o.KeysOnly, visit)
		}
	}
	options := badger.DefaultIteratorOptions
	options.Reverse = o.Reverse
	options.PrefetchValues = false // all values lie in the tree: there is nothing to wait for
	if !o.Reverse {
		options.Prefix = o.Prefix // spares tables; backwards it would hide the end to seek from
	}
	it := r.txn.NewIterator(options)
	defer it.Close()
	var buf []byte
	seek(it, o)
	for ; it.ValidForPrefix(o.Prefix); it.Next() {
		item := it.Item()
		key := item.Key()
		if key[0] == 0 {
			if o.Reverse {
				return nil
			}
			continue
		}
		more, err := r.show(item, key, o.KeysOnly, &buf, visit)
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// fewKeys is how many keys of a prefix are held in memory.
const fewKeys = 1000

// few finds the keys of a scan; all: there are no more. Going backwards the engine does not stop where a prefix begins: it
// looks for the key that comes before, over all that was removed there and not compacted yet, which takes a
// thousand times as long as to find one key.
func (r reader) few(o store.ScanOptions) (keys [][]byte, all bool) {
	options := badger.DefaultIteratorOptions
	options.PrefetchValues, options.Prefix = false, o.Prefix
	it := r.txn.NewIterator(options)
	defer it.Close()
	for it.Seek(o.Prefix); it.ValidForPrefix(o.Prefix); it.Next() {
		key := it.Item().Key()
		if o.From != nil && bytes.Compare(key, o.From) > 0 {
			break
		}
		if len(keys) == fewKeys {
			return nil, false
		}
		keys = append(keys, bytes.Clone(key))
	}
	return keys, true
}

// backwards shows keys from the last one.
func (r reader) backwards(keys [][]byte, keysOnly bool, visit func(key, value []byte) bool) error {
	for _, key := range slices.Backward(keys) {
		if key[0] == 0 {
			return nil
		}
		var value []byte
		if !keysOnly {
			var err error
			if value, err = r.get(key); err != nil {
				return err
			}
		}
		if !visit(key, value) {
			return nil
		}
	}
	return nil
}

// ofScan is ofGet of a scan.
func ofScan(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrClosed), errors.Is(err, ErrDamaged):
		return fmt.Errorf("scan: %w", err)
	}
	return fmt.Errorf("scan: %w", hide(err))
}

// show calls visit, with a value that lies in buf.
func (r reader) show(item *badger.Item, key []byte, keysOnly bool, buf *[]byte, visit func(key, value []byte) bool) (bool, error) {
	if keysOnly {
		return visit(key, nil), nil
	}
	more := false
	err := item.Value(func(stored []byte) (err error) {
		if *buf, err = r.mask.unmasked((*buf)[:0], item.UserMeta(), stored); err == nil {
			more = visit(key, *buf)
		}
		return err
	})
	return more, err
}

// seek goes to the first key to show.
func seek(it *badger.Iterator, o store.ScanOptions) {
	if !o.Reverse {
		if bytes.Compare(o.From, o.Prefix) > 0 {
			it.Seek(o.From)
		} else {
			it.Seek(o.Prefix)
		}
		return
	}
	end := store.After(o.Prefix)
	if o.From != nil && (end == nil || bytes.Compare(o.From, end) < 0) {
		it.Seek(o.From)
		return
	}
	it.Seek(end) // nil: the very last key
	if end != nil && it.Valid() && bytes.Equal(it.Item().Key(), end) {
		it.Next() // the end itself lies behind the prefix
	}
}
