package memory

import (
	"context"
	"fmt"

	"fmqm/internal/store"
	"fmqm/internal/task"
)

// Bounds, those of the engine on disk.
const (
	defaultMaxBatch = 2_500_000
	maxValue        = 1<<20 - 1024
	keyLimit        = 60_000
	opOverhead      = 12 + 120
)

// Engine is a store.Engine. Reads are safe for concurrent use, also with a Commit; Commit
// calls must not overlap.
type Engine struct {
	disk     *Disk
	by       task.Scheduler
	faults   Faults
	maxBatch int64
	overhead int64

	// Guarded by the disk's lock.
	seen   *table // by reads
	last   uint64
	closed bool
	failed error
}

// Last implements store.Engine.
func (e *Engine) Last() uint64 {
	e.disk.mu.Lock()
	defer e.disk.mu.Unlock()
	return e.last
}

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
		n += int64(len(b.Ops[i].Key)+len(b.Ops[i].Value)) + e.overhead
	}
	return n
}

// Commit implements store.Engine.
func (e *Engine) Commit(version uint64, b *store.Batch) error {
	if err := e.begin(version, b); err != nil {
		return fmt.Errorf("commit %d: %w", version, err)
	}
	fate := e.faults.Commit(version, b)
	if fate.Takes > 0 {
		_ = task.Sleep(context.Background(), e.by, fate.Takes) // nothing ends it
	}
	if err := e.finish(fate); err != nil {
		return fmt.Errorf("commit %d: %w", version, err)
	}
	e.faults.Committed(version, b)
	return nil
}

// begin refuses what cannot be committed, and notes the rest as under way.
func (e *Engine) begin(version uint64, b *store.Batch) error {
	d := e.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case e.closed:
		return store.ErrClosed
	case e.failed != nil:
		return fmt.Errorf("%w: %w", ErrFailed, e.failed)
	case version != e.last+1:
		return fmt.Errorf("out of order: the last commit is %d", e.last)
	case d.full:
		return fmt.Errorf("%w on %s", store.ErrNoSpace, d.name)
	}
	if err := e.Bounds().Check(b, e.Size(b)); err != nil {
		return err
	}
	d.pending = &pending{batch: b, then: d.now.with(b)}
	return nil
}

// finish puts the commit under way on disk, unless its fate is another. What has failed is
// not shown to reads, whatever is on disk.
func (e *Engine) finish(fate Fate) error {
	d := e.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.user != e { // its user went on after a crash: it writes to no disk
		return store.ErrClosed
	}
	d.settle(fate.Err == nil || fate.Kept)
	if fate.Err != nil {
		e.failed = fate.Err
		return fate.Err
	}
	e.seen, e.last = d.now, d.last
	return nil
}

// Close implements store.Engine.
func (e *Engine) Close() error {
	d := e.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	e.closed = true
	if d.user == e {
		d.user = nil
	}
	return nil
}

// now gives what reads see.
func (e *Engine) now() (*table, error) {
	e.disk.mu.Lock()
	defer e.disk.mu.Unlock()
	if e.closed {
		return nil, store.ErrClosed
	}
	return e.seen, nil
}

// Get implements store.Engine.
func (e *Engine) Get(key []byte) (value []byte, err error) {
	t, err := e.now()
	if err != nil {
		return nil, fmt.Errorf("get: %w", err)
	}
	return view{t, e}.Get(key)
}

// Scan implements store.Engine.
func (e *Engine) Scan(o store.ScanOptions, visit func(key, value []byte) bool) error {
	t, err := e.now()
	if err != nil {
		return fmt.Errorf("scan: %w", err)
	}
	return view{t, e}.Scan(o, visit)
}

// View implements store.Engine.
func (e *Engine) View(read func(store.Reader) error) error {
	t, err := e.now()
	if err != nil {
		return fmt.Errorf("view: %w", err)
	}
	return read(view{t, e})
}

// view is the store as of one commit.
type view struct {
	table  *table
	engine *Engine
}

// may says whether a read succeeds. After one that does not, nothing more is committed: it
// may have been what must not be missing.
func (v view) may(key []byte) error {
	err := v.engine.faults.Read(key)
	if err != nil {
		v.engine.disk.mu.Lock()
		defer v.engine.disk.mu.Unlock()
		v.engine.failed = err
	}
	return err
}

func (v view) Get(key []byte) ([]byte, error) {
	if err := v.may(key); err != nil {
		return nil, fmt.Errorf("get: %w", err)
	}
	value, there := v.table.get(key)
	if !there {
		return nil, fmt.Errorf("get: %w", store.ErrNotFound)
	}
	return append([]byte{}, value...), nil
}

func (v view) Scan(o store.ScanOptions, visit func(key, value []byte) bool) error {
	if err := v.may(o.Prefix); err != nil {
		return fmt.Errorf("scan: %w", err)
	}
	v.table.scan(o, visit)
	return nil
}
