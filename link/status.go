package link

import (
	"fmt"
	"slices"
	"time"

	"fmqm/link/core"
	"fmqm/link/frame"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/lane"
	"fmqm/queue/record"
)

// Status is what is known of a link, for people.
type Status struct {
	Peer       processtable.NodeID
	State      State
	Reason     string    // why it is not connected or stopped, what to do, or what items wait for
	LastHeard  time.Time // zero: never since the daemon was started
	Waiting    uint64    // items in the transmission queue: a message, or a part of a large one
	Apart      uint64    // of these, those that wait apart: the peer does not read them yet (N17)
	Lacks      string    // what the peer lacks to read the first of them
	Bytes      uint64    // of their payloads
	Oldest     time.Time // when the oldest was put; zero if there is none
	Transports []TransportStatus
	Lanes      [record.Lanes]core.LaneStatus
	Connects   uint64 // times that it became connected, since the link was made
	Repeats    uint64 // items that came and had come before, since then: they were dropped
	// Stop is why it is stopped, nil if it is not; Presented is then the peer's new store,
	// where that is why, which Decide can take for known.
	Stop *frame.Stop
	// Reads is what the peer reads; nil where it is not connected.
	Reads     *message.Reads
	Presented record.Incarnation
}

// TransportStatus is one way to the peer: a route, or a connection that the peer opened.
type TransportStatus struct {
	Route   string
	State   State     // connected, standby or connecting; stopped: not dialed, since the link is stopped here
	Since   time.Time // of the state
	Dialed  bool      // by this side
	Address string    // that is dialed; empty where the peer called
	Reason  string    // why it is not connected
}

// shown is what Status tells of the link's task's state.
type shown struct {
	State      State
	Reason     string
	stop       *frame.Stop
	presented  record.Incarnation
	lanes      [record.Lanes]core.LaneStatus
	connects   uint64
	repeats    uint64
	reads      *message.Reads
	transports []shownTransport
}

type shownTransport struct {
	via   core.Via
	route *route
	TransportStatus
}

// Status tells how the link is. It reads the oldest item's record from the store.
func (l *Link) Status() Status {
	s := Status{Peer: l.o.Peer}
	l.mu.Lock()
	s.State, s.Reason, s.Stop, s.Presented, s.Lanes = l.shown.State, l.shown.Reason, l.shown.stop, l.shown.presented, l.shown.lanes
	s.Connects, s.Repeats, s.Reads = l.shown.connects, l.shown.repeats, l.shown.reads
	for _, t := range l.shown.transports {
		s.Transports = append(s.Transports, t.TransportStatus)
	}
	for _, c := range l.conns {
		l.heardOn(c)
	}
	l.mu.Unlock()
	if ns := l.lastHeard.Load(); ns != 0 {
		s.LastHeard = time.Unix(0, ns)
	}
	for lane := range message.Lane(record.Lanes) {
		low := l.o.Outbox.Low(lane).Number // first: what is put and confirmed in between makes it more, never less than none
		s.Waiting += l.o.Outbox.Last(lane).Number - low
	}
	if counter, ok := l.o.Outbox.(interface {
		Stats() (lane.Stats, error)
	}); ok {
		if stats, err := counter.Stats(); err == nil { // else the store says so elsewhere
			s.Bytes, s.Oldest, s.Apart, s.Lacks = stats.Bytes, stats.Oldest, stats.Apart, stats.Lacks
			s.Waiting += s.Apart
		}
		if s.Lacks != "" && s.State == StateConnected && s.Reason == "" {
			s.Reason = fmt.Sprintf("items that wait apart: %d; site %s cannot read them, it lacks %s: upgrade %s", s.Apart, s.Peer, s.Lacks, s.Peer)
		}
	}
	return s
}

// heardOn notes when the peer was heard on a connection that hears it also between frames.
// What is shown does not go back when that connection ends.
func (l *Link) heardOn(c Conn) {
	h, ok := c.(interface{ LastHeard() time.Time })
	if !ok || h.LastHeard().IsZero() {
		return
	}
	for at := h.LastHeard().UnixNano(); ; {
		last := l.lastHeard.Load()
		if at <= last || l.lastHeard.CompareAndSwap(last, at) {
			return
		}
	}
}

// publish makes a change of state known.
func (l *Link) publish() {
	at := &l.standing
	next := shown{State: StateWaiting, Reason: l.reason, stop: at.Stop, presented: at.Presented, lanes: at.Lanes, repeats: at.Repeats}
	switch {
	case at.Stop != nil:
		next.State, next.Reason = StateStopped, at.Stop.Reason
	case at.Established:
		next.State, next.Reason = StateConnected, at.Hindrance
	case len(l.routes) > 0:
		next.State = StateConnecting
	}
	l.mu.Lock()
	last := l.shown
	if next.State == StateConnected {
		if next.reads = last.reads; next.reads == nil || *next.reads != at.Reads { // after every event: it is made once
			reads := at.Reads
			next.reads = &reads
		}
	}
	next.connects = last.connects
	if next.State == StateConnected && last.State != StateConnected {
		next.connects++
	}
	moved := false
	next.transports, moved = l.transports(last.transports)
	l.shown = next
	turned := next.State != last.State || next.Reason != last.Reason
	if turned {
		l.changed.Open()
		l.changed = l.sched.Gate()
	}
	l.mu.Unlock()
	if !turned && !moved {
		return
	}
	if l.tell(next, next.State != last.State) {
		l.log(next)
	}
	if l.o.OnState != nil {
		l.o.OnState(l.Status())
	}
}

// showEnd has Status tell that the link has ended. It is no news for the log: whoever ended it says so.
func (l *Link) showEnd() {
	l.pipes = nil
	next := l.shown
	next.reads = nil
	next.transports, _ = l.transports(l.shown.transports)
	if next.State != StateStopped { // what an operator has to decide stays
		next.State, next.Reason = StateWaiting, "this site is stopping"
		if len(l.routes) > 0 {
			next.State = StateConnecting
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shown = next
}

// maxTold is how many reasons for one state are logged.
const maxTold = 4

// tell says whether a change is one for the log: of the state, or to a reason that was
// not told for this one. What is tried again and again fails for the same few.
func (l *Link) tell(next shown, turned bool) bool {
	if turned {
		l.told = nil
	}
	if next.Reason == "" || len(l.told) == maxTold || slices.Contains(l.told, next.Reason) {
		return turned
	}
	l.told = append(l.told, next.Reason)
	return true
}

// transports lists what there is, or gives last where nothing has moved: it is asked
// after every event.
func (l *Link) transports(last []shownTransport) (next []shownTransport, moved bool) {
	n, same := 0, true
	each := func(via core.Via, r *route, state State, reason string) {
		same = same && n < len(last) && last[n].via == via && last[n].route == r && last[n].State == state && last[n].Reason == reason
		n++
	}
	l.eachTransport(each)
	if same && n == len(last) {
		return last, false
	}
	now := l.sched.Now()
	next = make([]shownTransport, 0, n)
	l.eachTransport(func(via core.Via, r *route, state State, reason string) {
		t := shownTransport{via: via, route: r, TransportStatus: TransportStatus{Route: RouteDirect, State: state, Since: now, Reason: reason}}
		if r != nil {
			t.Route, t.Address, t.Dialed = r.Name, r.Address, true
		}
		i := slices.IndexFunc(last, func(s shownTransport) bool { return s.via == via && s.route == r && s.State == state })
		if i >= 0 {
			t.Since = last[i].Since
		}
		next = append(next, t)
	})
	return next, true
}

// served says whether a route is not dialed since a connection that the peer opened does for
// both: whatever went wrong when it was dialed last is old.
func (l *Link) served(r *route) bool {
	return r.Name == RouteDirect && slices.ContainsFunc(l.pipes, func(p *pipe) bool {
		return p.direct() && !p.leaving && p.way.Stands != core.Connecting
	})
}

// eachTransport visits the routes, then the connections that the peer opened and those
// of routes that are not wanted any more.
func (l *Link) eachTransport(visit func(core.Via, *route, State, string)) {
	for _, r := range l.routes {
		switch p := l.pipe(r.via); {
		case p != nil:
			visit(r.via, r, State(p.way.Stands), p.way.Reason)
		case r.Name == RouteDirect && l.stopped(): // what went wrong before is old
			visit(0, r, StateStopped, "")
		case l.served(r):
			visit(0, r, StateStandby, "")
		default:
			visit(0, r, StateConnecting, r.reason)
		}
	}
	for _, p := range l.pipes {
		if p.route == nil || p.route.gone {
			visit(p.via, p.route, State(p.way.Stands), p.way.Reason)
		}
	}
}

func (l *Link) log(s shown) {
	event := l.o.Logger.Warn()
	switch s.State {
	case StateConnected:
		if s.Reason == "" {
			event = l.o.Logger.Info()
		}
	case StateStopped:
		event = l.o.Logger.Error()
	case StateConnecting, StateWaiting, StateStandby, StateUnconfigured:
	}
	if s.Reason != "" {
		event = event.Str("reason", s.Reason)
	}
	event.Str("peer", string(l.o.Peer)).Str("state", string(s.State)).Msg("link")
}
