package task

import (
	"context"
	"time"
)

// Scheduler runs the tasks of one site. Its methods are safe for concurrent use.
type Scheduler interface {
	// Now is what the site's clock says. It may be set forward or back at any moment.
	Now() time.Time
	// AfterFunc calls f in a task of its own once d has elapsed, whatever is done to the
	// clock, unless stop was called before; stop says whether that prevented it.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
	// Go begins a task.
	Go(f func())
	// Pass lets other tasks run that are ready.
	Pass()
	// Wait waits until one of on is there, and gives which; or until ctx ends, and gives -1
	// and its error. One that is there comes before the end of ctx in a world; with
	// goroutines either may. A slice that is made once spares an allocation each time.
	Wait(ctx context.Context, on ...Signal) (int, error)
	// Bell and Gate make what tasks wait for.
	Bell() *Bell
	Gate() *Gate
	// WithCancel and WithTimeout are what they are in package context.
	WithCancel(parent context.Context) (context.Context, context.CancelFunc)
	WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc)
	// Left is how long it is until ctx ends by its deadline, whatever is done to the clock,
	// and whether it has one.
	Left(ctx context.Context) (time.Duration, bool)
	// AfterEnd calls f in a task of its own once ctx has ended, unless stop was called
	// before; stop says whether that prevented it.
	AfterEnd(ctx context.Context, f func()) (stop func() bool)
}

// Signal is what a task waits for: a Bell or a Gate.
type Signal interface{ signal() *signal }

// signal is ready while something can be received from c. In a world those who wait for it
// are listed, since nobody blocks on a channel there.
type signal struct {
	c       chan struct{}
	world   *World
	waiting []*run
}

func (s *signal) signal() *signal { return s }

// there takes what is there, if something is.
func (s *signal) there() bool {
	select {
	case <-s.c:
		return true
	default:
		return false
	}
}

// Bell wakes one task for each ring, and keeps one ring where nobody waits.
type Bell struct{ of signal }

func (b *Bell) signal() *signal { return &b.of }

// Ring rings it. It never blocks.
func (b *Bell) Ring() {
	select {
	case b.of.c <- struct{}{}:
	default:
	}
	if b.of.world != nil {
		b.of.world.wakeFirst(&b.of)
	}
}

// Gate lets everybody through once it is open.
type Gate struct{ of signal }

func (g *Gate) signal() *signal { return &g.of }

// Open opens it; call it once.
func (g *Gate) Open() {
	close(g.of.c)
	if g.of.world != nil {
		g.of.world.wakeAll(&g.of)
	}
}

// IsOpen says whether it is open.
func (g *Gate) IsOpen() bool { return g.of.there() }
