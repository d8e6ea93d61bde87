package world

import (
	"context"
	"errors"
	"slices"
	"time"

	"fmqm/internal/store"
	"fmqm/internal/store/memory"
)

var background = context.Background()

// errBroken is what a disk says that fails.
var errBroken = errors.New("input/output error")

// arm has a fault happen at a commit, or a read, of the site.
func (s *site) arm(e Event) { s.faults = append(s.faults, &armed{Event: e, left: max(1, e.Number)}) }

// due gives the fault of these kinds that is due now; nil: none.
func (s *site) due(deeds ...Deed) *armed {
	var due *armed
	s.faults = slices.DeleteFunc(s.faults, func(f *armed) bool {
		if !slices.Contains(deeds, f.Do) {
			return false
		}
		if f.left--; f.left > 0 || due != nil {
			return false
		}
		due = f
		return true
	})
	return due
}

// Commit says what becomes of a commit. It is memory.Faults'.
func (s *site) Commit(version uint64, b *store.Batch) memory.Fate {
	w, l := s.world, s.life
	fate := memory.Fate{Takes: 200*time.Microsecond + time.Duration(w.random.Int64N(int64(2*time.Millisecond)))}
	if w.random.IntN(100) == 0 {
		fate.Takes *= 50
	}
	if w.clear {
		return fate
	}
	switch f := s.due(CrashAt, CrashIn, FailWrite); {
	case f == nil:
	case f.Do == CrashAt:
		s.die(f.Kept, f.For)
	case f.Do == CrashIn:
		w.control.AfterFunc(fate.Takes/2, func() {
			if s.life == l {
				s.die(f.Kept, f.For)
			}
		})
	default:
		fate.Err, fate.Kept = errBroken, f.Kept
		w.journal.note(string(s.name), "cannot write", "commit %d, kept %t", version, f.Kept)
		s.fail(true)
	}
	return fate
}

// Committed is told of each commit.
func (s *site) Committed(uint64, *store.Batch) {}

// Read says whether a read fails.
func (s *site) Read([]byte) error {
	if s.world.clear || s.due(FailRead) == nil {
		return nil
	}
	s.world.journal.note(string(s.name), "cannot read", "")
	s.fail(false)
	return errBroken
}

// fail: the disk has failed. After a write the node must notice, and end; after a read the
// engine tells the daemon, also where only somebody's question met it.
func (s *site) fail(write bool) {
	w, l := s.world, s.life
	l.failing = true
	soon := time.Duration(w.random.Int64N(int64(time.Second)))
	if write {
		soon = 20 * time.Second
	}
	w.control.AfterFunc(soon, func() {
		switch {
		case s.life != l:
		case write:
			w.breaks("8", "a write has failed at %s, and the node goes on", s.name)
		default:
			s.end(errBroken)
		}
	})
}
