package link

import (
	"testing"
	"time"

	"fmqm/internal/task"
	"fmqm/link/core"
	"fmqm/link/frame"
	"fmqm/queue/record"
)

// setClock is at a time that the test says; nothing is due on it.
type setClock struct {
	now   time.Time
	fires []func() // of all timers, stopped or not
}

func (c *setClock) Now() time.Time { return c.now }

func (c *setClock) AfterFunc(_ time.Duration, f func()) func() bool {
	c.fires = append(c.fires, f)
	return func() bool { return false } // too late: it fires just now
}

func (c *setClock) after(r *route) time.Duration { return r.rest.until.Sub(c.now) }
func resting(l *Link, r *route, attempts int)    { r.wake(); r.attempts = attempts; l.rest(r) }
func never() float64                             { return 0.999 }
func shortened(c *setClock, r *route) bool {
	return r.rest != nil && c.after(r) <= firstBackoff && c.after(r) >= firstBackoff/2
}

func unshortened(c *setClock, r *route, longest time.Duration) bool {
	return r.rest != nil && c.after(r) > longest*9/10
}

// A rest is cut short when the peer shows that it is there, to the shortest pause, which is
// random as any; once within the longest pause, however often the peer comes and goes, and
// not where it refuses.
func TestARestIsCutShortOnceInTheLongestPause(t *testing.T) {
	clock := &setClock{now: time.Unix(1000, 0)}
	l := New(Options{Self: "A", Peer: "B", Scheduler: task.Goroutines{Clock: clock}, Random: never})
	l.core = core.New(core.Config{Self: "A", Peer: "B", Incarnation: record.Incarnation{1}, Session: 1})
	r := newRoute(Route{Name: RouteAMQP})
	l.routes = []*route{r}

	resting(l, r, 10)
	l.hurry(r)
	if !shortened(clock, r) || r.attempts != 11 {
		t.Errorf("heard: the rest is %s after %d attempts", clock.after(r), r.attempts)
	}
	for range 10 {
		clock.now = clock.now.Add(lastBackoff / 11)
		resting(l, r, 10)
		l.hurry(r)
		if !unshortened(clock, r, lastBackoff) {
			t.Errorf("heard again and again: the rest is %s", clock.after(r))
		}
	}
	clock.now = clock.now.Add(lastBackoff)
	resting(l, r, 0)
	before := r.rest.until
	l.hurry(r)
	if r.rest.until != before {
		t.Error("the shortest rest was put off")
	}
	l.standing.Stop, l.standing.Refused = &frame.Stop{}, true
	resting(l, r, 0)
	l.hurry(r)
	if !unshortened(clock, r, lastBackoff) {
		t.Errorf("a peer that refuses is asked after %s", clock.after(r))
	}
	l.standing.Stop, l.standing.Refused = nil, false
	l.hurry(r)
	if !shortened(clock, r) {
		t.Errorf("heard after a long time: the rest is %s", clock.after(r))
	}
	p := &pipe{via: 7}
	direct := newRoute(Route{Name: RouteDirect})
	l.routes = append(l.routes, direct)
	resting(l, direct, 10)
	l.hurryOthers(p)
	if shortened(clock, direct) {
		t.Error("a direct connection is there, and another is dialed soon")
	}
	p.route = &route{Route: Route{Name: RouteAMQP}}
	l.hurryOthers(p)
	if !shortened(clock, direct) {
		t.Errorf("heard over the broker: the direct way rests for %s", clock.after(direct))
	}
}

// A timer that fires when its rest was cut short already ends that rest, and not the next.
func TestATimerEndsItsOwnRest(t *testing.T) {
	clock := &setClock{now: time.Unix(1000, 0)}
	l := New(Options{Self: "A", Peer: "B", Scheduler: task.Goroutines{Clock: clock}, Random: never})
	r := newRoute(Route{Name: RouteAMQP})
	l.routes = []*route{r}
	l.rest(r)
	r.wake()
	l.rest(r)
	clock.fires[0]()
	l.rested()
	if r.rest == nil {
		t.Fatal("the timer of a rest that was past ended the next one")
	}
	clock.fires[1]()
	l.rested()
	if r.rest != nil {
		t.Fatal("a rest does not end with its timer")
	}
}
