package link

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"fmqm/link/core"
	"fmqm/link/frame"
)

const (
	firstBackoff = 200 * time.Millisecond
	lastBackoff  = 30 * time.Second
	dialTimeout  = 15 * time.Second
	// steadyAfter is how long the peer must have been heard on a connection for the next
	// dial to start from firstBackoff again: one that breaks at once does not count.
	steadyAfter = 10 * time.Second
)

// route is a Route that is dialed, owned by the link's task.
type route struct {
	Route
	gone     bool // not wanted any more
	dialing  bool
	rest     *rest    // before the next dial; nil: there is none
	attempts int      // dials since the last steady connection
	via      core.Via // of the connection; 0: there is none
	reason   string
	hurried  time.Time // when a rest was last cut short
}

// rest is one pause before a dial. What ends it is its own: a timer that fires when its rest
// is past ends no other.
type rest struct {
	until  time.Time
	over   atomic.Bool
	stop   func() bool
	deafen context.CancelFunc // ends the listening for the peer; nil: there is none
}

func newRoute(r Route) *route { return &route{Route: r} }

func (r *route) end() {
	r.gone = true
	r.wake()
}

// wake ends a rest.
func (r *route) wake() {
	if r.rest == nil {
		return
	}
	r.rest.stop()
	if r.rest.deafen != nil {
		r.rest.deafen()
	}
	r.rest = nil
}

// SetRoutes changes how the peer is dialed. What is connected goes on: a route that
// stays is left alone, and the connection of one that does not is kept until the peer
// is heard on another. A link that stopped since the address led to another site tries
// again. It returns once the change is taken up.
func (l *Link) SetRoutes(routes []Route) {
	taken := l.sched.Gate()
	if l.do(func() { l.setRoutes(routes); taken.Open() }) {
		_, _ = l.sched.Wait(context.Background(), taken, l.quit)
	}
}

func (l *Link) setRoutes(routes []Route) {
	var next, left []*route
	var leaving []core.Event
	changed := false
	for _, want := range routes {
		i := slices.IndexFunc(l.routes, func(r *route) bool { return r.same(want) })
		if i < 0 {
			next, changed = append(next, newRoute(want)), true
			continue
		}
		next = append(next, l.routes[i])
	}
	for _, r := range l.routes {
		if slices.Contains(next, r) {
			continue
		}
		changed = true
		r.end()
		if p := l.pipe(r.via); p != nil {
			p.leaving = true
			leaving = append(leaving, core.Leaving{Via: p.via})
			continue
		}
		left = append(left, r)
	}
	l.routes = next
	for _, r := range left {
		l.forget(r)
	}
	if !changed {
		return
	}
	for _, e := range leaving {
		l.step(e)
	}
	if !l.standing.Established && (l.standing.Stop == nil || l.standing.Refused) {
		l.reason = ""
		if len(next) == 0 {
			l.reason = l.willCall()
		}
	}
	l.step(core.Rerouted{})
}

// keepRoutes dials what is to be dialed.
func (l *Link) keepRoutes() {
	for _, r := range l.routes {
		if l.wants(r) {
			r.dialing = true
			l.tasks.Go(func() { l.dial(r) })
		}
	}
}

// stands takes up how a connection stands. Where the peer is heard first, the rests of other
// ways are cut short.
func (l *Link) stands(p *pipe, now core.Way) {
	p.way = now
	if now.Stands != core.Connecting && p.met.IsZero() {
		p.met = l.sched.Now()
		l.forgive(p)
		l.hurryOthers(p)
	}
}

// forgive forgets what went wrong when the peer was dialed directly, once it is heard on a
// direct connection.
func (l *Link) forgive(p *pipe) {
	for _, r := range l.routes {
		if r.Name == RouteDirect && p.direct() {
			r.reason = ""
		}
	}
}

// wants says whether r is to be dialed now. A direct connection is good for both
// directions, whoever dialed it.
func (l *Link) wants(r *route) bool {
	if r.dialing || r.rest != nil || r.via != 0 {
		return false
	}
	if r.Name != RouteDirect {
		return true
	}
	if l.stopped() {
		return false
	}
	for _, p := range l.pipes {
		if p.direct() && !p.leaving {
			return false
		}
	}
	return true
}

// stopped says whether an operator here has to decide before the peer is dialed again.
func (l *Link) stopped() bool { return l.standing.Stop != nil && !l.standing.Refused }

func (p *pipe) direct() bool { return p.route == nil || p.route.Name == RouteDirect }

func (l *Link) dial(r *route) {
	ctx, cancel := l.sched.WithTimeout(l.ctx, dialTimeout)
	defer cancel()
	conn, err := r.Dialer.Dial(ctx)
	if err != nil {
		l.do(func() { l.failed(r, err) })
		return
	}
	l.hand(conn, func() { l.dialed(r, conn) })
}

func (l *Link) dialed(r *route, conn Conn) {
	r.dialing = false
	if r.gone {
		_ = conn.Close()
		l.forget(r)
		return
	}
	r.reason = ""
	r.via = l.add(conn, r)
	l.step(core.Connected{Via: r.via, Dialed: true, Rank: rank(r.Name), Shared: r.Name != RouteDirect})
}

// failed: a dial has.
func (l *Link) failed(r *route, err error) {
	r.dialing = false
	if r.gone {
		l.forget(r)
		return
	}
	r.reason = frame.Cut(err.Error())
	if !l.standing.Established && l.standing.Stop == nil {
		l.reason = r.reason
	}
	l.rest(r)
}

// restAfter puts the next dial of a route off whose connection ended; that of the
// direct one also where the peer's ended.
func (l *Link) restAfter(p *pipe, why string) {
	for _, r := range l.routes {
		switch {
		case r == p.route:
			r.via, r.reason = 0, why
			if !p.met.IsZero() && l.sched.Now().Sub(p.met) >= steadyAfter {
				r.attempts = 0
			}
			l.rest(r)
		case p.direct() && r.Name == RouteDirect && r.via == 0 && !r.dialing:
			l.rest(r)
		}
	}
}

// rest puts the next dial off: 0.2 s, doubling to 30 s, of which the last half is
// random so that sites do not call in step. New messages do not shorten it. A peer
// that refuses is asked at the longest pause.
func (l *Link) rest(r *route) {
	if r.rest != nil || r.gone {
		return
	}
	pause := min(firstBackoff<<min(r.attempts, 10), lastBackoff)
	if l.standing.Refused {
		pause = lastBackoff
	}
	r.attempts++
	l.restFor(r, pause)
	l.listen(r)
}

func (l *Link) restFor(r *route, pause time.Duration) {
	pause = pause/2 + time.Duration(l.o.Random()*float64(pause/2))
	now := &rest{until: l.sched.Now().Add(pause)}
	r.rest = now
	now.stop = l.sched.AfterFunc(pause, func() {
		now.over.Store(true)
		l.inputs.Push(input{call: l.rested})
	})
}

// listen has a route that rests hear the peer, where its dialer can.
func (l *Link) listen(r *route) {
	listener, ok := r.Dialer.(Listener)
	if !ok {
		return
	}
	ctx, cancel := l.sched.WithCancel(l.ctx)
	r.rest.deafen = cancel
	l.tasks.Go(func() {
		if listener.Heard(ctx) == nil {
			l.do(func() {
				if ctx.Err() == nil {
					l.hurry(r)
				}
			})
		}
	})
}

// hurryOthers cuts the rests of the other ways short: the peer is heard on p.
func (l *Link) hurryOthers(p *pipe) {
	for _, r := range l.routes {
		if r.via != p.via && (r.Name != RouteDirect || !p.direct()) {
			l.hurry(r)
		}
	}
}

// hurry cuts a rest short, since the peer is there: the next dial follows after the first
// and shortest pause. Only once within the longest one: whoever comes and goes makes no
// more than twice as many dials. A peer that refuses is left alone.
func (l *Link) hurry(r *route) {
	now := l.sched.Now()
	if r.rest == nil || r.gone || l.standing.Stop != nil || r.rest.until.Sub(now) <= firstBackoff ||
		!r.hurried.IsZero() && now.Sub(r.hurried) < lastBackoff {
		return
	}
	r.hurried = now
	r.wake()
	l.restFor(r, firstBackoff)
}

// forget lets go of a route that is gone, unless another of its name has followed it.
func (l *Link) forget(r *route) {
	f, ok := r.Dialer.(Forgetter)
	if ok && !r.dialing && !slices.ContainsFunc(l.routes, func(s *route) bool { return s.Name == r.Name }) {
		l.tasks.Go(f.Forget)
	}
}

// rested: the time of some route has come.
func (l *Link) rested() {
	for _, r := range l.routes {
		if r.rest != nil && r.rest.over.Load() {
			r.wake()
		}
	}
}
