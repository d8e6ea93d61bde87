// Package ending makes the Stop of a component one that may be called as often, and by as
// many, as like: it is done once, and each call returns when it is done.
package ending

import (
	"context"
	"sync"
)

// Ending is the end of one component. The zero Ending is ready to use. It is safe for
// concurrent use.
type Ending struct {
	mu    sync.Mutex
	done  chan struct{} // nil: nobody has called Do
	hurry context.CancelCauseFunc
	err   error
}

// Do runs stop with the first call, and returns its error to all, once it has returned.
// A caller whose ctx ends is in a hurry: the context that stop was given ends too,
// whoever of them began. No call returns before stop has.
func (e *Ending) Do(ctx context.Context, stop func(context.Context) error) error {
	e.mu.Lock()
	first := e.done == nil
	if first {
		e.done = make(chan struct{})
		ctx, e.hurry = context.WithCancelCause(ctx)
	}
	e.mu.Unlock()
	if first {
		defer e.hurry(nil)
		defer close(e.done)
		e.err = stop(ctx)
		return e.err
	}
	defer context.AfterFunc(ctx, func() { e.hurry(context.Cause(ctx)) })()
	<-e.done
	return e.err
}
