package badger

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"fmqm/internal/store"
)

// What is removed takes room until a compaction meets it. The engine compacts by the
// sizes of its levels, which removals do not change: they wait in the upper levels, for
// as long as little is written, while what they remove lies in the lowest. Compact takes
// them there. Badger's Flatten does that, table by table, and says so before each; there
// it can be slowed down, and left.

const (
	// compactionStep is what Flatten logs before each step, in its own goroutine and
	// without a lock.
	compactionStep = "Attempting to compact with %+v\n"
	// compactPause is how many times as long as a step took nothing is compacted behind it.
	compactPause = 3
	// compactLook is how often such a pause looks whether it has to end.
	compactLook = 50 * time.Millisecond
	// compactFlush is how long the last tables have to be written before it begins.
	compactFlush = 10 * time.Second
	// compactRoom is what a step may write, beside what lies in the uppermost level, in bytes.
	compactRoom = 64 << 20
	// compactSteps is how many steps for each table it may take: with much being written it
	// would never be done.
	compactSteps = 2
)

// flattening is a Compact under way.
type flattening struct {
	engine *Engine
	ctx    context.Context //nolint:containedctx // of the call, for what Badger calls back
	left   int             // steps
	short  bool            // it was left since a step would not have had the room
	began  time.Time       // the last step; zero before the first
	ended  chan struct{}   // closed when Flatten has returned, and the engine's own compactions go on
}

// errLeft is thrown through Flatten to leave it between two steps.
var errLeft = errors.New("compaction is left")

// Buffered implements store.Compactor.
func (e *Engine) Buffered() (int64, error) {
	if e.side == nil {
		return 0, nil
	}
	if !e.fits(memTableSize) {
		return 0, store.ErrNoSpace
	}
	return memTableSize, nil
}

// Compact implements store.Compactor. Commits and reads go on meanwhile; the engine's own
// compactions do not, beyond what keeps commits going. It takes a quarter of a core's
// time and of what the disk does for that long. Where free space does not allow for new
// tables beside the old ones above the second mark, it goes no further (ErrNoSpace); it does nothing while all that there is lies
// in at most five tables of the uppermost level, which is flat to Badger.
func (e *Engine) Compact(ctx context.Context) error {
	_, err := e.compact(ctx, false)
	return err
}

// Scrub implements store.Scrubber.
func (e *Engine) Scrub(ctx context.Context) (done bool, err error) { return e.compact(ctx, true) }

// Unmet implements store.Scrubber. The uppermost level is taken once it has a table more than it may have.
func (e *Engine) Unmet() (int64, error) {
	if e.side == nil {
		return 0, nil
	}
	lower, size := 0, int64(memTableSize)
	levels := e.db.Levels()
	for _, l := range levels[1:] {
		lower += l.NumTables
	}
	if lower == 0 {
		size *= int64(max(1, e.db.Opts().NumLevelZeroTables+1-levels[0].NumTables))
	}
	if !e.fits(size) {
		return 0, store.ErrNoSpace
	}
	return size, nil
}

// met says whether nothing lies above other tables that was in a table by now: newest is the newest of these.
// Then each key has one version there, and none that was removed.
func (e *Engine) met(newest uint64) bool {
	level := 0
	for _, t := range e.db.Tables() {
		switch {
		case t.Level == 0 && t.ID > newest: // it came since
		case t.Level == 0, level > 0 && t.Level != level:
			return false
		default:
			level = t.Level
		}
	}
	return true
}

// compact takes what is in tables to one level. all: it waits for reads of what was there before, and says whether it has
// met everything.
func (e *Engine) compact(ctx context.Context, all bool) (done bool, err error) {
	if e.side == nil {
		return true, nil
	}
	if err := e.enter(); err != nil {
		return false, fmt.Errorf("compact: %w", err)
	}
	defer e.leave()
	f := &flattening{engine: e, ctx: ctx, left: 10 + compactSteps*len(e.db.Tables()), ended: make(chan struct{})}
	if !f.awaitFlush() {
		return false, ctx.Err()
	}
	logs, _, _, err := logFiles(e.db.Opts().Dir)
	whole := all && err == nil && len(logs) <= 1 && f.awaitReads()
	newest := uint64(0)
	for _, t := range e.db.Tables() {
		newest = max(newest, t.ID)
	}
	if !e.flattening.CompareAndSwap(nil, f) {
		return false, nil // another one is under way
	}
	err = f.flatten(ctx)
	return err == nil && whole && e.met(newest), err
}

// flatten runs until it is done, or is left.
func (f *flattening) flatten(ctx context.Context) error {
	e := f.engine
	done := make(chan error, 1)
	go func() {
		defer close(f.ended)
		done <- f.run()
	}()
	select {
	case err := <-done:
		e.flattening.Store(nil)
		switch {
		case err != nil:
			return e.fail(fmt.Errorf("compact: %w", hide(err)))
		case f.short:
			return fmt.Errorf("compact: %w", store.ErrNoSpace)
		}
		return ctx.Err()
	case <-e.broken: // it may never end, and what Close finds broken is not closed under it
		return fmt.Errorf("compact: %w", e.broke())
	}
}

func (f *flattening) run() (err error) {
	defer func() {
		if r := recover(); r != nil {
			if r != errLeft { //nolint:errorlint // it is the very value
				panic(r)
			}
			err = nil
		}
	}()
	err = f.engine.db.Flatten(1)
	if err != nil && strings.Contains(err.Error(), "Unable to fill tables") {
		return nil // there is nothing that it could do
	}
	return err
}

// step comes before each step: it waits, and leaves where it has to.
func (f *flattening) step() {
	if !f.began.IsZero() {
		if f.engine.flattened != nil {
			f.engine.flattened()
		}
		f.rest(f.engine.compactPause*time.Since(f.began), f.busy)
	}
	if f.left--; f.left < 0 || f.over() {
		panic(errLeft)
	}
	if f.short = !f.engine.fits(0); f.short {
		panic(errLeft)
	}
	f.began = time.Now()
}

// busy says whether commits would soon have to wait for a compaction.
func (f *flattening) busy() bool {
	return f.engine.db.Levels()[0].NumTables >= f.engine.db.Opts().NumLevelZeroTables
}

// fits says whether there is room for the new tables of a step, which are there before
// the old ones go: those of the uppermost level together, or one and what it overlaps. more is
// what is committed first, in bytes: it lies in a log, and in a table of that level.
func (e *Engine) fits(more int64) bool {
	free, err := e.guard.free()
	levels := e.db.Levels()
	return err == nil && free > e.guard.Stop+2*(levels[0].Size+more)+more+compactRoom
}

// awaitFlush waits until what is committed lies in tables, but for the newest.
func (f *flattening) awaitFlush() bool {
	f.rest(compactFlush, func() bool {
		logs, _, _, err := logFiles(f.engine.db.Opts().Dir)
		return err != nil || len(logs) <= 1
	})
	return !f.over()
}

// awaitReads waits until nobody reads what was there before, so that it need not be kept.
func (f *flattening) awaitReads() bool {
	last := f.engine.last.Load()
	unread := func() bool { return f.engine.oldestRead() >= last }
	f.rest(f.engine.readPause, unread)
	f.engine.db.SetDiscardTs(f.engine.oldestRead()) // the last commit may have been told of a read that has ended since
	return unread()
}

// over says whether it has to end.
func (f *flattening) over() bool {
	select {
	case <-f.ctx.Done():
	case <-f.engine.closing:
	case <-f.engine.broken:
	default:
		return false
	}
	return true
}

// rest waits for a time, unless it is enough before, or all is over.
func (f *flattening) rest(d time.Duration, enough func() bool) {
	end := time.Now().Add(d)
	look := time.NewTicker(compactLook)
	defer look.Stop()
	for !enough() && !f.over() && time.Now().Before(end) {
		select {
		case <-look.C:
		case <-f.ctx.Done():
		case <-f.engine.closing:
		case <-f.engine.broken:
		}
	}
}
