package world

import (
	"context"
	"errors"
	"slices"
	"time"

	"fmqm/internal/store"
	"fmqm/internal/store/memory"
	"fmqm/internal/task"
	"fmqm/queue/record"
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
	for i := range b.Ops {
		if key := b.Ops[i].Key; key[0] == record.ClassLarge {
			s.halfway = b.Ops[i].Value != nil
		}
	}
	fate := memory.Fate{Takes: 200*time.Microsecond + time.Duration(w.random.Int64N(int64(2*time.Millisecond)))}
	if w.random.IntN(100) == 0 {
		fate.Takes *= 50
	}
	if w.clear {
		return fate
	}
	if w.fate != nil {
		if other, held := w.fate(s, b); held {
			return other
		}
	}
	if s.sluggish {
		fate.Takes = s.slowly(10*time.Millisecond, 10*time.Second)
	}
	if f := s.dueAccept(b); f != nil {
		w.journal.met(string(Detour))
		fate.Takes = f.For
		s.detour(f.Peer, f.For)
	}
	f := s.due(CrashAt, CrashIn, FailWrite)
	if f != nil {
		w.journal.met(string(f.Do))
	}
	switch {
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
		s.fail(true, fate.Takes)
	}
	return fate
}

// slowly draws how long a slow disk takes: short times more often.
func (s *site) slowly(least, most time.Duration) time.Duration {
	r, t := s.world.random, least
	for t < most/10 && r.IntN(3) > 0 {
		t *= 10
	}
	t += time.Duration(r.Int64N(int64(t) * 9))
	s.slowest = max(s.slowest, s.world.tasks.Elapsed()+t)
	return t
}

// dueAccept gives the Detour that is due with a commit in which something is accepted of its peer.
func (s *site) dueAccept(b *store.Batch) (due *armed) {
	s.faults = slices.DeleteFunc(s.faults, func(f *armed) bool {
		if f.Do != Detour || due != nil || !accepts(b, f.Peer) {
			return false
		}
		if f.left--; f.left > 0 {
			return false
		}
		due = f
		return true
	})
	return due
}

// accepts says whether a commit has what a peer sent.
func accepts(b *store.Batch, peer name) bool {
	return slices.ContainsFunc(b.Ops, func(op store.Op) bool {
		if op.Key[0] != record.ClassAccepted || op.Value == nil {
			return false
		}
		of, _, err := record.ReadAccepted(op.Key, op.Value)
		return err == nil && of.Peer == peer
	})
}

// detour has the site read a configuration with a wrong address of a peer, and then the right
// one, while a commit is under way that takes so long.
func (s *site) detour(peer name, takes time.Duration) {
	w := s.world
	s.slowest = max(s.slowest, w.tasks.Elapsed()+takes)
	w.journal.note(string(s.name), "commits slowly", "what %s sent, for %v", peer, takes)
	astray := func(wrong bool) func() {
		return func() {
			if w.clear {
				return
			}
			if delete(s.astray, peer); wrong {
				s.astray[peer] = true
			}
			s.reload()
		}
	}
	w.control.AfterFunc(takes/10, astray(true))
	w.control.AfterFunc(takes/2, astray(false))
}

// Committed is told of each commit: watch sees all that is on disk.
func (*site) Committed(uint64, *store.Batch) {}

// Read says whether a read fails. On a slow disk those of process queues, from which decisions
// come, take a while; on a cold one those of whole queues take so long that much comes meanwhile.
func (s *site) Read(key []byte) error {
	switch {
	case s.life == nil || len(key) == 0 || key[0] != record.ClassMessage:
	case s.cold && isQueue(key):
		takes := s.slowly(100*time.Millisecond, 10*time.Second)
		s.world.journal.tell(string(s.name), "reads a whole queue, for %v", brief(takes))
		_ = task.Sleep(background, s.life.by, takes)
	case s.sluggish:
		_ = task.Sleep(background, s.life.by, s.slowly(time.Millisecond, 100*time.Millisecond))
	}
	if s.world.clear || s.due(FailRead) == nil {
		return nil
	}
	s.world.journal.met(string(FailRead))
	s.world.journal.note(string(s.name), "cannot read", "")
	s.fail(false, 0)
	return errBroken
}

// isQueue says whether a prefix is that of a whole process queue.
func isQueue(prefix []byte) bool {
	k := record.KeyReader{Rest: prefix[1:]}
	k.Process()
	return k.End() == nil
}

// fail: the disk fails, and says so after a while. After a write the node must notice, and end;
// after a read the engine tells the daemon, also where only somebody's question met it.
func (s *site) fail(write bool, after time.Duration) {
	w, l := s.world, s.life
	l.failing = true
	soon := time.Duration(w.random.Int64N(int64(time.Second)))
	if write {
		soon = after + 20*time.Second
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
