package task

import (
	"context"
	"reflect"
	"runtime"
	"time"
)

// Goroutines is the Scheduler of a daemon.
type Goroutines struct {
	Clock Clock // of tests; nil: the machine's. Contexts end by the machine's in any case
}

// Clock tells the time and wakes, as a Scheduler does.
type Clock interface {
	Now() time.Time
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

var _ Scheduler = Goroutines{}

func (g Goroutines) Now() time.Time {
	if g.Clock != nil {
		return g.Clock.Now()
	}
	return time.Now()
}

func (g Goroutines) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	if g.Clock != nil {
		return g.Clock.AfterFunc(d, f)
	}
	return time.AfterFunc(d, f).Stop
}

func (Goroutines) Go(f func()) { go f() }

func (Goroutines) Pass() { runtime.Gosched() }

func (Goroutines) Bell() *Bell { return &Bell{signal{c: make(chan struct{}, 1)}} }

func (Goroutines) Gate() *Gate { return &Gate{signal{c: make(chan struct{})}} }

func (Goroutines) WithCancel(parent context.Context) (context.Context, context.CancelFunc) {
	return context.WithCancel(parent)
}

func (Goroutines) WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(parent, d)
}

func (Goroutines) Left(ctx context.Context) (time.Duration, bool) {
	at, ok := ctx.Deadline()
	if !ok {
		return 0, false
	}
	return time.Until(at), true
}

func (Goroutines) AfterEnd(ctx context.Context, f func()) (stop func() bool) {
	return context.AfterFunc(ctx, f)
}

// Wait has the short selects by hand, since they are on the way of every message.
func (Goroutines) Wait(ctx context.Context, on ...Signal) (int, error) {
	done := ctx.Done()
	switch len(on) {
	case 0:
		<-done
	case 1:
		select {
		case <-on[0].signal().c:
			return 0, nil
		case <-done:
		}
	case 2:
		select {
		case <-on[0].signal().c:
			return 0, nil
		case <-on[1].signal().c:
			return 1, nil
		case <-done:
		}
	default:
		cases := make([]reflect.SelectCase, 0, len(on)+1)
		for _, s := range on {
			cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(s.signal().c)})
		}
		cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(done)})
		if i, _, _ := reflect.Select(cases); i < len(on) {
			return i, nil
		}
	}
	return -1, ctx.Err()
}
