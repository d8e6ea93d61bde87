package badger

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"

	"fmqm/internal/failpoint"
	"fmqm/internal/store"
	"fmqm/internal/task"
)

const (
	memTableSize = 16 << 20
	// valueLimit is Badger's threshold: values stay strictly below it.
	valueLimit = 1 << 20
	// maxValue is the largest value that a commit takes.
	maxValue = valueLimit - 1
	keyLimit = 60_000
	// opOverhead is what a change costs beside its key and value: the version, the two
	// metas, and a node of the memtable's skip list, by which Badger limits the count.
	opOverhead = 12 + 120
	// margin is kept free for the engine's own record.
	margin = 4 << 10
	// versionLimit: Badger keeps the highest versions for itself.
	versionLimit = 1 << 60
)

// ownKey holds the number of the last commit, 8 bytes, and the store's mask, 8 more: none
// in a store of format 1. Keys that begin with 0 are the engine's.
var ownKey = []byte{0, 'n'}

// Options says how to open an engine.
type Options struct {
	// Dir is the engine's own directory; it is made if it is missing.
	Dir string
	// InMemory keeps everything in memory; for tests. Dir must be empty.
	InMemory bool
	// Space are the marks of free space (S3); zero: none.
	Space Space
	// ScrubPause is how long the scrubber, which reads all tables at 8 MiB a second,
	// rests between two passes; an hour if 0.
	ScrubPause time.Duration

	step func() // for tests: called between two changes on disk of an open
}

// Engine is a store.Engine on Badger. Reads are safe for concurrent use, also with a
// Commit; Commit calls must not overlap.
type Engine struct {
	db       *badger.DB
	maxBatch int64
	last     atomic.Uint64
	mask     mask
	own      [16]byte // value of ownKey, of the one commit under way
	masked   []byte   // values of that commit

	mu      sync.Mutex
	reads   map[uint64]int // how many read at a version
	closed  bool
	idle    sync.Cond // signalled when a read ends
	running int
	failed  error // the first error of a write

	side     *sideFile // nil in memory, as are private, follower, guard and scrubber
	private  *privacy
	exposed  string
	follower *follower
	guard    *guard
	scrubber *scrubber

	flattening   atomic.Pointer[flattening]
	compactPause time.Duration             // see compactPause
	readPause    time.Duration             // how long a scrub waits for reads of what was there before
	flattened    func()                    // for tests: called behind a step of it
	opened       atomic.Pointer[badger.DB] // db, for Badger's own goroutines
	released     chan struct{}             // never closed: where a compaction that must not go on waits
	closing      chan struct{}             // closed by Close
	broken       chan struct{}             // closed with the first error of a write
	failures     chan error
	end          task.Ending
}

// Open opens the store in o.Dir, making it where it is missing, and holds the
// directory locked until Close. Before the engine opens, all its files are read (S1):
// of a store that is damaged nothing is opened or changed, and the error, an
// ErrDamaged, says what to do. Below the second mark of free space the error is a
// store.ErrNoSpace.
func Open(o Options) (*Engine, error) {
	e := &Engine{
		reads: map[uint64]int{}, broken: make(chan struct{}), released: make(chan struct{}),
		failures: make(chan error, 1), closing: make(chan struct{}), compactPause: compactPause, readPause: compactFlush,
	}
	e.idle.L = &e.mu
	if o.InMemory {
		if err := e.openEngine(o); err != nil {
			return nil, fmt.Errorf("open store: %w", err)
		}
		return e, nil
	}
	if o.Dir == "" {
		return nil, errors.New("open store: no directory given")
	}
	if err := e.open(o); err != nil {
		if e.side != nil {
			err = errors.Join(err, e.side.close())
		}
		if errors.Is(err, fs.ErrPermission) {
			err = fmt.Errorf("%w: let the user that runs the daemon own that directory and all files in it", err)
		}
		return nil, fmt.Errorf("open store %s: %w", o.Dir, err)
	}
	return e, nil
}

// open opens a store on disk.
func (e *Engine) open(o Options) error {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	var err error
	if e.side, err = openSide(o.Dir); err != nil {
		return err
	}
	e.private = &privacy{dir: o.Dir}
	if e.exposed, err = e.private.open(); err != nil {
		return err
	}
	written, err := e.side.read()
	if err != nil {
		return err
	}
	found, err := inspect(o.Dir, written)
	if err != nil {
		return err
	}
	if e.guard, err = newGuard(o.Dir, o.Space); err != nil {
		return err
	}
	found.step = o.step
	if err := found.prepare(); err != nil {
		return err
	}
	found.pass()
	if err := e.openEngine(o); err != nil {
		return err
	}
	found.pass()
	failpoint.Hit("store.opened")
	if last := e.Last(); last != found.last {
		return errors.Join(damagedf("its files reach commit %d, but the engine reads only up to commit %d", found.last, last), hide(e.db.Close()))
	}
	e.follower = follow(e.side, written, e.Last, e.private.again, func(err error) { _ = e.fail(err) })
	if err := e.follower.write(); err != nil {
		e.follower.stop()
		return errors.Join(err, hide(e.db.Close()))
	}
	found.pass()
	e.private.again()
	go e.guard.watch(e.private.again, e.announce)
	e.scrubber = scrub(e, o.ScrubPause)
	return nil
}

// openEngine opens Badger, and asks it for the last commit.
func (e *Engine) openEngine(o Options) error {
	db, err := badger.OpenManaged(settings(o).WithLogger(listener{e}))
	if err != nil {
		return hide(err)
	}
	e.db, e.maxBatch = db, db.MaxBatchSize()-margin
	if !o.InMemory {
		e.opened.Store(db)
	}
	err = e.broke()
	if err == nil {
		err = e.findLast()
	}
	if err != nil {
		return errors.Join(err, hide(db.Close()))
	}
	return nil
}

func settings(o Options) badger.Options {
	return badger.DefaultOptions(o.Dir).
		WithInMemory(o.InMemory).
		WithMetricsEnabled(false).
		WithSyncWrites(true).
		WithDetectConflicts(false).
		WithNumVersionsToKeep(1).
		WithValueThreshold(valueLimit).
		WithValueLogFileSize(2 * valueLimit).
		WithMemTableSize(memTableSize).
		WithNumCompactors(2).
		WithCompression(options.None).
		WithBlockCacheSize(0).
		WithChecksumVerificationMode(options.OnTableAndBlockRead)
}

// findLast takes the higher of what Badger knows and what the last commit wrote, and the
// mask of the store, or draws the first one.
func (e *Engine) findLast() error {
	last := e.db.MaxVersion()
	own, err := e.readOwn()
	if err != nil {
		return fmt.Errorf("read the last commit's number: %w", err)
	}
	if len(own) >= 8 {
		last = max(last, binary.BigEndian.Uint64(own))
	}
	if len(own) == 16 {
		e.mask = mask(binary.LittleEndian.Uint64(own[8:]))
	} else {
		e.mask = newMask()
	}
	e.last.Store(last)
	e.db.SetDiscardTs(last) // compactions would keep every version until the first commit
	return nil
}

// readOwn reads the engine's own record; nil if there is none.
func (e *Engine) readOwn() ([]byte, error) {
	txn := e.db.NewTransactionAt(versionLimit, false)
	defer txn.Discard()
	item, err := txn.Get(ownKey)
	if errors.Is(err, badger.ErrKeyNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, hide(err)
	}
	own, err := item.ValueCopy(nil)
	if err != nil {
		return nil, hide(err)
	}
	if len(own) != 8 && len(own) != 16 {
		return nil, errors.New("it is damaged: restore the data directory from a backup")
	}
	return own, nil
}

// Exposed says what of the directory could be read by others when it was opened, and
// whether that is over; empty: nothing.
func (e *Engine) Exposed() string { return e.exposed }

// Last implements store.Engine.
func (e *Engine) Last() uint64 { return e.last.Load() }

// MaxBatch implements store.Engine.
func (e *Engine) MaxBatch() int64 { return e.maxBatch }

// Bounds implements store.Engine.
func (e *Engine) Bounds() store.Bounds {
	return store.Bounds{Key: keyLimit, Value: maxValue, Batch: e.maxBatch}
}

// Size implements store.Engine.
func (e *Engine) Size(b *store.Batch) int64 {
	var n int64
	for i := range b.Ops {
		n += int64(len(b.Ops[i].Key)+len(b.Ops[i].Value)) + opOverhead
	}
	return n
}

// Commit implements store.Engine.
func (e *Engine) Commit(version uint64, b *store.Batch) error {
	if err := e.check(version, b); err != nil {
		return fmt.Errorf("commit %d: %w", version, err)
	}
	if err := e.enter(); err != nil {
		return fmt.Errorf("commit %d: %w", version, err)
	}
	defer e.leave()
	if e.guard != nil {
		if err := e.guard.look(); err != nil {
			return fmt.Errorf("commit %d: %w", version, err)
		}
	}
	if err := e.write(version, b); err != nil {
		return e.fail(fmt.Errorf("commit %d: %w", version, hide(err)))
	}
	e.last.Store(version)
	if e.follower != nil {
		e.follower.committed()
	}
	e.db.SetDiscardTs(e.oldestRead())
	return nil
}

// check refuses, before anything is written, what Badger would refuse in the middle.
func (e *Engine) check(version uint64, b *store.Batch) error {
	if last := e.last.Load(); version != last+1 {
		return fmt.Errorf("out of order: the last commit is %d", last)
	}
	return e.Bounds().Check(b, e.Size(b))
}

func (e *Engine) write(version uint64, b *store.Batch) error {
	txn := e.db.NewTransactionAt(version-1, true)
	defer txn.Discard()
	entries := make([]badger.Entry, len(b.Ops)+1)
	size := 0
	for i := range b.Ops {
		size += len(b.Ops[i].Value)
	}
	masked := slices.Grow(e.masked[:0], size) // so that none of them is moved
	for i := range b.Ops {
		op := &b.Ops[i]
		var err error
		if op.Value == nil {
			err = txn.Delete(op.Key)
		} else {
			start := len(masked)
			masked = e.mask.apply(masked, op.Value)
			entries[i].Key, entries[i].Value, entries[i].UserMeta = op.Key, masked[start:len(masked):len(masked)], metaMasked
			err = txn.SetEntry(&entries[i])
		}
		if err != nil {
			return err
		}
	}
	e.masked = masked
	binary.BigEndian.PutUint64(e.own[:], version)
	binary.LittleEndian.PutUint64(e.own[8:], uint64(e.mask))
	own := &entries[len(b.Ops)]
	own.Key, own.Value = ownKey, e.own[:]
	if err := txn.SetEntry(own); err != nil {
		return err
	}
	return txn.CommitAt(version, nil)
}

// enter counts something under way that Close has to wait for.
func (e *Engine) enter() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.closed:
		return store.ErrClosed
	case errors.Is(e.failed, ErrDamaged):
		return e.failed
	case e.failed != nil:
		return fmt.Errorf("an earlier commit failed: %w", e.failed)
	}
	e.running++
	return nil
}

func (e *Engine) leave() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.running--; e.running == 0 {
		e.idle.Broadcast()
	}
}

// read runs f at the last commit, whose versions are not discarded meanwhile.
func (e *Engine) read(f func(*badger.Txn) error) error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return store.ErrClosed
	}
	version := e.last.Load()
	e.running++
	e.reads[version]++
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		if e.reads[version]--; e.reads[version] == 0 {
			delete(e.reads, version)
		}
		e.mu.Unlock()
		e.leave()
	}()
	return e.view(version, f)
}

// view runs f at a version. Where Badger met a block that it could not read, which it
// does not say, the error is an ErrDamaged.
func (e *Engine) view(version uint64, f func(*badger.Txn) error) (err error) {
	before := mismatches.Load()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // a sector that cannot be read
	defer func() {
		if r := recover(); r != nil {
			if err = e.Doubt(); err == nil {
				panic(r) // of the caller's own
			}
		}
	}()
	txn := e.db.NewTransactionAt(version, false)
	defer txn.Discard()
	err = f(txn)
	if mismatches.Load() != before {
		return e.suspect()
	}
	if errors.Is(err, ErrDamaged) {
		return e.fail(err)
	}
	return err
}

// oldestRead is the version up to which nobody reads older ones.
func (e *Engine) oldestRead() uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	oldest := e.last.Load()
	for version := range e.reads {
		oldest = min(oldest, version)
	}
	return oldest
}

// Close implements store.Engine. Each call returns when all is closed, with the same
// error. After a write error the files are left as they are, for the next open to read:
// what Badger has in memory may have only a part of the commit that failed.
func (e *Engine) Close() error {
	return e.end.Do(context.Background(), task.Goroutines{}, func(context.Context) error { return e.close() })
}

func (e *Engine) close() error {
	e.mu.Lock()
	e.closed = true
	close(e.closing)
	for e.running > 0 && (e.failed == nil || e.side == nil) {
		e.idle.Wait() // what runs on a disk that failed may never end
	}
	e.mu.Unlock()
	if e.side == nil {
		return e.closeEngine()
	}
	e.scrubber.stop()
	e.guard.stop()
	e.follower.stop()
	err := e.broke()
	if err == nil {
		err = e.follower.write()
	}
	failpoint.Hit("store.closing")
	if err == nil {
		err = e.closeEngine()
	}
	e.private.again()
	failpoint.Hit("store.closed")
	return errors.Join(err, e.side.close())
}

// closeEngine closes Badger, unless it fails to write what it has in memory: it would
// try again for ever.
func (e *Engine) closeEngine() error {
	closed := make(chan error, 1)
	go func() { closed <- e.db.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			return fmt.Errorf("close store: %w", hide(err))
		}
		return nil
	case <-e.broken:
		return fmt.Errorf("close store: %w", e.broke())
	}
}
