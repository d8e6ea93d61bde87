package badger

import (
	"encoding/binary"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"

	"fmqm/internal/store"
)

// What the hardening costs: each benchmark runs on the Engine, and on Badger alone, with
// the same settings and nothing around it.

// benchEngine opens a store on a real disk.
func benchEngine(b *testing.B) *Engine {
	b.Helper()
	dir, err := os.MkdirTemp(diskDir, "fmqm-bench")
	if err != nil {
		b.Fatal(err)
	}
	e, err := Open(Options{Dir: dir, Space: Space{Free: 2 << 20, Stop: 1 << 20, Reserve: 1 << 20}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := e.Close(); err != nil {
			b.Error(err)
		}
		_ = os.RemoveAll(dir)
	})
	return e
}

func benchBare(b *testing.B) *badger.DB {
	b.Helper()
	dir, err := os.MkdirTemp(diskDir, "fmqm-bench")
	if err != nil {
		b.Fatal(err)
	}
	db, err := badger.OpenManaged(settings(Options{Dir: dir}).WithLogger(nil))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := db.Close(); err != nil {
			b.Error(err)
		}
		_ = os.RemoveAll(dir)
	})
	return db
}

// joined is a commit of so many transactions of two removals and three puts of 200 B.
func joined(number uint64, transactions int) *store.Batch {
	b := &store.Batch{}
	for tx := range transactions {
		for i := range 3 {
			key := fmt.Appendf(nil, "key %d %d", tx, (number+uint64(i))%64)
			value := make([]byte, 200)
			binary.BigEndian.PutUint64(value, number)
			b.Put(key, value)
		}
		for i := range 2 {
			b.Delete(fmt.Appendf(nil, "key %d %d", tx, (number+uint64(i)+32)%64))
		}
	}
	return b
}

// BenchmarkCommit commits to both in turn, so that what else the machine does meets both.
func BenchmarkCommit(b *testing.B) {
	for _, transactions := range []int{1, 64, 512} {
		b.Run(fmt.Sprintf("joined=%d", transactions), func(b *testing.B) {
			db, e := benchBare(b), benchEngine(b)
			var bare, hardened time.Duration
			for b.Loop() {
				number := e.Last() + 1
				batch := joined(number, transactions)
				begun := time.Now()
				if err := commitBare(db, number, batch); err != nil {
					b.Fatal(err)
				}
				bare += time.Since(begun)
				begun = time.Now()
				if err := e.Commit(number, batch); err != nil {
					b.Fatal(err)
				}
				hardened += time.Since(begun)
			}
			b.ReportMetric(float64(b.N*transactions)/bare.Seconds(), "bare-tx/s")
			b.ReportMetric(float64(b.N*transactions)/hardened.Seconds(), "hardened-tx/s")
			b.ReportMetric(100*bare.Seconds()/hardened.Seconds(), "%-of-bare")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func commitBare(db *badger.DB, number uint64, batch *store.Batch) error {
	txn := db.NewTransactionAt(number-1, true)
	defer txn.Discard()
	for i := range batch.Ops {
		op := &batch.Ops[i]
		var err error
		if op.Value == nil {
			err = txn.Delete(op.Key)
		} else {
			err = txn.Set(op.Key, op.Value)
		}
		if err != nil {
			return err
		}
	}
	if err := txn.CommitAt(number, nil); err != nil {
		return err
	}
	db.SetDiscardTs(number)
	return nil
}

// benchRead gives an engine whose records are in tables.
func benchRead(b *testing.B) *Engine {
	e := benchEngine(b)
	for n := range uint64(100) {
		if err := e.Commit(e.Last()+1, childBatch(n)); err != nil {
			b.Fatal(err)
		}
	}
	for n := range uint64(200) {
		if err := e.Commit(e.Last()+1, joined(n, 10)); err != nil {
			b.Fatal(err)
		}
	}
	return e
}

func BenchmarkGet(b *testing.B) {
	e := benchRead(b)
	key := childKey(11)
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			txn := e.db.NewTransactionAt(e.Last(), false)
			item, err := txn.Get(key)
			if err == nil {
				_, err = item.ValueCopy(nil)
			}
			txn.Discard()
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("hardened", func(b *testing.B) {
		for b.Loop() {
			if _, err := e.Get(key); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkScan browses 64 records.
func BenchmarkScan(b *testing.B) {
	e := benchRead(b)
	prefix := []byte("key 5 ")
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			txn := e.db.NewTransactionAt(e.Last(), false)
			o := badger.DefaultIteratorOptions
			o.PrefetchValues, o.Prefix = false, prefix
			it := txn.NewIterator(o)
			for it.Seek(prefix); it.ValidForPrefix(prefix); it.Next() {
				if err := it.Item().Value(func([]byte) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
			it.Close()
			txn.Discard()
		}
	})
	b.Run("hardened", func(b *testing.B) {
		for b.Loop() {
			if err := e.Scan(store.ScanOptions{Prefix: prefix}, func(_, _ []byte) bool { return true }); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkScanBackwards looks for the last of no records, and of one, above many that were removed and not compacted yet: going
// backwards the engine stops at the next that there is.
func BenchmarkScanBackwards(b *testing.B) {
	e, err := Open(Options{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	const removed = 10_000
	for _, value := range [][]byte{{1}, nil} {
		var batch store.Batch
		for i := range removed {
			if key := fmt.Appendf(nil, "a%d", i); value != nil {
				batch.Put(key, value)
			} else {
				batch.Delete(key)
			}
		}
		batch.Put([]byte("c"), []byte{1})
		if err := e.Commit(e.Last()+1, &batch); err != nil {
			b.Fatal(err)
		}
	}
	for _, prefix := range []string{"b", "c"} {
		for _, few := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/few=%t", prefix, few), func(b *testing.B) {
				for b.Loop() {
					if err := e.Scan(store.ScanOptions{Prefix: []byte(prefix), Reverse: true, Few: few}, func(_, _ []byte) bool { return false }); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkMask is what masking adds to a put, and to what is read.
func BenchmarkMask(b *testing.B) {
	m := newMask()
	for _, size := range []int{200, 32 << 10} {
		value, buf := make([]byte, size), []byte(nil)
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				buf = m.apply(buf[:0], value)
			}
		})
	}
}
