package badger

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"
)

// Tables that rot while the store is open (invariant 8). Badger verifies each block
// when it reads it, but its iterators keep the error to themselves: a scan ends early, a
// Get finds nothing, and a compaction writes what is left and removes the rest for ever.
// Four things notice it here:
//
//   - A read in which a checksum did not match gives an error, and ends the store's work.
//   - A compaction is not put into effect before its tables were read whole once more.
//   - Doubt reads all tables: for a caller that did not find what must be there.
//   - The scrubber reads all tables from time to time, slowly, for what nobody reads.

// rotRemedy says what to do about a table that rotted under a running store.
const rotRemedy = "nothing was acknowledged that rests on what could not be read, and the store does not open again with this file: " +
	"look at the disk (kernel log, SMART), keep a copy of this directory, and put back the data directory from a backup"

// mismatches counts the blocks that a read of any Engine met with a wrong checksum.
var mismatches atomic.Uint64

// mismatch is Badger's error for a wrong checksum. Badger makes a text of it at once,
// and then drops it: the text is the only sign.
type mismatch struct{ error }

// Error implements error.
func (m mismatch) Error() string {
	if inRead() {
		mismatches.Add(1)
	}
	return m.error.Error()
}

var _ = func() struct{} { // before any store is opened
	y.ErrChecksumMismatch = mismatch{y.ErrChecksumMismatch}
	return struct{}{}
}()

// inRead says whether this goroutine is in a read of an Engine, and not in a
// verification, which hears of the error anyway.
func inRead() bool {
	callers := make([]uintptr, 64)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	for {
		frame, more := frames.Next()
		if strings.Contains(frame.Function, "store/badger.checkTable") {
			return false
		}
		if strings.HasSuffix(frame.Function, "store/badger.(*Engine).view") {
			return true
		}
		if !more {
			return false
		}
	}
}

// Doubt implements store.Doubter: it reads all tables, and if one is damaged it ends the
// store's work and gives an ErrDamaged. It may take as long as the store is large.
func (e *Engine) Doubt() error {
	if e.side == nil {
		return nil
	}
	for _, t := range e.db.Tables() {
		if err := e.verify(t.ID); err != nil {
			return e.fail(err)
		}
	}
	return nil
}

// suspect gives the error of a read that met something unreadable.
func (e *Engine) suspect() error {
	if err := e.Doubt(); err != nil {
		return err
	}
	return e.fail(fmt.Errorf("%w: a block of a table did not match its checksum at first, and matched it a moment later: %s", ErrDamaged, rotRemedy))
}

// verify reads a table of the open store. One that a compaction has just removed is whole.
func (e *Engine) verify(id uint64) error {
	_, err := checkTable(table.NewFilename(id, e.db.Opts().Dir), id)
	if err == nil {
		return nil
	}
	for _, t := range e.db.Tables() {
		if t.ID == id {
			return explain(err, rotRemedy)
		}
	}
	return nil
}

// compactionRead is what Badger logs when a compaction has read its tables, and before
// what it has written takes their place.
const compactionRead = "Discard stats: %v"

// holdCompaction verifies the tables of the compactions under way. The goroutine of one
// that has read a damaged table goes no further: what it would commit is a loss.
func (e *Engine) holdCompaction() {
	db := e.opened.Load()
	if db == nil {
		return // all tables were read a moment ago
	}
	for _, id := range compacting(db) {
		if err := e.verify(id); err != nil {
			_ = e.fail(err)
			<-e.released
			return
		}
	}
}

// compacting gives the tables that are being compacted. Badger does not say; a version
// of it that keeps them elsewhere gets all its tables verified.
func compacting(db *badger.DB) (ids []uint64) {
	defer func() {
		if recover() != nil {
			ids = nil
			for _, t := range db.Tables() {
				ids = append(ids, t.ID)
			}
		}
	}()
	status := reflect.ValueOf(db).Elem().FieldByName("lc").Elem().FieldByName("cstatus")
	lock := (*sync.RWMutex)(unsafe.Pointer(status.FieldByName("RWMutex").UnsafeAddr())) // #nosec G103 -- see above
	lock.RLock()
	defer lock.RUnlock()
	for tables := status.FieldByName("tables").MapRange(); tables.Next(); {
		ids = append(ids, tables.Key().Uint())
	}
	return ids
}

const (
	// scrubPause is how long the scrubber rests between two passes.
	scrubPause = time.Hour
	// scrubRate is how fast it reads, in bytes a second.
	scrubRate = 8 << 20
)

// scrubber reads all tables again and again.
type scrubber struct {
	engine *Engine
	pause  time.Duration
	quit   chan struct{}
	ended  chan struct{}
}

func scrub(e *Engine, pause time.Duration) *scrubber {
	if pause == 0 {
		pause = scrubPause
	}
	s := &scrubber{engine: e, pause: pause, quit: make(chan struct{}), ended: make(chan struct{})}
	go s.run()
	return s
}

func (s *scrubber) run() {
	defer close(s.ended)
	for s.rest(s.pause) {
		for _, t := range s.engine.db.Tables() {
			if err := s.engine.verify(t.ID); err != nil {
				_ = s.engine.fail(err)
				return
			}
			if !s.rest(time.Duration(t.OnDiskSize) * time.Second / scrubRate) {
				return
			}
		}
	}
}

// rest waits, and says whether to go on.
func (s *scrubber) rest(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.quit:
		return false
	}
}

func (s *scrubber) stop() {
	close(s.quit)
	<-s.ended
}

// damage is what is wrong with a file.
type damage struct{ what string }

func (d damage) Error() string { return d.what }

// explain makes an ErrDamaged of a damage, with what to do.
func explain(err error, remedy string) error {
	var d damage
	if !errors.As(err, &d) {
		return err
	}
	return fmt.Errorf("%w: %s: %s", ErrDamaged, d.what, remedy)
}
