package badger

import (
	"fmt"
	"strings"

	"fmqm/internal/task"
)

// Failed gives the first error after which the store must be closed and the process
// ended, of whichever goroutine: of a write or a sync (invariant 8), or that the second
// mark of free space was reached (store.ErrNoSpace).
func (e *Engine) Failed() <-chan error { return e.failures }

// SpaceLow says whether free space is below the first mark (S3).
func (e *Engine) SpaceLow() bool { return e.guard != nil && e.guard.low.Load() }

// SpaceChanged rings when SpaceLow has changed; without marks, never.
func (e *Engine) SpaceChanged() *task.Bell {
	if e.guard == nil {
		return task.Goroutines{}.Bell()
	}
	return e.guard.changed
}

// fail notes the first write error. All later commits are refused.
func (e *Engine) fail(err error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.failed == nil {
		e.failed = err
		close(e.broken)
		e.idle.Broadcast()
		e.announce(err)
	}
	return e.failed
}

// announce tells of an error after which nothing more can be committed.
func (e *Engine) announce(err error) {
	select {
	case e.failures <- err:
	default:
	}
}

// broke gives the write error, if there was one.
func (e *Engine) broke() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.failed
}

// listener hears what Badger only logs. An error in its background work, flushing a
// memtable or compacting, is one that Badger repeats for ever or forgets; here it ends
// the store's work.
type listener struct{ engine *Engine }

func (l listener) Errorf(format string, arguments ...any) { l.report(format, arguments) }

func (l listener) Warningf(format string, arguments ...any) {
	if strings.HasPrefix(format, "While running doCompact:") {
		l.report(format, arguments)
	}
}

func (l listener) Infof(format string, _ ...any) {
	if format == compactionStep {
		if f := l.engine.flattening.Load(); f != nil {
			f.step()
		}
	}
}

func (l listener) Debugf(format string, _ ...any) {
	if format == compactionRead {
		l.engine.holdCompaction()
	}
}

func (l listener) report(format string, arguments []any) {
	_ = l.engine.fail(fmt.Errorf("the engine reports: %w", hide(fmt.Errorf(format, arguments...))))
}
