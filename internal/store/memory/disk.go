package memory

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"fmqm/internal/store"
	"fmqm/internal/task"
)

// Errors of a disk.
var (
	ErrLocked = errors.New("the store is in use")
	// ErrFailed is what later commits get after a commit or a read that failed.
	ErrFailed = errors.New("the disk has failed")
)

// Disk is what a store is on. It is safe for concurrent use.
type Disk struct {
	name string

	mu      sync.Mutex
	now     *table
	last    uint64
	pending *pending // the commit under way; nil: there is none
	user    *Engine  // nil: nobody has it open
	full    bool
	watch   func(version uint64, b *store.Batch)
}

// pending is a commit under way, and what it would leave.
type pending struct {
	batch *store.Batch
	then  *table
}

// NewDisk makes an empty one. The name is for errors.
func NewDisk(name string) *Disk { return &Disk{name: name, now: &table{}} }

// Clone makes a disk that has what this one has now, without the commit under way.
func (d *Disk) Clone(name string) *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	return &Disk{name: name, now: d.now, last: d.last}
}

// Watch has f told of each commit in the moment in which it is on disk, before anybody else
// can know. f must not keep the batch, nor use the disk.
func (d *Disk) Watch(f func(version uint64, b *store.Batch)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.watch = f
}

// settle ends the commit under way, which is on disk if kept is set. d.mu is held.
func (d *Disk) settle(kept bool) {
	p := d.pending
	d.pending = nil
	if p == nil || !kept {
		return
	}
	d.now, d.last = p.then, d.last+1
	if d.watch != nil {
		d.watch(d.last, p.batch)
	}
}

// Peek gives an engine on what the disk has now, beside whoever has it open.
func (d *Disk) Peek() (*Engine, error) { return d.Clone(d.name).Open(Options{}) }

// Crash says that whoever had the disk open is no more: its locks are gone with it, and the
// commit under way, if there was one, is on disk if kept is set.
func (d *Disk) Crash(kept bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.settle(kept)
	if d.user != nil {
		d.user.closed = true
		d.user = nil
	}
}

// SetFull says whether there is too little room to write: commits are refused, and an open
// as well.
func (d *Disk) SetFull(full bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.full = full
}

// Faults decides what goes wrong on a disk. What it is asked it may also answer by ending
// the tasks that use the engine.
type Faults interface {
	// Commit is asked when a commit begins.
	Commit(version uint64, b *store.Batch) Fate
	// Committed is told of a commit that is on disk and has not failed, before it returns.
	Committed(version uint64, b *store.Batch)
	// Read is asked at each read of a key, or of a prefix; an error is what the read gives,
	// and the end of all commits.
	Read(key []byte) error
}

// Fate is what becomes of a commit.
type Fate struct {
	Takes time.Duration
	Err   error // it fails with
	Kept  bool  // with Err: it is on disk all the same
}

// Options say how to open an engine.
type Options struct {
	// By is how its user waits; goroutines if nil.
	By     task.Scheduler
	Faults Faults // nil: nothing goes wrong, and a commit takes no time
	// MaxBatch is the engine's; that of the engine on disk if 0.
	MaxBatch int64
	// Overhead is what each change counts beside its bytes; as with the engine on disk if 0. With
	// much of it few changes fit into a commit, so that transactions take several.
	Overhead int64
}

// Open opens an engine, which holds the disk until Close, or until Crash.
func (d *Disk) Open(o Options) (*Engine, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.user != nil {
		return nil, fmt.Errorf("open store %s: %w: stop the daemon that has it open", d.name, ErrLocked)
	}
	if d.full {
		return nil, fmt.Errorf("open store %s: %w: make room there", d.name, store.ErrNoSpace)
	}
	if o.By == nil {
		o.By = task.Goroutines{}
	}
	if o.Faults == nil {
		o.Faults = none{}
	}
	if o.MaxBatch == 0 {
		o.MaxBatch = defaultMaxBatch
	}
	if o.Overhead == 0 {
		o.Overhead = opOverhead
	}
	d.user = &Engine{disk: d, by: o.By, faults: o.Faults, maxBatch: o.MaxBatch, overhead: o.Overhead, seen: d.now, last: d.last}
	return d.user, nil
}

// none is a disk on which nothing goes wrong.
type none struct{}

func (none) Commit(uint64, *store.Batch) Fate { return Fate{} }

func (none) Committed(uint64, *store.Batch) {}

func (none) Read([]byte) error { return nil }

// ErrKilled is of the commit in which Killed has ended a disk's user.
var ErrKilled = errors.New("killed")

// Killed is Faults: whoever uses the disk dies in its commit number In, counted from 1 from where
// it opens the disk; the commit is on disk or not.
type Killed struct {
	In   int
	Kept bool
}

func (k *Killed) Commit(uint64, *store.Batch) Fate {
	if k.In--; k.In != 0 {
		return Fate{}
	}
	return Fate{Err: ErrKilled, Kept: k.Kept}
}

func (*Killed) Committed(uint64, *store.Batch) {}
func (*Killed) Read([]byte) error              { return nil }
