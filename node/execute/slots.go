package execute

import (
	"maps"
	"slices"
	"sync"

	"fmqm/processtable"
)

// slots are the places in which activity threads run programs: for each program as
// many as its registration says, over all process threads of the node. A place that
// comes free is handed to the thread whose turn is the lowest (thread.Ask); of equals, to the one that has waited longest.
type slots struct {
	mu    sync.Mutex
	limit func(processtable.ProgramID) int
	used  map[processtable.ProgramID]int
	queue map[processtable.ProgramID][]wanted
}

// wanted is that a thread waits for a place.
type wanted struct {
	thread *threadPlaces
	turn   int64
}

func newSlots(limit func(processtable.ProgramID) int) *slots {
	return &slots{limit: limit, used: map[processtable.ProgramID]int{}, queue: map[processtable.ProgramID][]wanted{}}
}

// threadPlaces is one thread's view of the slots. granted is called without the
// slots' lock, and must not block.
type threadPlaces struct {
	slots   *slots
	granted func(processtable.ProgramID)
	waiting map[processtable.ProgramID]bool // guarded by slots.mu
}

func (s *slots) of(granted func(processtable.ProgramID)) *threadPlaces {
	return &threadPlaces{slots: s, granted: granted, waiting: map[processtable.ProgramID]bool{}}
}

// TryAcquire takes a place, or notes that the thread wants one, for a turn: instead of that which it has wanted it for before.
func (t *threadPlaces) TryAcquire(p processtable.ProgramID, turn int64) bool {
	s := t.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used[p] < s.limit(p) && len(s.queue[p]) == 0 {
		s.used[p]++
		return true
	}
	if t.waiting[p] {
		at := slices.IndexFunc(s.queue[p], func(w wanted) bool { return w.thread == t })
		s.queue[p][at].turn = turn
		return false
	}
	t.waiting[p] = true
	s.queue[p] = append(s.queue[p], wanted{t, turn})
	return false
}

// Release gives a place back, to the thread whose turn it is if there is one.
func (t *threadPlaces) Release(p processtable.ProgramID) {
	s := t.slots
	s.mu.Lock()
	s.used[p]--
	granted := s.hand(p)
	s.mu.Unlock()
	for _, g := range granted {
		g.granted(p)
	}
}

// hand gives free places to waiting threads, and says which.
func (s *slots) hand(p processtable.ProgramID) []*threadPlaces {
	var granted []*threadPlaces
	for len(s.queue[p]) > 0 && s.used[p] < s.limit(p) {
		next := 0
		for i, w := range s.queue[p] {
			if w.turn < s.queue[p][next].turn {
				next = i
			}
		}
		of := s.queue[p][next].thread
		s.queue[p] = slices.Delete(s.queue[p], next, next+1)
		delete(of.waiting, p)
		s.used[p]++
		granted = append(granted, of)
	}
	if len(s.queue[p]) == 0 {
		delete(s.queue, p)
	}
	if s.used[p] == 0 {
		delete(s.used, p)
	}
	return granted
}

// limitsChanged hands out what a new configuration has made free.
func (s *slots) limitsChanged() {
	s.mu.Lock()
	programs := slices.Sorted(maps.Keys(s.queue)) // in an order: what follows is to be the same each time
	granted := make([][]*threadPlaces, len(programs))
	for i, p := range programs {
		granted[i] = s.hand(p)
	}
	s.mu.Unlock()
	for i, p := range programs {
		for _, t := range granted[i] {
			t.granted(p)
		}
	}
}

// close lets no more programs begin: the node is stopping.
func (s *slots) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = func(processtable.ProgramID) int { return 0 }
}
