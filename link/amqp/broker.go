package amqp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"fmqm/link"
	"fmqm/processtable"
)

const (
	firstBackoff = 200 * time.Millisecond
	lastBackoff  = 10 * time.Second
	// steadyAfter is how long a connection must have lasted for the pause after it to be
	// the first one again.
	steadyAfter = 10 * time.Second
	// connectTimeout is how long connecting, logging in and declaring may take together.
	connectTimeout = 60 * time.Second
)

// Broker is a daemon's access to a broker: two connections, and the peers behind them.
// Its methods are safe for concurrent use.
type Broker struct {
	o      Options
	target target
	// consumeFailures is how often in a row the node's queue let nobody consume, makeFailures how
	// often the broker failed to make it; only the goroutine of the consuming connection uses them.
	consumeFailures, makeFailures int

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	telling sync.Mutex // held while a change of state is made known: the last one told is the last one

	mu         sync.Mutex
	peers      map[processtable.NodeID]*peer
	conns      [2]role
	blocked    string // why the broker takes nothing; empty: it does
	blockedAt  time.Time
	blockedFor time.Duration // before that
	gate       chan struct{} // closed while it does
	changed    chan struct{} // closed and made anew when something above changes
	strangers  strangers
	status     Status
	told       []string // reasons for the present state that were logged
	counts     counts
}

// The two connections to the broker, by what each is for.
const (
	consuming = iota
	publishing
)

// role is the state of one of them.
type role struct {
	conn   connection // nil: none
	tries  int        // of connecting; says which connection an event is of
	reason string     // why there is none
}

// New checks the options and gives a Broker that does nothing before Start.
func New(o Options) (*Broker, error) {
	t, err := o.prepare()
	if err != nil {
		return nil, err
	}
	b := &Broker{
		o: o, target: t,
		peers:     map[processtable.NodeID]*peer{},
		gate:      make(chan struct{}),
		changed:   make(chan struct{}),
		strangers: strangers{present: map[processtable.NodeID]*stranger{}},
	}
	close(b.gate)
	b.ctx, b.cancel = context.WithCancel(context.Background())
	b.status = Status{State: StateConnecting, Since: o.Clock.Now(), Address: t.String(), Queue: t.queue}
	return b, nil
}

// Start begins; call it once. It does not wait for a connection.
func (b *Broker) Start() {
	b.spawn(func() { b.supervise(consuming, b.receive) })
	b.spawn(func() { b.supervise(publishing, b.send) })
}

// Stop ends everything and waits, until ctx ends, for the goroutines.
func (b *Broker) Stop(ctx context.Context) error {
	b.cancel()
	done := make(chan struct{})
	go func() {
		b.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stop the connection to the broker %s: %w", b.target.addr, ctx.Err())
	}
}

func (b *Broker) spawn(f func()) {
	b.wg.Add(1)
	go func() {
		defer b.wg.Done()
		f()
	}()
}

// Address is that of the broker, without secrets.
func (b *Broker) Address() string { return b.target.String() }

// Dialer gives what dials peer through the broker. From then on peer is known here,
// until Forget.
func (b *Broker) Dialer(peer processtable.NodeID) link.Dialer { return dialer{b, peer} }

// Forget lets go of a peer to which there is no link any more.
func (b *Broker) Forget(id processtable.NodeID) {
	b.mu.Lock()
	p := b.peers[id]
	delete(b.peers, id)
	b.mu.Unlock()
	if p != nil {
		p.forget()
	}
}

// Renew has every session begin anew, such as after this node's certificate was replaced:
// peers know the new one before the old one ends. The sessions that are there stay until
// then.
func (b *Broker) Renew() {
	for _, p := range b.all() {
		p.mu.Lock()
		var err error
		if p.session.Ready() {
			err = p.ask(true)
		}
		c := p.conn
		p.mu.Unlock()
		if err != nil && c != nil {
			c.fail(err)
		}
	}
}

// peer gives the peer, made at need.
func (b *Broker) peer(id processtable.NodeID) *peer {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.peers[id]
	if p != nil || b.ctx.Err() != nil {
		return p
	}
	if p = b.promote(id); p == nil {
		p = newPeer(b, id)
		b.spawn(p.run)
	}
	b.peers[id] = p
	return p
}

// known gives the peer, or nil.
func (b *Broker) known(id processtable.NodeID) *peer {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.peers[id]
}

func (b *Broker) all() []*peer {
	b.mu.Lock()
	defer b.mu.Unlock()
	peers := make([]*peer, 0, len(b.peers))
	for _, p := range b.peers {
		peers = append(peers, p)
	}
	return peers
}

// supervise keeps one connection up: it connects, lets work use the connection until
// that ends, and rests. work calls up once it is ready.
func (b *Broker) supervise(which int, work func(connection, func()) error) {
	for attempts := 0; ; attempts++ {
		began := b.o.Clock.Now()
		err := b.connect(which, work)
		if b.ctx.Err() != nil {
			return
		}
		if b.down(which, err) && b.o.Clock.Now().Sub(began) >= steadyAfter {
			attempts = 0
		}
		pause := min(firstBackoff<<min(attempts, 10), lastBackoff)
		pause = pause/2 + time.Duration(b.o.Random()*float64(pause/2))
		if b.rest(b.ctx, pause) != nil {
			return
		}
	}
}

// rest waits for d of the Broker's clock.
func (b *Broker) rest(ctx context.Context, d time.Duration) error {
	over := make(chan struct{})
	stop := b.o.Clock.AfterFunc(d, func() { close(over) })
	defer stop()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

var roleNames = [...]string{consuming: "receive", publishing: "send"}

func (b *Broker) connect(which int, work func(connection, func()) error) error {
	ctx, cancel := context.WithTimeout(b.ctx, connectTimeout)
	defer cancel()
	on := connectionEvents{blocked: func(string) {}, free: func() {}}
	if which == publishing {
		b.mu.Lock()
		b.conns[publishing].tries++
		try := b.conns[publishing].tries
		b.mu.Unlock()
		on = connectionEvents{blocked: func(reason string) { b.block(try, reason) }, free: func() { b.block(try, "") }}
	}
	conn, err := b.o.open(ctx, b.target, "fmqm "+string(b.o.Self)+" "+roleNames[which], on)
	if err != nil {
		return err
	}
	// Whatever work waits for ends with the connection.
	release := context.AfterFunc(b.ctx, conn.Close)
	defer func() {
		if release() {
			conn.Close()
		}
		<-conn.Done()
	}()
	return work(conn, func() { b.up(which, conn) })
}

// send is the work of the publishing connection: peers publish on it by themselves.
func (b *Broker) send(conn connection, up func()) error {
	up()
	<-conn.Done()
	return conn.Err()
}

func (b *Broker) up(which int, conn connection) {
	b.mu.Lock()
	b.conns[which].conn, b.conns[which].reason = conn, ""
	b.change()
	b.mu.Unlock()
	b.publish()
}

// down notes that a connection is gone, or did not come about, and ends what depends on it. It
// says whether it had been up.
func (b *Broker) down(which int, err error) (was bool) {
	if err == nil {
		err = errors.New("the connection ended")
	}
	reason := b.target.explain(err)
	b.mu.Lock()
	was = b.conns[which].conn != nil
	b.conns[which].conn, b.conns[which].reason = nil, reason
	if which == publishing {
		b.unblock()
	}
	b.change()
	b.mu.Unlock()
	if was {
		b.counts.lost.Add(1)
		for _, p := range b.all() {
			p.brokerLost(reason)
		}
	}
	b.publish()
	return was
}

// block notes that the broker takes nothing, or with an empty reason that it does again.
func (b *Broker) block(try int, reason string) {
	b.mu.Lock()
	if l := b.conns[publishing]; l.tries != try || l.conn == nil {
		b.mu.Unlock()
		return
	}
	b.unblock()
	if reason != "" {
		b.blocked, b.gate, b.blockedAt = reason, make(chan struct{}), b.o.Clock.Now()
	}
	b.change()
	b.mu.Unlock()
	b.publish()
	for _, p := range b.all() {
		p.look()
	}
}

func (b *Broker) unblock() {
	if b.blocked != "" {
		b.blocked = ""
		b.blockedFor += b.o.Clock.Now().Sub(b.blockedAt)
		close(b.gate)
	}
}

func (b *Broker) change() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// link gives the connection to send on; nil unless both connections are up.
func (b *Broker) link() (conn connection, gate, changed <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.conns[consuming].conn != nil && b.conns[publishing].conn != nil {
		conn = b.conns[publishing].conn
	}
	return conn, b.gate, b.changed
}
