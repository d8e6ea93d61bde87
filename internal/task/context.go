package task

import (
	"context"
	"slices"
	"time"
)

// worldContext is a context of a world: it ends in the step that ends it, and nobody learns of it
// by a goroutine. Contexts of the standard library with values over it are fine; those that
// end by themselves are not, and are refused.
type worldContext struct {
	context.Context // the parent
	site            *Site
	done            chan struct{}
	err             error
	deadline        time.Time     // zero: the parent's
	at              time.Duration // of the deadline, in the world's time
	calls           []*call       // when it ends, in this order
	waiting         []*run
}

type call struct{ f func() }

type worldContextKey struct{}

// Value finds the nearest worldContext of a context.
func (e *worldContext) Value(key any) any {
	if key == (worldContextKey{}) {
		return e
	}
	return e.Context.Value(key)
}

func (e *worldContext) Done() <-chan struct{} { return e.done }

func (e *worldContext) Err() error { return e.err }

func (e *worldContext) Deadline() (time.Time, bool) {
	if e.deadline.IsZero() {
		return e.Context.Deadline()
	}
	return e.deadline, true
}

// worldContextOf gives what ends a context; nil: nothing does.
func worldContextOf(ctx context.Context) *worldContext {
	if ctx.Done() == nil {
		return nil
	}
	e, _ := ctx.Value(worldContextKey{}).(*worldContext)
	if e == nil || e.done != ctx.Done() {
		panic("task: a context in a world is made by its Scheduler: it has one of another making, which ends in no step")
	}
	return e
}

// end ends it, and what was made of it.
func (e *worldContext) end(err error) {
	if e.err != nil {
		return
	}
	e.err = err
	close(e.done)
	for len(e.waiting) > 0 {
		e.site.world.wake(e.waiting[0])
	}
	calls := e.calls
	e.calls = nil
	for _, c := range calls {
		c.f()
	}
}

// then has f called in the step that ends it.
func (e *worldContext) then(f func()) (stop func() bool) {
	if e.err != nil {
		f()
		return func() bool { return false }
	}
	c := &call{f}
	e.calls = append(e.calls, c)
	return func() bool {
		i := slices.Index(e.calls, c)
		if i < 0 {
			return false
		}
		e.calls = slices.Delete(e.calls, i, i+1)
		return true
	}
}

// WithCancel gives a context that cancel ends.
func (s *Site) WithCancel(parent context.Context) (context.Context, context.CancelFunc) {
	e := &worldContext{Context: parent, site: s, done: make(chan struct{})}
	release := func() bool { return false }
	if above := worldContextOf(parent); above != nil {
		release = above.then(func() { e.end(above.err) })
	}
	return e, func() {
		release()
		e.end(context.Canceled)
	}
}

// WithTimeout gives a context that ends after d of the world's time.
func (s *Site) WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := s.WithCancel(parent)
	e := ctx.(*worldContext)
	if left, ok := s.Left(parent); ok && left <= d {
		return ctx, cancel
	}
	e.deadline, e.at = s.Now().Add(d), s.world.elapsed+d
	stop := s.AfterFunc(d, func() { e.end(context.DeadlineExceeded) })
	return e, func() {
		stop()
		cancel()
	}
}

// Left is how long it is until ctx ends by its deadline.
func (s *Site) Left(ctx context.Context) (time.Duration, bool) {
	for e := worldContextOf(ctx); e != nil; e = worldContextOf(e.Context) {
		if !e.deadline.IsZero() {
			return e.at - s.world.elapsed, true
		}
	}
	return 0, false
}

// AfterEnd calls f in a task of its own once ctx has ended.
func (s *Site) AfterEnd(ctx context.Context, f func()) (stop func() bool) {
	e := worldContextOf(ctx)
	if e == nil {
		return func() bool { return true }
	}
	return e.then(func() { s.Go(f) })
}
