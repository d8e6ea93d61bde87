package link

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/rs/zerolog"

	"fmqm/internal/failpoint"
	"fmqm/internal/task"
	"fmqm/link/core"
	"fmqm/link/frame"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/lane"
	"fmqm/queue/record"
)

// Options says what a Link connects. All fields but those marked, or with a default, are needed.
type Options struct {
	Self, Peer  processtable.NodeID
	Incarnation record.Incarnation // of this node's store
	Session     uint64             // random for each link that a daemon makes, not 0
	Outbox      Outbox
	Inbox       Inbox
	Peers       Peers
	Routes      []Route   // none: the peer calls; at most one of each name
	Responder   Responder // nil: queries are answered with an error
	Logger      zerolog.Logger
	Scheduler   task.Scheduler // runs what the link does, and tells it the time; default: task.Goroutines
	// Formats is what the link says that this node reads, and with it the newest frames that it
	// sends; zero: what this program reads. Tests have a site of another version with it.
	Formats frame.Formats
	OnState func(Status)   // optional; called from the link's task on each change, also of a transport; must not block
	Random  func() float64 // in [0, 1): the jitter of dialing; default: of Session
}

// Link is the shell around a Core: one task, and two for each connection. Its methods are
// safe for concurrent use.
type Link struct {
	o     Options
	sched task.Scheduler

	ctx    context.Context
	cancel context.CancelFunc
	quit   *task.Gate // open once the link is to stop
	tasks  *task.Group
	inputs *task.Queue[input] // of the link's task

	// Owned by the link's task.
	core         *core.Core
	backlog      []core.Event
	standing     core.Standing // of the core, after its last step
	pipes        []*pipe       // in the order of their coming
	lastVia      core.Via
	lastDecision core.DecisionID
	ticking      bool
	routes       []*route
	accepts      map[core.Token]context.CancelFunc // end the waiting for room
	deciders     map[core.DecisionID]*task.Answer[error]
	reason       string
	stopTick     func() bool

	queries queries

	mu        sync.Mutex // for what Status tells
	shown     shown
	changed   *task.Gate // opened and made anew when shown's state or reason changes
	conns     map[core.Via]Conn
	told      []string // reasons for this state that were logged
	lastHeard atomic.Int64
}

var _ Outbox = (*lane.Transmission)(nil)

// input is what comes to the link's task: an event of the core, or what is to be done there.
type input struct {
	event core.Event
	call  func()
	conn  Conn // that call brings: it is closed if the link stops before
}

// maxInputs is how many inputs wait, beside those that are few by themselves: whoever reads
// from a connection waits then.
const maxInputs = 8

// New gives a Link that does nothing before Start.
func New(o Options) *Link {
	if o.Scheduler == nil {
		o.Scheduler = task.Goroutines{}
	}
	if o.Formats == (frame.Formats{}) {
		o.Formats = frame.Current()
	}
	if o.Random == nil {
		o.Random = rand.New(rand.NewPCG(o.Session, 0)).Float64
	}
	by := o.Scheduler
	l := &Link{
		o:        o,
		sched:    by,
		quit:     by.Gate(),
		tasks:    task.NewGroup(by),
		inputs:   task.NewQueue[input](by, maxInputs),
		accepts:  map[core.Token]context.CancelFunc{},
		deciders: map[core.DecisionID]*task.Answer[error]{},
		conns:    map[core.Via]Conn{},
		changed:  by.Gate(),
		queries:  queries{last: uint64(o.Random() * (1 << 53)), pending: map[uint64]*task.Answer[answer]{}, slots: task.NewPlaces(by, maxAnswering), asking: task.NewPlaces(by, maxAnswering)},
	}
	l.ctx, l.cancel = by.WithCancel(context.Background())
	for _, r := range o.Routes {
		l.routes = append(l.routes, newRoute(r))
	}
	l.shown.State = StateConnecting
	if len(o.Routes) == 0 {
		l.shown.State, l.shown.Reason = StateWaiting, l.willCall()
	}
	l.reason = l.shown.Reason
	return l
}

func (l *Link) willCall() string {
	return "no address is configured: site " + string(l.o.Peer) + " will call"
}

// Start begins; call it once. It does not wait for a connection.
func (l *Link) Start() { l.tasks.Go(l.loop) }

// Stop closes the connections and waits, until ctx ends, for the link's tasks. What was not
// acknowledged stays in the outbox.
func (l *Link) Stop(ctx context.Context) error {
	l.mu.Lock()
	if !l.quit.IsOpen() {
		l.quit.Open()
	}
	l.mu.Unlock()
	l.cancel()
	if err := l.tasks.Wait(ctx); err != nil {
		return errors.New("stop link to " + string(l.o.Peer) + ": " + err.Error())
	}
	return nil
}

// Attach gives a started link a connection that the peer opened, and the hello that was
// read from it. The connection is the link's from then on.
func (l *Link) Attach(conn Conn, hello *frame.Frame) {
	l.hand(conn, func() {
		via := l.add(conn, nil)
		l.step(core.Connected{Via: via, Rank: rank(RouteDirect)})
		l.step(core.Received{Via: via, Frame: hello})
	})
}

// hand gives the link's task a connection, which call takes over. Where the link is stopped
// it is closed.
func (l *Link) hand(conn Conn, call func()) {
	if l.inputs.Put(l.ctx, input{call: call, conn: conn}) != nil {
		_ = conn.Close()
	}
}

// do has f done by the link's task, unless the link is stopped. It waits while the task has
// much to do, and not for f.
func (l *Link) do(f func()) bool { return l.inputs.Put(l.ctx, input{call: f}) == nil }

func (l *Link) post(e core.Event) { _ = l.inputs.Put(l.ctx, input{event: e}) }

func (l *Link) loop() {
	defer l.shutdown()
	l.begin()
	wakes := []task.Signal{l.inputs.Filled(), l.o.Outbox.Wake()}
	for l.ctx.Err() == nil {
		l.keepUp()
		which, err := l.sched.Wait(l.ctx, wakes...)
		switch {
		case err != nil:
			return
		case which == 1:
			l.step(core.Woken{Last: l.lasts()})
		default:
			l.input()
		}
	}
}

// input takes what has come first.
func (l *Link) input() {
	in, ok := l.inputs.TryTake()
	if !ok {
		return
	}
	if in.call != nil {
		in.call()
		return
	}
	if e, ok := in.event.(core.Accepted); ok {
		l.accepts[e.Token]()
		delete(l.accepts, e.Token)
	}
	l.step(in.event)
}

// begin makes the core of what the store holds.
func (l *Link) begin() {
	now, err := l.load()
	l.core = core.New(core.Config{Self: l.o.Self, Peer: l.o.Peer, Incarnation: l.o.Incarnation, Session: l.o.Session, Formats: l.o.Formats, Stored: now})
	l.standing = l.core.Standing()
	if err != nil {
		l.step(core.Broken{Err: err})
	}
	l.mu.Lock()
	l.shown.transports, _ = l.transports(nil)
	l.mu.Unlock()
}

func (l *Link) load() (core.Stored, error) {
	now := core.Stored{Last: l.lasts()}
	now.Known, _ = l.o.Peers.Known()
	for lane := range message.Lane(record.Lanes) {
		now.Low[lane] = l.o.Outbox.Low(lane)
		now.Accepted[lane] = l.o.Inbox.Accepted(lane)
	}
	var err error
	if now.Begin, err = l.o.Peers.Began(); err != nil {
		return now, fmt.Errorf("read where the conversation with site %s began: %w", l.o.Peer, err)
	}
	return now, nil
}

func (l *Link) lasts() (last [record.Lanes]record.Position) {
	for lane := range message.Lane(record.Lanes) {
		last[lane] = l.o.Outbox.Last(lane)
	}
	return last
}

func (l *Link) shutdown() {
	if l.stopTick != nil {
		l.stopTick()
	}
	for _, r := range l.routes {
		r.end()
	}
	for _, p := range l.pipes {
		_ = p.conn.Close()
	}
	l.showEnd()
	for _, in := range l.inputs.Close() {
		if in.conn != nil {
			_ = in.conn.Close()
		}
	}
	l.queries.fail(ErrNotConnected)
}

// step gives the core an event and carries out what it wants, with what follows.
func (l *Link) step(e core.Event) {
	l.backlog = append(l.backlog, e)
	for len(l.backlog) > 0 {
		e := l.backlog[0]
		l.backlog = l.backlog[1:]
		effects := l.core.Step(e)
		l.standing = l.core.Standing() // before anybody is told: who decided looks at what has come of it
		for _, effect := range effects {
			l.perform(effect)
		}
	}
	l.backlog = nil
}

func (l *Link) perform(effect core.Effect) {
	switch e := effect.(type) {
	case core.Send:
		if p := l.pipe(e.Via); p != nil {
			p.send(e.Frame)
			passSent(e.Frame)
		}
	case core.Close:
		if e.Reason != "" {
			l.reason = e.Reason
		}
		if p := l.pipe(e.Via); p != nil {
			p.why = e.Reason
			p.finish()
		}
	case core.Read:
		items, err := l.o.Outbox.Read(e.Lane, e.From, e.MaxBytes)
		l.backlog = append(l.backlog, core.Items{Token: e.Token, Lane: e.Lane, From: e.From, Items: items, Err: err})
	case core.Reads:
		l.o.Outbox.PeerReads(e.Reads)
	case core.Trim:
		failpoint.Hit("link.confirmed")
		l.o.Outbox.Trim(e.Lane, e.Number)
	case core.Accept:
		ctx, cancel := l.sched.WithCancel(l.ctx)
		l.accepts[e.Token] = cancel
		l.tasks.Go(func() { l.accept(ctx, e) })
	case core.Withdraw:
		l.accepts[e.Token]()
	case core.Bind:
		l.tasks.Go(func() { l.post(core.Bound{Token: e.Token, Err: l.o.Peers.Bind(e.Incarnation)}) })
	case core.Begin:
		l.tasks.Go(func() { l.post(core.Begun{Token: e.Token, Err: l.o.Peers.Begin(e.At)}) })
	case core.Rebind:
		l.tasks.Go(func() { l.post(core.Rebound{Token: e.Token, Err: l.o.Peers.Rebind(e.Incarnation)}) })
	case core.Load:
		now, err := l.load()
		l.backlog = append(l.backlog, core.Loaded{Token: e.Token, Now: now, Err: err})
	case core.Decided:
		l.decided(e)
	case core.Resumed:
		l.resumed()
	case core.Way:
		if p := l.pipe(e.Via); p != nil {
			l.stands(p, e)
		}
	case core.Deliver:
		l.deliver(e.Frame)
	case core.Uncarried:
		l.queries.resolve(e.Frame.Query.ID, answer{err: l.unreachable()})
	case core.Up:
		l.reason = ""
	case core.Down:
		l.queries.fail(ErrNotConnected)
	case core.Stopped:
		l.reason = e.Stop.Reason
	}
}

// accept waits until the store has room, then gives it the items; ctx ends the waiting.
// Meanwhile the link goes on reading, within the window, and answering.
func (l *Link) accept(ctx context.Context, e core.Accept) {
	answer := func(err error) { // does not wait: one each lane at most is under way
		l.inputs.Push(input{event: core.Accepted{Token: e.Token, Lane: e.Lane, At: l.o.Inbox.Accepted(e.Lane), Err: err}})
	}
	paused := func(reason string) { l.post(core.Paused{Token: e.Token, Lane: e.Lane, Reason: reason}) }
	if err := l.o.Inbox.Capacity(ctx, paused); err != nil {
		answer(err)
		return
	}
	failpoint.Hit("link.received")
	l.o.Inbox.Accept(Batch{From: e.Incarnation, Lane: e.Lane, After: e.After, Items: e.Items}, func(err error) {
		failpoint.Hit("link.accepted")
		answer(err)
	})
}

// passSent passes the points behind a frame.
func passSent(f *frame.Frame) {
	switch f.Type {
	case frame.TypeData:
		failpoint.Hit("link.sent")
	case frame.TypeAck:
		failpoint.Hit("link.acknowledged")
	case frame.TypeHello, frame.TypeGap, frame.TypeQuery, frame.TypeReply, frame.TypeStop:
	}
}

// keepUp does what the core's state asks for after each event.
func (l *Link) keepUp() {
	if l.core.Restless() && !l.ticking {
		l.ticking = true
		l.stopTick = l.sched.AfterFunc(core.TickInterval, func() { l.inputs.Push(input{call: l.tick}) })
	}
	l.keepRoutes()
	l.publish()
}

func (l *Link) tick() {
	l.ticking = false
	l.step(core.Tick{})
}
