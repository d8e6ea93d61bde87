package task

import (
	"context"
	"sync"
)

// Ending makes the Stop of a component one that may be called as often, and by as many, as
// like: it is done once, and each call returns when it is done. The zero Ending is ready to
// use. It is safe for concurrent use.
type Ending struct {
	mu    sync.Mutex
	done  *Gate // nil: nobody has called Do
	hurry context.CancelFunc
	err   error
}

// Do runs stop with the first call, and returns its error to all, once it has returned.
// A caller whose ctx ends is in a hurry: the context that stop was given ends too,
// whoever of them began. No call returns before stop has.
func (e *Ending) Do(ctx context.Context, by Scheduler, stop func(context.Context) error) error {
	e.mu.Lock()
	first := e.done == nil
	if first {
		e.done = by.Gate()
		ctx, e.hurry = by.WithCancel(ctx)
	}
	e.mu.Unlock()
	if first {
		defer e.hurry()
		defer e.done.Open()
		e.err = stop(ctx)
		return e.err
	}
	defer by.AfterEnd(ctx, e.hurry)()
	_, _ = by.Wait(context.Background(), e.done)
	return e.err
}
