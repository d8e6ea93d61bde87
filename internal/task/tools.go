package task

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Answer is one value that somebody will give. It is safe for concurrent use.
type Answer[T any] struct {
	by    Scheduler
	mu    sync.Mutex
	given *Gate
	value T
}

// NewAnswer makes one that is not given yet.
func NewAnswer[T any](by Scheduler) *Answer[T] { return &Answer[T]{by: by, given: by.Gate()} }

// Give gives it; only the first counts. It never blocks.
func (a *Answer[T]) Give(v T) { a.TryGive(v) }

// TryGive is Give, and says whether it was the first.
func (a *Answer[T]) TryGive(v T) (first bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.given.IsOpen() {
		return false
	}
	a.value = v
	a.given.Open()
	return true
}

// Get gives it, if it was given.
func (a *Answer[T]) Get() (v T, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.value, a.given.IsOpen()
}

// Given is open once it was given.
func (a *Answer[T]) Given() *Gate { return a.given }

// Wait waits for it, or until ctx ends, or until one of other is there: that one's place in
// other, from 0 on, is which, and -1 if it was given.
func (a *Answer[T]) Wait(ctx context.Context, other ...Signal) (v T, which int, err error) {
	i, err := a.by.Wait(ctx, append([]Signal{a.given}, other...)...)
	if i == 0 {
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.value, -1, nil
	}
	return v, i - 1, err
}

// Group counts tasks that somebody waits for. It is safe for concurrent use.
type Group struct {
	by   Scheduler
	mu   sync.Mutex
	n    int
	none *Gate // of those who wait; nil: nobody does
}

// NewGroup makes one without tasks.
func NewGroup(by Scheduler) *Group { return &Group{by: by} }

// Go begins a task.
func (g *Group) Go(f func()) {
	g.Add()
	g.by.Go(func() {
		defer g.Done()
		f()
	})
}

// Add counts a task that somebody else begins, Done its end.
func (g *Group) Add() {
	g.mu.Lock()
	g.n++
	g.mu.Unlock()
}

// Done says that a task has ended that Add has counted.
func (g *Group) Done() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.n--
	if g.n == 0 && g.none != nil {
		g.none.Open()
		g.none = nil
	}
}

// Wait waits until there are no tasks, or ctx ends, and gives its error.
func (g *Group) Wait(ctx context.Context) error {
	g.mu.Lock()
	if g.n == 0 {
		g.mu.Unlock()
		return nil
	}
	if g.none == nil {
		g.none = g.by.Gate()
	}
	none := g.none
	g.mu.Unlock()
	_, err := g.by.Wait(ctx, none)
	return err
}

// Queue hands values from tasks to a task, at most so many at a time. It is safe for
// concurrent use.
type Queue[T any] struct {
	by     Scheduler
	mu     sync.Mutex
	values []T
	taken  int // of them, from the front
	limit  int // 0: none
	closed bool
	filled *Bell // something is there
	freed  *Bell // there is room again
}

// maxKept is how many places an empty queue keeps.
const maxKept = 64

// NewQueue makes one that holds up to limit values; 0: as many as come.
func NewQueue[T any](by Scheduler, limit int) *Queue[T] {
	return &Queue[T]{by: by, limit: limit, filled: by.Bell(), freed: by.Bell()}
}

// Filled rings when something is there.
func (q *Queue[T]) Filled() *Bell { return q.filled }

// ErrClosed: nothing goes into the queue any more.
var ErrClosed = errors.New("the queue is closed")

// Put puts v behind the others, once there is room, or gives the error of ctx, or ErrClosed.
func (q *Queue[T]) Put(ctx context.Context, v T) error {
	for {
		if ok, closed := q.try(v); closed {
			return ErrClosed
		} else if ok {
			return nil
		}
		if _, err := q.by.Wait(ctx, q.freed); err != nil {
			return err
		}
	}
}

// TryPut puts v behind the others, unless there is no room, or the queue is closed.
func (q *Queue[T]) TryPut(v T) bool {
	ok, _ := q.try(v)
	return ok
}

func (q *Queue[T]) try(v T) (ok, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		q.freed.Ring() // for another who waits
		return false, true
	case q.limit > 0 && q.len() >= q.limit:
		return false, false
	}
	q.put(v)
	return true, false
}

// Push puts v behind the others, whether there is room or not: what is not many by itself
// need not wait behind what is. It says false if the queue is closed.
func (q *Queue[T]) Push(v T) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.put(v)
	return true
}

// Close lets nothing in any more, and gives what is left.
func (q *Queue[T]) Close() (left []T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	left = q.values[q.taken:]
	q.values, q.taken, q.closed = nil, 0, true
	q.freed.Ring()
	return left
}

func (q *Queue[T]) len() int { return len(q.values) - q.taken }

func (q *Queue[T]) put(v T) {
	if q.taken > 0 && len(q.values) == cap(q.values) { // room at the front is used first
		left := copy(q.values, q.values[q.taken:])
		clear(q.values[left:])
		q.values, q.taken = q.values[:left], 0
	}
	q.values = append(q.values, v)
	q.filled.Ring()
	if q.limit > 0 && q.len() < q.limit {
		q.freed.Ring() // for another who waits
	}
}

// TryTake takes the first, if there is one. Filled rings again where there are more.
func (q *Queue[T]) TryTake() (v T, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.len() == 0 {
		return v, false
	}
	var none T
	v, q.values[q.taken] = q.values[q.taken], none
	if q.taken++; q.len() > 0 {
		q.filled.Ring()
	} else if q.taken = 0; cap(q.values) > maxKept {
		q.values = nil
	} else {
		q.values = q.values[:0]
	}
	if q.limit > 0 {
		q.freed.Ring()
	}
	return v, true
}

// Take waits for the first, or gives the error of ctx.
func (q *Queue[T]) Take(ctx context.Context) (T, error) {
	for {
		if v, ok := q.TryTake(); ok {
			return v, nil
		}
		if _, err := q.by.Wait(ctx, q.filled); err != nil {
			var none T
			return none, err
		}
	}
}

// Places are so many places that tasks take and give back. They are safe for concurrent use.
type Places struct{ free *Queue[struct{}] }

// NewPlaces makes n.
func NewPlaces(by Scheduler, n int) *Places {
	p := &Places{free: NewQueue[struct{}](by, 0)}
	for range n {
		p.Release()
	}
	return p
}

// Acquire takes one, once one is free, or gives the error of ctx.
func (p *Places) Acquire(ctx context.Context) error {
	_, err := p.free.Take(ctx)
	return err
}

// TryAcquire takes one that is free, if one is.
func (p *Places) TryAcquire() bool {
	_, ok := p.free.TryTake()
	return ok
}

// Release gives one back.
func (p *Places) Release() { p.free.TryPut(struct{}{}) }

// Sleep waits for d, or gives the error of ctx.
func Sleep(ctx context.Context, by Scheduler, d time.Duration) error {
	over := by.Gate()
	stop := by.AfterFunc(d, over.Open)
	_, err := by.Wait(ctx, over)
	stop()
	return err
}
