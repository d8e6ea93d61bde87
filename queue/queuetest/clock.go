package queuetest

import (
	"slices"
	"sync"
	"time"
)

// Clock is a task.Clock that stands still until it is told to go on. It is safe for
// concurrent use.
type Clock struct {
	mu      sync.Mutex
	now     time.Time
	elapsed time.Duration // while the machine ran
	waiting []*alarm
}

type alarm struct {
	at time.Duration
	f  func()
}

// NewClock makes a clock that shows now.
func NewClock(now time.Time) *Clock { return &Clock{now: now} }

// Now implements task.Clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// AfterFunc implements task.Clock; f is called by Advance.
func (c *Clock) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := &alarm{at: c.elapsed + d, f: f}
	if d <= 0 {
		go f()
	} else {
		c.waiting = append(c.waiting, a)
	}
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		before := len(c.waiting)
		c.waiting = slices.DeleteFunc(c.waiting, func(w *alarm) bool { return w == a })
		return len(c.waiting) < before
	}
}

// Advance lets d go by, and calls what falls due, in order.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	end := c.elapsed + d
	for {
		var first *alarm
		for _, a := range c.waiting {
			if a.at <= end && (first == nil || a.at < first.at) {
				first = a
			}
		}
		if first == nil {
			break
		}
		c.waiting = slices.DeleteFunc(c.waiting, func(w *alarm) bool { return w == first })
		c.pass(first.at)
		c.mu.Unlock()
		first.f()
		c.mu.Lock()
	}
	c.pass(end)
	c.mu.Unlock()
}

// pass goes on to a time since the beginning. The caller holds mu.
func (c *Clock) pass(elapsed time.Duration) {
	c.now = c.now.Add(elapsed - c.elapsed)
	c.elapsed = elapsed
}

// Set sets the clock forward by d, or back. Nothing elapses, as while a machine sleeps,
// so that nothing falls due.
func (c *Clock) Set(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Armed gives the times, if the clock is not set meanwhile, for which somebody waits, in
// order.
func (c *Clock) Armed() []time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	var times []time.Time
	for _, a := range c.waiting {
		times = append(times, c.now.Add(a.at-c.elapsed))
	}
	slices.SortFunc(times, time.Time.Compare)
	return times
}
