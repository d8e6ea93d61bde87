package task

import (
	"container/heap"
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"time"
)

// World is the time of a simulation, and the tasks of all its sites. It belongs to one
// goroutine; what runs inside of it does so while Step does.
type World struct {
	random  *rand.Rand
	begun   time.Time
	elapsed time.Duration
	due     timers
	timed   uint64 // timers made so far: of two that are due at once the earlier made comes first
	ready   []*run
	current *run
	failure error
}

// NewWorld makes a world in which nothing runs. Its clock begins at begun.
func NewWorld(seed uint64, begun time.Time) *World {
	return &World{random: rand.New(rand.NewPCG(seed, seed)), begun: begun}
}

// Elapsed is how much virtual time has passed.
func (w *World) Elapsed() time.Duration { return w.elapsed }

// Failure is what a task has panicked with, and where.
func (w *World) Failure() error { return w.failure }

// Step lets one task run until it waits, or lets time pass until the next timer is due. It
// says whether anything happened: false if nothing will ever, or a task has failed.
func (w *World) Step() bool {
	if w.failure != nil {
		return false
	}
	for len(w.ready) == 0 {
		if len(w.due) == 0 {
			return false
		}
		t := heap.Pop(&w.due).(*timer)
		if t.stopped || t.site.dead {
			continue
		}
		t.stopped = true
		w.elapsed = t.at
		t.site.Go(t.f)
		return true
	}
	i := w.random.IntN(len(w.ready))
	r := w.ready[i]
	w.ready = slices.Delete(w.ready, i, i+1)
	w.resume(r)
	return true
}

// resume lets a task run until it waits or ends.
func (w *World) resume(r *run) {
	before := w.current
	w.current = r
	if _, more := r.next(); !more {
		r.site.ended(r)
	}
	w.current = before
}

func (w *World) wakeFirst(s *signal) {
	if len(s.waiting) > 0 {
		w.wake(s.waiting[0])
	}
}

func (w *World) wakeAll(s *signal) {
	for len(s.waiting) > 0 {
		w.wake(s.waiting[0])
	}
}

// wake makes a task ready that waits. It looks by itself at what is there.
func (w *World) wake(r *run) {
	r.woken = r.on
	r.unlist()
	w.ready = append(w.ready, r)
}

// run is a task.
type run struct {
	site  *Site
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
	on    []*signal // that it waits for; empty: it is ready, or runs
	woken []*signal // that it waited for, until it runs
	ctx   *worldContext
}

func (r *run) unlist() {
	for _, s := range r.on {
		s.waiting = slices.DeleteFunc(s.waiting, func(other *run) bool { return other == r })
	}
	r.on = nil
	if r.ctx != nil {
		r.ctx.waiting = slices.DeleteFunc(r.ctx.waiting, func(other *run) bool { return other == r })
		r.ctx = nil
	}
}

// killed ends a task where it stands.
type killed struct{}

// pause lets others run; where the site was killed meanwhile the task ends.
func (r *run) pause() {
	if r.site.dead || !r.yield(struct{}{}) {
		panic(killed{})
	}
}

// Site is the Scheduler of one life of a site. After Kill a new one is made.
type Site struct {
	world  *World
	offset time.Duration
	runs   []*run
	dead   bool
}

var _ Scheduler = (*Site)(nil)

// NewSite makes one whose clock is ahead of the world's by offset.
func (w *World) NewSite(offset time.Duration) *Site { return &Site{world: w, offset: offset} }

// SetClock steps the site's clock, to be ahead of the world's by offset.
func (s *Site) SetClock(offset time.Duration) { s.offset = offset }

// Kill ends all tasks of the site where they stand, the running one too where it is the
// site's: then Kill does not return. No timer of it fires, and nothing begins there any more.
func (s *Site) Kill() {
	w := s.world
	s.dead = true
	own := false
	for len(s.runs) > 0 {
		r := s.runs[0]
		s.runs = s.runs[1:]
		if r == w.current {
			own = true
			continue
		}
		left := append(r.on, r.woken...) // a ring that woke it is for another
		if i := slices.Index(w.ready, r); i >= 0 {
			w.ready = slices.Delete(w.ready, i, i+1)
		}
		r.unlist()
		before := w.current
		w.current = r
		r.stop()
		w.current = before
		for _, other := range left {
			if len(other.c) > 0 {
				w.wakeFirst(other)
			}
		}
	}
	if own {
		panic(killed{})
	}
}

func (s *Site) ended(r *run) {
	s.runs = slices.DeleteFunc(s.runs, func(other *run) bool { return other == r })
}

// Now is the world's time and the site's offset.
func (s *Site) Now() time.Time { return s.world.begun.Add(s.world.elapsed + s.offset) }

// Go begins a task; it runs in a later step.
func (s *Site) Go(f func()) {
	if s.dead {
		return
	}
	r := &run{site: s}
	r.next, r.stop = iter.Pull(func(yield func(struct{}) bool) {
		defer func() {
			switch cause := recover(); cause.(type) {
			case nil, killed:
			default:
				if s.world.failure == nil {
					s.world.failure = fmt.Errorf("a task panics: %v\n%s", cause, debug.Stack())
				}
			}
		}()
		r.yield = yield
		f()
	})
	s.runs = append(s.runs, r)
	s.world.ready = append(s.world.ready, r)
}

// Pass lets others run.
func (s *Site) Pass() {
	r := s.running()
	s.world.ready = append(s.world.ready, r)
	r.pause()
}

// running gives the task that runs, which must be one of the site's.
func (s *Site) running() *run {
	r := s.world.current
	if r == nil {
		panic("task: only a task can wait, and none of the world's runs")
	}
	if r.site.dead || s.dead {
		panic(killed{})
	}
	return r
}

// AfterFunc calls f in a task of its own.
func (s *Site) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	w := s.world
	w.timed++
	t := &timer{at: w.elapsed + max(0, d), order: w.timed, site: s, f: f}
	heap.Push(&w.due, t)
	return func() bool {
		before := t.stopped
		t.stopped = true
		return !before
	}
}

// Bell makes one.
func (s *Site) Bell() *Bell { return &Bell{signal{c: make(chan struct{}, 1), world: s.world}} }

// Gate makes one.
func (s *Site) Gate() *Gate { return &Gate{signal{c: make(chan struct{}), world: s.world}} }

// Wait looks at what is there in the order of on, and at the end of ctx last.
func (s *Site) Wait(ctx context.Context, on ...Signal) (int, error) {
	r, end := s.running(), worldContextOf(ctx)
	for {
		for i, w := range on {
			if w.signal().there() {
				return i, nil
			}
		}
		if err := ctx.Err(); err != nil {
			return -1, err
		}
		for _, w := range on {
			r.on = append(r.on, w.signal())
			w.signal().waiting = append(w.signal().waiting, r)
		}
		if end != nil {
			r.ctx = end
			end.waiting = append(end.waiting, r)
		}
		r.pause()
		r.woken = nil
	}
}

// timer is an event of the heap.
type timer struct {
	at      time.Duration
	order   uint64
	site    *Site
	f       func()
	stopped bool // or has fired
}

type timers []*timer

func (t timers) Len() int { return len(t) }

func (t timers) Less(i, j int) bool {
	return t[i].at < t[j].at || t[i].at == t[j].at && t[i].order < t[j].order
}

func (t timers) Swap(i, j int) { t[i], t[j] = t[j], t[i] }

func (t *timers) Push(x any) { *t = append(*t, x.(*timer)) }

func (t *timers) Pop() any {
	last := (*t)[len(*t)-1]
	*t = (*t)[:len(*t)-1]
	return last
}
