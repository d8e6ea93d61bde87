package sim

import (
	"errors"
	"fmt"
	"sync"

	"fmqm/internal/store"
)

// errCrashed is what a node that has crashed hears of its store.
var errCrashed = errors.New("simulated crash")

// disk is a store that survives the nodes that are opened on it. Each has a view of
// its own, which a crash ends: nothing is committed through it any more.
type disk struct{ store.Engine }

// view is the store as one life of a node sees it.
type view struct {
	store.Engine
	mu      sync.Mutex
	dead    bool
	left    int           // commits until it crashes by itself; below 0: never
	applied bool          // whether the last of them is on disk
	crashed chan struct{} // closed when it did
}

// open gives a view that crashes with the commit number after, counted from 1; 0:
// never. What that commit says is on disk if applied is set, and not if it is not.
func (d disk) open(after int, applied bool) *view {
	return &view{Engine: d.Engine, left: after - 1, applied: applied, crashed: make(chan struct{})}
}

func (v *view) Commit(version uint64, b *store.Batch) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.dead {
		return fmt.Errorf("commit: %w", errCrashed)
	}
	if v.left != 0 {
		v.left--
		return v.Engine.Commit(version, b)
	}
	v.dead = true
	close(v.crashed)
	if v.applied {
		if err := v.Engine.Commit(version, b); err != nil {
			return err
		}
	}
	return fmt.Errorf("commit: %w", errCrashed)
}

// kill ends the view, after the commit under way.
func (v *view) kill() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.dead = true
}

// Close ends the view and leaves the store open for the next.
func (v *view) Close() error {
	v.kill()
	return nil
}
