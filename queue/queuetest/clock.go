package queuetest

import (
	"slices"
	"sync"
	"time"
)

// Clock is a queue.Clock that stands still until it is told to go on. It is safe for
// concurrent use.
type Clock struct {
	mu      sync.Mutex
	now     time.Time
	waiting []*alarm
}

type alarm struct {
	at time.Time
	f  func()
}

// NewClock makes a clock that shows now.
func NewClock(now time.Time) *Clock { return &Clock{now: now} }

// Now implements queue.Clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// AfterFunc implements queue.Clock; f is called by Advance.
func (c *Clock) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := &alarm{at: c.now.Add(d), f: f}
	c.waiting = append(c.waiting, a)
	if d <= 0 {
		c.waiting = c.waiting[:len(c.waiting)-1]
		go f()
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
	end := c.now.Add(d)
	for {
		var first *alarm
		for _, a := range c.waiting {
			if !a.at.After(end) && (first == nil || a.at.Before(first.at)) {
				first = a
			}
		}
		if first == nil {
			break
		}
		c.waiting = slices.DeleteFunc(c.waiting, func(w *alarm) bool { return w == first })
		c.now = first.at
		c.mu.Unlock()
		first.f()
		c.mu.Lock()
	}
	c.now = end
	c.mu.Unlock()
}

// Armed gives the times for which somebody waits, in order.
func (c *Clock) Armed() []time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	var times []time.Time
	for _, a := range c.waiting {
		times = append(times, a.at)
	}
	slices.SortFunc(times, time.Time.Compare)
	return times
}
