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
		s.fail()
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
	s.fail()
	return errBroken
}

// fail: the disk has failed, and the daemon is to end by itself, soon.
func (s *site) fail() {
	w, l := s.world, s.life
	if l.failing {
		return
	}
	l.failing = true
	var look func()
	tries := 0
	look = func() {
		if s.life != l {
			return
		}
		if l.node == nil && tries < 100 {
			tries++
			w.control.AfterFunc(100*time.Millisecond, look)
			return
		}
		if l.node != nil {
			if err, failed := l.node.Failed().Get(); failed {
				w.journal.note(string(s.name), "fails", "%v", err)
				s.die(false, restart)
				return
			}
		}
		if tries++; tries == 200 {
			w.breaks("8", "the disk of %s has failed, and the daemon goes on", s.name)
			return
		}
		w.control.AfterFunc(100*time.Millisecond, look)
	}
	w.control.AfterFunc(100*time.Millisecond, look)
}
