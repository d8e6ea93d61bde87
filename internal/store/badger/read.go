package badger

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/dgraph-io/badger/v4"

	"fmqm/internal/store"
)

// Get implements store.Engine.
func (e *Engine) Get(key []byte) ([]byte, error) {
	if len(key) == 0 || key[0] == 0 {
		return nil, fmt.Errorf("get: %w", store.ErrNotFound)
	}
	var value []byte
	err := e.read(func(txn *badger.Txn) error {
		item, err := txn.Get(key)
		if err != nil {
			return err
		}
		return item.Value(func(stored []byte) (err error) {
			value, err = appendUnmasked(nil, item.UserMeta(), stored)
			return err
		})
	})
	switch {
	case err == nil:
		if value == nil {
			value = []byte{}
		}
		return value, nil
	case errors.Is(err, badger.ErrKeyNotFound):
		return nil, fmt.Errorf("get: %w", store.ErrNotFound)
	case errors.Is(err, store.ErrClosed), errors.Is(err, ErrDamaged):
		return nil, fmt.Errorf("get: %w", err)
	}
	return nil, fmt.Errorf("get: %w", hide(err))
}

// Scan implements store.Engine.
func (e *Engine) Scan(o store.ScanOptions, visit func(key, value []byte) bool) error {
	err := e.read(func(txn *badger.Txn) error {
		options := badger.DefaultIteratorOptions
		options.Reverse = o.Reverse
		options.PrefetchValues = false // all values lie in the tree: there is nothing to wait for
		if !o.Reverse {
			options.Prefix = o.Prefix // spares tables; backwards it would hide the end to seek from
		}
		it := txn.NewIterator(options)
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
			more, err := show(item, key, o.KeysOnly, &buf, visit)
			if err != nil || !more {
				return err
			}
		}
		return nil
	})
	if err != nil {
		if errors.Is(err, store.ErrClosed) || errors.Is(err, ErrDamaged) {
			return fmt.Errorf("scan: %w", err)
		}
		return fmt.Errorf("scan: %w", hide(err))
	}
	return nil
}

// show calls visit, with a value that lies in buf.
func show(item *badger.Item, key []byte, keysOnly bool, buf *[]byte, visit func(key, value []byte) bool) (bool, error) {
	if keysOnly {
		return visit(key, nil), nil
	}
	more := false
	err := item.Value(func(stored []byte) (err error) {
		if *buf, err = appendUnmasked((*buf)[:0], item.UserMeta(), stored); err == nil {
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
	end := after(o.Prefix)
	if o.From != nil && (end == nil || bytes.Compare(o.From, end) < 0) {
		it.Seek(o.From)
		return
	}
	it.Seek(end) // nil: the very last key
	if end != nil && it.Valid() && bytes.Equal(it.Item().Key(), end) {
		it.Next() // the end itself lies behind the prefix
	}
}

// after gives the first key behind all those with the prefix, or nil if none is.
func after(prefix []byte) []byte {
	end := bytes.Clone(prefix)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i] != 0xff {
			end[i]++
			return end[:i+1]
		}
	}
	return nil
}
