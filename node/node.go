package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"fmqm/api"
	"fmqm/behaviour"
	"fmqm/internal/store"
	"fmqm/internal/task"
	"fmqm/link"
	"fmqm/link/frame"
	"fmqm/node/admission"
	"fmqm/node/answer"
	"fmqm/node/command"
	"fmqm/node/erase"
	"fmqm/node/events"
	"fmqm/node/execute"
	"fmqm/node/logs"
	"fmqm/node/rebuild"
	"fmqm/node/retention"
	"fmqm/node/schedules"
	"fmqm/node/tables"
	"fmqm/node/trust"
	"fmqm/node/work"
	"fmqm/processtable"
	"fmqm/program"
	"fmqm/queue"
	"fmqm/queue/record"
	"fmqm/staff"
)

// Options make a node. Name, Engine and Registry must be set.
type Options struct {
	Name     processtable.NodeID
	Engine   store.Engine // the node closes it
	Registry *program.Registry
	// Behaviours are those that rows of tables may name; nil: all rows are FlowMark's.
	Behaviours behaviour.Registry
	Peers      map[processtable.NodeID]Peer
	Unlisted   func(processtable.NodeID) (Peer, bool) // see Ways
	Log        zerolog.Logger
	// Scheduler runs what the node does, and tells it the time; default: task.Goroutines.
	Scheduler task.Scheduler
	Random    io.Reader // of incarnation and session; default: crypto/rand

	CacheEntries int           // entries in memory, of all process queues together, beyond those in execution; default 8,192
	CacheBytes   int           // and their bytes; default 32 MiB
	DirtyLimit   int           // entries whose newcomers wait in memory, beyond which links and starts wait; default 50,000
	Grace        time.Duration // for programs that run when the node stops; default 10 s
	Limits       Limits
	Disk         Disk // nil: room is never low
	// LogDir is where it is kept what programs write; empty: nowhere.
	LogDir   string
	Definers trust.Definers
	Remote   trust.Operators // whose requests over links are taken; nil: nobody's
	Staff    *staff.Staff    // who works here; nil: nobody
	// Formats are what this node's links say that it reads; zero: what this program reads. Tests
	// have a site of the version before with frame.Before.
	Formats frame.Formats

	// Broker, if not nil, tells of the access to the broker; one without an address is none.
	// It must not block for long.
	Broker func() api.Broker
	// Observe, if not nil, is told of every audit record once it is on disk. It is called from
	// several goroutines, the committer's among them: it must not block, and must not change the record.
	Observe func(record.AuditRecord)
}

// Limits that this node sets below those of the language, in bytes; 0: as the language.
type Limits struct {
	Container int // of one container, encoded
	Table     int // of one process table, encoded
	// Transmission is the quota of each transmission queue (S3). It may be exceeded by
	// what the work sends that was under way when it was reached.
	Transmission int64
	// Peer is the quota of what one peer has sent that nothing here takes up (queue.Usage): at
	// it that peer's link is paused.
	Peer int64
	// Audit says how much of the audit queue is kept; the zero value: everything.
	Audit retention.Policy
	// Logs says how much is kept of what programs write; the zero value: nothing.
	Logs logs.Limits
	// KeepEvents is how long events are kept here unless who sends one says so (N24); 0: EventsKept. Events is how
	// many may be; 0: EventsLimit.
	KeepEvents time.Duration
	Events     int
	EventsOf   []processtable.NodeID // peers whose events are taken; nil: all peers'
	// Retired is how long a version has to be retired before this site gives its final word (N31); nil: RetiredFor.
	Retired *time.Duration
	// NoSchedules: nothing is started by a schedule.
	NoSchedules bool
}

// How long events are kept, and how many at a node, unless the configuration says otherwise.
const (
	EventsKept  = 7 * 24 * time.Hour
	EventsLimit = 100_000
)

// RetiredFor is how long a version can be taken back at a site, at least, unless the configuration says otherwise.
const RetiredFor = 7 * 24 * time.Hour

func (l *Limits) keepEvents() time.Duration { return cmp.Or(l.KeepEvents, EventsKept) }

// Peer is how a site is reached: over the best of its routes that works. Without any
// the peer calls. A route whose address stays is left alone when the configuration is
// read again.
type Peer struct {
	Routes []link.Route
}

func (o *Options) defaults() {
	if o.Scheduler == nil {
		o.Scheduler = task.Goroutines{}
	}
	if o.CacheEntries == 0 {
		o.CacheEntries = 8192
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = 32 << 20
	}
	if o.Grace == 0 {
		o.Grace = 10 * time.Second
	}
}

// Node is the node manager (paper §3.2): it owns the queues, a process thread for each
// process table, and a link to each peer. Its methods are safe for concurrent use.
type Node struct {
	name    processtable.NodeID
	options Options
	log     zerolog.Logger
	sched   task.Scheduler
	queue   *queue.Manager
	session uint64

	programs atomic.Pointer[program.Registry]
	limits   atomic.Pointer[Limits]
	staff    atomic.Pointer[staff.Staff]
	running  context.Context // ends when programs are to end
	kill     context.CancelFunc
	begins   context.Context // ends when no program is to begin any more
	rest     context.CancelFunc

	mu        sync.Mutex // held while nothing is read and nothing is waited for: the committer takes it
	processes map[processtable.ProcessID]*execute.Thread
	events    *execute.Thread // of the event queue; of no process, so not among them
	links     map[processtable.NodeID]*link.Link
	started   bool
	stopped   bool

	admission *admission.Admission
	execution *execute.Execution
	setAside  atomic.Uint64 // messages that were refused
	absorbed  atomic.Uint64 // messages that came late for what was removed
	answers   *answer.Answers
	tables    *tables.Tables
	commands  *command.Commands
	rebuilds  *rebuild.Rebuilds
	retain    *retention.Retention
	eraser    *erase.Eraser
	schedules *schedules.Schedules
	postbox   *events.Events
	desk      *work.Desk
	// query is queryPeer; tests have their own.
	query    func(ctx context.Context, peer processtable.NodeID, kind string, body []byte) ([]byte, error)
	pressure *pressure
	logs     *logs.Logs
	failed   *task.Answer[error]
	tasks    *task.Group // that end with running; those of threads are their own
	parking  *task.Group // and of what has waited for tables
	cleanUps cleanUps    // of a start that fails, and of Stop
	end      task.Ending
}

// Open opens a node on its store. It does nothing until Launch.
func Open(o Options) (*Node, error) {
	o.defaults()
	manager, err := queue.Open(o.Engine, queue.Options{
		Node: o.Name, Scheduler: o.Scheduler, Rand: o.Random, DirtyLimit: o.DirtyLimit,
		Migrating: func(from, to byte) {
			o.Log.Info().Uint8("from", from).Uint8("to", to).Msg("the store is brought to another format: nothing else happens meanwhile")
		},
	})
	if err != nil {
		return nil, fmt.Errorf("open node %s: %w", o.Name, err)
	}
	n := &Node{
		name: o.Name, options: o, sched: o.Scheduler, queue: manager,
		log:       o.Log.With().Str("node", string(o.Name)).Logger(),
		session:   newSession(o.Random),
		processes: map[processtable.ProcessID]*execute.Thread{},
		links:     map[processtable.NodeID]*link.Link{},
		failed:    task.NewAnswer[error](o.Scheduler),
		tasks:     task.NewGroup(o.Scheduler),
		parking:   task.NewGroup(o.Scheduler),
	}
	n.running, n.kill = n.sched.WithCancel(context.Background())
	n.begins, n.rest = n.sched.WithCancel(n.running)
	n.query = n.queryPeer
	n.pressure = &pressure{node: n, full: map[processtable.NodeID]bool{}}
	n.logs = logs.New(logs.Options{Dir: o.LogDir, Limits: o.Limits.Logs, Scheduler: n.sched, Log: n.log, Low: n.pressure.low.Load})
	n.desk = work.New(work.Options{Self: n.name, Site: site{n}, Queue: n.queue, Scheduler: n.sched})
	n.execution = execute.New(execute.Options{
		Self: n.name, Site: site{n}, Queue: n.queue, Scheduler: n.sched, Log: n.log, Logs: n.logs,
		CacheEntries: o.CacheEntries, CacheBytes: o.CacheBytes, Seed: newSession(o.Random), Running: n.running, Begins: n.begins,
	})
	n.retain = retention.New(retention.Options{
		Self: n.name, Site: site{n}, Queue: n.queue, Scheduler: n.sched, Log: n.log, Policy: o.Limits.Audit,
	})
	n.eraser = erase.New(erase.Options{Self: n.name, Site: site{n}, Queue: n.queue, Scheduler: n.sched, Log: n.log})
	n.tables = tables.New(tables.Options{
		Self: n.name, Site: site{n}, Queue: n.queue, Scheduler: n.sched, Behaviours: o.Behaviours, Definers: o.Definers, Reads: o.Formats.Table.Max,
	})
	n.answers = answer.New(answer.Options{Self: n.name, Site: site{n}, Queue: n.queue, Scheduler: n.sched, Logs: n.logsHere})
	n.commands = command.New(command.Options{
		Self: n.name, Site: site{n}, Tables: n.tables, Queue: n.queue, Scheduler: n.sched, Log: n.log,
		Failed: n.failed.Given(), Remote: o.Remote, Random: o.Random,
	})
	n.admission = admission.New(admission.Options{
		Self: n.name, Site: site{n}, Tables: n.tables, Commands: n.commands, Events: postbox{site{n}}, Queue: n.queue, Scheduler: n.sched, Log: n.log,
	})
	if o.Disk != nil {
		n.pressure.low.Store(o.Disk.SpaceLow())
	}
	n.programs.Store(o.Registry)
	n.limits.Store(&o.Limits)
	n.SetStaff(o.Staff)
	n.cleanUps.add(manager.Close)
	n.cleanUps.add(n.logs.Close)                                                                                         // after the last program
	for _, load := range []func() error{manager.ParkOld, n.loadRebuilds, n.loadThreads, n.loadSchedules, n.loadEvents} { // each needs those before
		if err := load(); err != nil {
			return nil, errors.Join(err, n.cleanUps.run(context.Background()))
		}
	}
	n.cleanUps.add(n.endThreads)
	n.cleanUps.add(n.endTasks)
	n.cleanUps.add(n.drain)
	n.cleanUps.add(n.endLinks)
	return n, nil
}

// Name is the node's name.
func (n *Node) Name() processtable.NodeID { return n.name }

// Failed is given the error that ended the node's work: a disk that cannot be trusted.
// The daemon stops then (invariant 8).
func (n *Node) Failed() *task.Answer[error] { return n.failed }

func (n *Node) fatal(err error) {
	if n.failed.TryGive(err) {
		n.log.Error().Err(err).Msg("node cannot go on")
	}
}

func (n *Node) registry() *program.Registry { return n.programs.Load() }

// Launch starts the process threads and the links.
func (n *Node) Launch() {
	n.mu.Lock()
	n.started = true
	for _, t := range n.sortedThreads() {
		n.launch(t)
	}
	n.sched.Go(n.events.Run)
	n.addLinks()
	processes, peers := len(n.processes), len(n.links)
	n.mu.Unlock()
	if err := n.rebuilds.Resume(); err != nil {
		n.fatal(err)
	}
	n.tasks.Go(func() {
		if err := n.retain.Run(n.running); err != nil {
			n.fatal(err)
		}
	})
	n.tasks.Go(func() {
		if err := n.retain.RunLoops(n.running); err != nil {
			n.fatal(err)
		}
	})
	n.tasks.Go(func() {
		if err := n.eraser.Run(n.running); err != nil {
			n.fatal(err)
		}
	})
	n.tasks.Go(func() {
		if err := n.tables.Run(n.begins); err != nil {
			n.fatal(err)
		}
	})
	n.tasks.Go(func() {
		if err := n.tables.RunRetired(n.begins); err != nil {
			n.fatal(err)
		}
	})
	n.tasks.Go(func() {
		if err := n.schedules.Run(n.begins); err != nil {
			n.fatal(err)
		}
	})
	n.tasks.Go(func() {
		if err, _, ended := n.queue.Failed().Wait(n.running); ended == nil {
			n.fatal(err)
		}
	})
	if n.options.LogDir != "" {
		n.tasks.Go(func() { n.logs.Run(n.running) })
	}
	if n.options.Disk != nil {
		n.tasks.Go(func() { n.pressure.watchDisk(n.options.Disk) })
	}
	n.log.Info().Int("tables", processes).Int("peers", peers).Msg("node started")
}

// addLink makes and starts the link to a peer. n.mu is held.
func (n *Node) addLink(peer processtable.NodeID, p Peer) {
	l := link.New(link.Options{
		Self: n.name, Peer: peer, Incarnation: n.queue.Incarnation(), Session: newSession(n.options.Random),
		Outbox: n.queue.Transmission(peer), Inbox: n.admission.Inbox(peer), Peers: &identity{node: n, peer: peer},
		Routes: p.Routes, Responder: n.respond, Logger: n.log, Scheduler: n.sched, Formats: n.options.Formats,
	})
	n.links[peer] = l
	l.Start()
}

// Configure applies a configuration that was read again: programs, limits, and how peers
// are reached. What runs goes on.
func (n *Node) Configure(registry *program.Registry, ways Ways, limits Limits) {
	n.programs.Store(registry)
	n.limits.Store(&limits)
	n.retain.SetPolicy(limits.Audit)
	n.logs.SetLimits(limits.Logs)
	n.schedules.Set(limits.NoSchedules)
	n.tables.RetiredChanged()
	n.setWays(ways)
	n.queue.QuotaChanged()
	n.execution.LimitsChanged()
	n.log.Info().Int("programs", len(registry.Names())).Int("peers", len(ways.Peers)).Msg("configuration taken up")
}

// Acceptor takes the connections that peers open.
func (n *Node) Acceptor() link.Acceptor {
	return link.Acceptor{
		Self: n.name, Session: n.session, Scheduler: n.sched, Lookup: n.Link, Formats: n.options.Formats,
		Refused: func(caller processtable.NodeID, reason string) {
			n.log.Warn().Str("peer", string(caller)).Str("reason", reason).Msg("connection refused")
		},
	}
}

// Link gives the link to a configured peer, or nil.
func (n *Node) Link(peer processtable.NodeID) *link.Link {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.links[peer]
}
