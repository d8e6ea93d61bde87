package world

import (
	"errors"
	"slices"
	"time"

	"fmqm/internal/store"
	"fmqm/internal/store/memory"
	"fmqm/internal/task"
	"fmqm/link"
	"fmqm/node"
	"fmqm/node/trust"
	"fmqm/processtable"
)

// restart is how long a daemon that ended by itself stays down, as systemd's RestartSec.
const restart = 5 * time.Second

// site is a place with a disk, a clock, and a daemon that may be down.
type site struct {
	world      *World
	name       name
	disk       *memory.Disk
	room       *room
	faults     []*armed      // that wait for their commit or read
	sluggish   bool          // its disk is slow
	cold       bool          // it is slow to read much
	slowest    time.Duration // until when something of it took long, or takes
	halfway    bool          // of a large transaction the beginning is on disk, or on its way there
	offset     time.Duration
	astray     map[name]bool // peers whose address is wrong in its configuration
	configured int           // how often its configuration was changed
	routes     int           // of its configuration: see peers
	before     bool          // it is of the version before
	rest       time.Duration // it stays down until then
	life       *life         // nil: it is down
	lives      int

	copied  []byte          // its last backup
	image   *image          // a copy of its disk, made by other means; nil: there is none
	copy    bool            // it goes on from such a copy, or one ran beside it
	lost    bool            // a disk of it was lost, or cannot be relied on
	rebuilt int             // how often since
	tried   map[string]bool // refused messages that were retried
}

// life is a daemon, from its start to its end.
type life struct {
	by      *task.Site
	node    *node.Node // nil: it is not open yet
	failing bool       // its disk has failed: it ends by itself
	since   time.Duration
}

// armed is a fault that waits for a commit or a read.
type armed struct {
	Event
	left int
}

func newSite(w *World, n name) *site {
	s := &site{world: w, name: n, room: &room{changed: w.control.Bell()}, astray: map[name]bool{}, tried: map[string]bool{}, before: slices.Contains(w.plan.Before, n)}
	s.setDisk(memory.NewDisk(string(n)))
	return s
}

// slow: its disk takes long.
func (s *site) slow() bool { return s.sluggish || s.cold }

// start starts the daemon, unless it runs.
func (s *site) start() {
	w := s.world
	if s.life != nil || w.tasks.Elapsed() < s.rest {
		return
	}
	l := &life{by: w.tasks.NewSite(s.offset), since: w.tasks.Elapsed()}
	s.life = l
	s.lives++
	w.journal.note(string(s.name), "starts", "for the %d. time", s.lives)
	l.by.Go(func() { s.open(l) })
}

// open is what a daemon does first.
func (s *site) open(l *life) {
	w := s.world
	engine, err := s.disk.Open(w.plan.disk(memory.Options{By: l.by, Faults: s}))
	if err != nil {
		s.end(err)
		return
	}
	read, old := s.configured, engine.Last() > 0
	n, err := node.Open(node.Options{
		Name: s.name, Engine: engine, Registry: w.registry(s.name, l.by), Peers: s.peers(l.by),
		Log: w.journal.log(string(s.name)), Scheduler: l.by, Random: chance(w.random), CacheEntries: w.plan.Cache,
		Remote: trust.Operators{{Site: "*"}}, Observe: w.watch.observe(s), Disk: s.room, Formats: s.formats(), Limits: s.limits(),
	})
	if err != nil {
		s.end(err)
		return
	}
	if old {
		w.recovered++
	}
	if w.plan.Has(People) {
		n.SetStaff(peopleOf(s.name))
	}
	n.Launch()
	if l.node = n; s.configured != read { // its configuration was changed while it opened
		s.reload()
	}
	l.by.Go(func() {
		if err, _, ended := n.Failed().Wait(background); ended == nil {
			s.end(err)
		}
	})
	acceptor := n.Acceptor()
	w.wires.ports[s.name] = &port{by: l.by, accept: func(c link.Conn) {
		l.by.Go(func() {
			ctx, cancel := l.by.WithCancel(background)
			defer cancel()
			acceptor.Accept(ctx, c)
		})
	}}
	w.journal.note(string(s.name), "is open", "")
}

// end ends a daemon that has failed; it is started again later.
func (s *site) end(err error) {
	s.world.journal.note(string(s.name), "fails", "%v", err)
	if !errors.Is(err, store.ErrNoSpace) && !errors.Is(err, errBroken) {
		s.world.breaks("8", "%s cannot go on: %v", s.name, err)
	}
	s.die(false, restart)
}

// die ends the daemon where it stands; the commit under way is then on disk or not. If it
// is called by a task of the site it does not return.
func (s *site) die(onDisk bool, rest time.Duration) {
	w, l := s.world, s.life
	if w.clear { // it was told to stop before, and has taken its time
		rest = min(rest, restart)
	}
	w.control.AfterFunc(rest, s.start)
	if l == nil { // it stays down for longer
		s.rest = max(s.rest, w.tasks.Elapsed()+rest)
		return
	}
	w.journal.note(string(s.name), "dies", "for %v; of a commit under way: %s", brief(rest), kept(onDisk))
	if s.halfway {
		w.journal.met("torn")
	}
	s.life, s.rest = nil, w.tasks.Elapsed()+rest
	s.disk.Crash(onDisk)
	w.watch.whole(s)
	w.wires.down(s.name)
	w.broker.leave(s.name)
	l.by.Kill()
}

// peers is the site's configuration: how each other one is reached.
func (s *site) peers(by task.Scheduler) map[processtable.NodeID]node.Peer {
	w := s.world
	peers := map[processtable.NodeID]node.Peer{}
	for _, other := range w.plan.Sites {
		if other == s.name {
			continue
		}
		var p node.Peer
		direct, brokered_ := s.routes == 2 || s.routes == 0 && !w.plan.Apart, w.plan.Broker && s.routes != 2
		if direct && (w.plan.BothCall || s.name < other) {
			to := other
			if s.astray[other] {
				to = s.wrongFor(other)
			}
			p.Routes = append(p.Routes, link.Route{Name: link.RouteDirect, Address: string(to), Dialer: dialer{wires: w.wires, by: by, way: way{s.name, to}}})
		}
		if brokered_ {
			p.Routes = append(p.Routes, link.Route{Name: link.RouteAMQP, Address: "broker", Dialer: brokered{broker: w.broker, by: by, way: way{s.name, other}}})
		}
		peers[other] = p
	}
	return peers
}

// wrongFor gives another site's address, or one where nobody is.
func (s *site) wrongFor(peer name) name {
	for _, other := range s.world.plan.Sites {
		if other != peer && other != s.name {
			return other
		}
	}
	return "nowhere"
}

// reload has the daemon read its configuration again.
func (s *site) reload() {
	s.configured++
	l := s.life
	if l == nil || l.node == nil {
		return
	}
	s.world.journal.note(string(s.name), "reloads", "routes %d", s.routes)
	n := l.node // it may be told to stop meanwhile
	l.by.Go(func() {
		n.Configure(s.world.registry(s.name, l.by), node.Ways{Peers: s.peers(l.by)}, s.limits())
	})
}

// setClock steps the site's clock.
func (s *site) setClock(by time.Duration) {
	s.offset += by
	if s.life != nil {
		s.life.by.SetClock(s.offset)
	}
}
