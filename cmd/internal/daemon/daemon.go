// Package daemon assembles a node from its configuration: store, programs, node,
// listeners. All of it starts, or nothing is left behind. fmqmd runs one, its demo
// runs four.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"fmqm/api"
	"fmqm/identity"
	"fmqm/internal/store/badger"
	"fmqm/internal/task"
	"fmqm/link/amqp"
	"fmqm/link/https"
	"fmqm/node"
	"fmqm/node/config"
	"fmqm/node/logs"
	"fmqm/node/retention"
	"fmqm/node/trust"
	"fmqm/processtable"
	"fmqm/program"
	"fmqm/queue/record"
	"fmqm/staff"
)

// Options make a daemon.
type Options struct {
	Config  *config.Config
	Log     zerolog.Logger
	Observe func(processtable.NodeID, record.AuditRecord) // optional; see node.Options
	Version string                                        // of this build, for metrics
	Reload  func(context.Context) error                   // optional; what a request for a reload does: it calls Daemon.Reload
}

// Daemon is a running node with its listeners.
type Daemon struct {
	Node      *node.Node
	log       zerolog.Logger
	servers   []*http.Server
	registry  *program.Registry
	ledger    *program.Ledger
	groups    *program.Groups // nil: programs have none
	again     func(context.Context) error
	metrics   *metrics
	identity  *identity.Identity // nil: none
	config    atomic.Pointer[config.Config]
	links     *links                      // of the present configuration; whoever reloads and stops owns it
	broker    atomic.Pointer[amqp.Broker] // that of links, for who asks how it is
	directory atomic.Pointer[directory]   // that says who works here; nil: none does. Whoever reloads and stops changes it
	told      *told
	askers    askers
	address   string
	accept    context.Context
	refuse    context.CancelFunc
	failed    chan error
	end       task.Ending
}

// Start starts a daemon. What it returns an error for, it has taken back.
func Start(o Options) (d *Daemon, err error) {
	c := o.Config
	log := o.Log.With().Str("node", string(c.Node)).Logger()
	for _, w := range c.Warnings() {
		log.Warn().Msg(w)
	}
	d = &Daemon{log: log, again: o.Reload, failed: make(chan error, 4), metrics: newMetrics(o.Version), told: newTold()}
	d.config.Store(c)
	d.accept, d.refuse = context.WithCancel(context.Background())
	var undo []func()
	refuse := d.refuse // d is nil when an error is returned
	defer func() {
		if err == nil {
			return
		}
		refuse()
		for i := len(undo) - 1; i >= 0; i-- {
			undo[i]()
		}
	}()

	if d.identity, err = openIdentity(c); err != nil {
		return nil, err
	}
	if d.links, err = newLinks(c, d.identity, nil, log, d.stranger); err != nil {
		return nil, err
	}
	d.broker.Store(d.links.broker)
	port, err := d.listen(c)
	if err != nil {
		return nil, err
	}
	if port != nil {
		undo = append(undo, func() { _ = port.Close() })
	}
	socket, err := UntilFree(func() (net.Listener, error) { return api.ListenSocket(c.Socket) })
	if err != nil {
		return nil, err
	}
	undo = append(undo, func() { _ = socket.Close() })
	work, err := listenWork(c)
	if err != nil {
		return nil, err
	}
	if work != nil {
		undo = append(undo, func() { _ = work.Close() })
	}
	engine, err := UntilFree(func() (*badger.Engine, error) {
		return badger.Open(badger.Options{Dir: c.Data, Space: badger.Space{
			Free: c.Limits.Free, Stop: c.Limits.Stop, Reserve: c.Limits.Reserve,
		}})
	})
	if err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	if exposed := engine.Exposed(); exposed != "" {
		log.Warn().Msg("the data directory: " + exposed + ": it holds all that processes carry, and what peers trust this node by")
	}
	if err := d.openPrograms(c); err != nil {
		return nil, errors.Join(err, engine.Close())
	}
	undo = append(undo, d.closePrograms)
	directory, staff, err := d.openDirectory(c)
	if err != nil {
		return nil, errors.Join(err, engine.Close())
	}
	options := node.Options{
		Name: c.Node, Engine: &timed{Engine: engine, commits: d.metrics.commits}, Registry: d.registry, Log: o.Log,
		Peers: d.links.ways.Peers, Unlisted: d.links.ways.Unlisted,
		Limits: limits(c), Disk: engine, LogDir: filepath.Join(c.Data, "logs"), Definers: definers(c), Remote: remoteOperators(c), Staff: staff, Broker: d.brokerStatus,
	}
	if o.Observe != nil {
		options.Observe = func(r record.AuditRecord) { o.Observe(c.Node, r) }
	}
	if d.Node, err = node.Open(options); err != nil {
		return nil, errors.Join(err, engine.Close())
	}
	if directory != nil {
		d.directory.Store(directory)
		directory.begin() // before work is offered to nobody
	}
	d.metrics.watch(d.Node, c.Data, d.broker.Load)
	d.metrics.staff(d.directory.Load)
	d.metrics.certificate(d.identity)
	d.Node.Launch()
	d.links.start(nil) // the node knows by now from whom messages come
	go func() {
		if err, _, ended := d.Node.Failed().Wait(d.accept); ended == nil {
			d.failed <- err
		}
	}()
	go func() {
		select {
		case err := <-engine.Failed():
			d.failed <- fmt.Errorf("the store: %w", err)
		case <-d.accept.Done():
		}
	}()
	go d.watchExpiry()
	d.metrics.registry.MustRegister(&auditCollector{d.Node})
	if port != nil {
		d.serve(port, d.public(), d.byCaller)
	}
	d.serve(bounded(socket, maxOnSocket, 0, d.flooded), d.onSocket(), d.byCaller)
	if work != nil {
		d.serve(bounded(work, maxOnSocket, 0, d.flooded), d.onWorkSocket(), d.ofWork)
	}
	if c.Rights == nil {
		log.Info().Msg("the configuration has no rights: whoever may ask may do all")
	}
	return d, nil
}

func limits(c *config.Config) node.Limits {
	return node.Limits{
		Container: c.Limits.Container, Table: c.Limits.Table, Transmission: c.Limits.Transmission, Peer: c.Limits.Peer,
		Audit:       retention.Policy{Age: c.Audit.Age, Bytes: c.Audit.Bytes},
		Logs:        logs.Limits{Bytes: c.Logs.Bytes, Age: c.Logs.Age, Attempt: int(c.Logs.Attempt)},
		NoSchedules: c.NoSchedules, Retired: c.Retired,
		KeepEvents: c.Events.Keep, Events: c.Events.Limit, EventsOf: c.Events.From,
	}
}

// definers: who has an identity, so whose node others can reach, takes tables of those
// that it names and of nobody else. Without either whoever reaches the node may define.
func definers(c *config.Config) trust.Definers {
	d := trust.Definers{Required: c.Definers != nil || c.Identity != nil, Network: c.Network, OldSignatures: c.OldSignatures}
	for _, known := range c.Definers {
		d.Known = append(d.Known, trust.Definer(known))
	}
	return d
}

// remoteOperators are whose requests the node takes from other sites.
func remoteOperators(c *config.Config) trust.Operators {
	var all trust.Operators
	for _, o := range c.RemoteOperators {
		all = append(all, trust.Operator(o))
	}
	return all
}

// people are who works at the node; nil: nobody.
func people(c *config.Config) *staff.Staff {
	if c.Staff == nil {
		return nil
	}
	return c.Staff.People
}

// health is what everybody may ask, also without a certificate.
func (d *Daemon) health() http.Handler { return api.RefuseBrowsers(api.HealthHandler(d)) }

// once closes the connection after the answer: it is for what may be asked by who is
// nobody, and who is not to hold a connection with it.
func once(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		next.ServeHTTP(w, r)
	})
}

// local is what the daemon serves on both its listeners: the API, health and metrics.
func (d *Daemon) local() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /livez", d.health())
	mux.Handle("GET /readyz", d.health())
	mux.Handle("GET /metrics", api.RefuseBrowsers(d.known(api.Guard(api.RightViewer, d.metrics.handler()))))
	mux.Handle("/", d.commanded(d.known(api.Handler(d.Node))))
	return mux
}

// onSocket is what the local socket serves: all that, and backups, which are
// everything that the node knows.
func (d *Daemon) onSocket() http.Handler {
	mux := http.NewServeMux()
	mux.Handle(api.BackupPath, api.RefuseBrowsers(d.commanded(d.known(api.Guard(api.RightAdmin, api.BackupHandler(d.Node))))))
	mux.Handle("/", d.local())
	if d.again != nil {
		mux.Handle(api.ReloadPath, api.RefuseBrowsers(d.commanded(d.known(api.Guard(api.RightAdmin, api.ReloadHandler(d.again))))))
	}
	return notForPrograms(mux)
}

// onWorkSocket is what the staff's socket serves, to people of it: their work, and to start what they may.
func (d *Daemon) onWorkSocket() http.Handler {
	return notForPrograms(d.commanded(d.known(api.Handler(d.Node))))
}

// public is what the daemon's port serves: that, to those who may ask over the network,
// and links, to peers.
func (d *Daemon) public() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST "+https.Path, d.incoming())
	mux.Handle("GET /livez", once(d.health()))
	mux.Handle("GET /readyz", once(d.health()))
	asked := d.operators(d.local())
	if d.identity == nil { // with one, its certificate says whom a caller has reached
		asked = api.OwnHost(asked, d.config.Load().Listen)
	}
	mux.Handle("/", asked)
	return mux
}

// afresh takes away the deadline that the answer before left on a connection.
func afresh(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
		next.ServeHTTP(w, r)
	})
}

func (d *Daemon) serve(l net.Listener, h http.Handler, whose func(context.Context, net.Conn) context.Context) {
	s := &http.Server{
		Handler: afresh(h), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: log.New(handshakes{d.log, d.told}, "", 0), ConnContext: whose,
	}
	d.askers.track(s)
	d.servers = append(d.servers, s)
	go func() {
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			d.failed <- fmt.Errorf("serve %s: %w", l.Addr(), err)
		}
	}()
}

// Address is where the daemon listens, HOST:PORT; empty: on its socket only.
func (d *Daemon) Address() string { return d.address }

// Failed gives an error after which the daemon must stop: of a listener, or of the
// node's disk.
func (d *Daemon) Failed() <-chan error { return d.failed }

// Stop ends the daemon: no more requests, then the node. Requests under way get as
// long as ctx. Each call of Stop or Kill returns when the daemon has ended, with the same
// error.
func (d *Daemon) Stop(ctx context.Context) error { return d.end.Do(ctx, task.Goroutines{}, d.stop) }

func (d *Daemon) stop(ctx context.Context) error {
	d.refuse()
	d.directory.Load().stop()
	stopped := make(chan error, 1)
	go func() { stopped <- d.Node.Stop(ctx) }()
	var errs []error
	for _, s := range d.servers {
		if err := s.Shutdown(ctx); err != nil {
			_ = s.Close()
		}
	}
	errs = append(errs, <-stopped, d.links.stop(ctx, nil))
	d.registry.Close()
	errs = append(errs, d.ledger.Close())
	return errors.Join(errs...)
}

// Kill ends the daemon as a crash would, but for the files, which must be closed: no
// program is waited for and nothing is put in order. One that is being stopped is hurried.
func (d *Daemon) Kill() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := d.end.Do(ctx, task.Goroutines{}, d.kill)
	if errors.Is(err, context.Canceled) {
		return nil // that nothing was waited for is what was asked
	}
	return err
}

func (d *Daemon) kill(ctx context.Context) error {
	d.refuse()
	d.directory.Load().stop()
	for _, s := range d.servers {
		_ = s.Close()
	}
	err := d.Node.Stop(ctx)
	_ = d.links.stop(context.Background(), nil) // its sockets are closed at once
	d.registry.Close()
	_ = d.ledger.Release()
	return err
}
