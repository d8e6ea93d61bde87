package thread

import (
	"fmt"
	"time"

	"fmqm/behaviour"
	"fmqm/instancetable"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// Routing is what empty activities have places of: their conditions are evaluated in an
// activity thread.
const Routing processtable.ProgramID = ""

// Bounds of one process thread.
const (
	readyLimit    = 4096    // entries that wait for a place of one program, in memory
	sinceLimit    = 1 << 16 // entries that are ready in the store only of which is known since when: some 10 MiB
	browseChunk   = 256     // entries that one browse reads
	inFlightLimit = 2048    // transactions under way beyond which a browse waits
	cascadeOps    = 1000    // operations of one transaction (N5)
	cascadeBytes  = 1 << 20 // bodies of one transaction
)

// Machine is one process thread without its task (paper §3.2). It is not safe for
// concurrent use.
type Machine struct {
	self    processtable.NodeID
	process behaviour.Process
	table   *instancetable.Table
	lives   *lives
	starts  *starts
	reach   Reach
	losses  Losses

	now   time.Time // of this step
	acts  uint64    // how often something has happened so far that a settlement being built may not know of
	token Token     // given last
	out   []Effect

	commits  map[Token]commitment
	reads    map[Token]reading
	rolls    map[Token]*roll
	arriving map[message.Entry]*arrival   // entries of which facts are being read; none is in the table
	dropping map[message.Entry]int        // transactions under way that take messages from an entry in no decision of its own
	gathers  map[message.Entry]*gathering // facts that a settlement lacks, by its primary entry
	running  map[message.Entry]attempt
	coming   map[message.Entry][]message.Message // newcomers that are about to be delivered
	places   places

	undropped  []dropped                        // to drop again, once the mail was read
	stale      []message.Entry                  // to consider again, then
	postponed  []*word                          // to hear again, then
	stopping   []message.Message                // markers whose instances are to be ended, then
	starting   map[message.InstanceID]*starting // starts under way
	heeding    map[message.InstanceID]*heeding  // whose marks are being acted on
	commands   map[commandKey]*word             // operators' words in the queue that were taken up
	evaluating map[Token]*word                  // of them, those whose conditions are being evaluated
	inquiring  map[Token]*word                  // of them, those of which is asked whether people may
	held       map[message.Entry][]*word        // of them, those that end an entry: nothing else is decided of it
	bound      int                              // operations of one transaction (N5)

	browse   browse // its token stays where it could not be read: nothing is read on
	census   census
	absorbed uint64 // messages that were taken out since they can change nothing any more (N7)
}

// Config is what a machine knows from the beginning.
type Config struct {
	Self    processtable.NodeID
	Process behaviour.Process
	Limits  instancetable.Limits
	Reach   Reach
	Losses  Losses
}

// New makes a machine that knows of no entry: it asks for what the queue has with its first
// MailRead.
func New(c Config) *Machine {
	return &Machine{
		self: c.Self, process: c.Process, reach: c.Reach, losses: c.Losses,
		table:    instancetable.New(c.Limits),
		lives:    newLives(c.Process),
		starts:   newStarts(),
		commits:  map[Token]commitment{},
		reads:    map[Token]reading{},
		rolls:    map[Token]*roll{},
		arriving: map[message.Entry]*arrival{},
		dropping: map[message.Entry]int{},
		gathers:  map[message.Entry]*gathering{},
		running:  map[message.Entry]attempt{},
		coming:   map[message.Entry][]message.Message{},
		places:   newPlaces(c.Limits.Bytes),
		starting: map[message.InstanceID]*starting{}, heeding: map[message.InstanceID]*heeding{},
		commands: map[commandKey]*word{}, evaluating: map[Token]*word{}, inquiring: map[Token]*word{}, held: map[message.Entry][]*word{},
		bound:  cascadeOps,
		browse: browse{on: true},
	}
}

func (m *Machine) id() processtable.ProcessID { return m.process.Table().Process }

// Step takes what has happened at a time, and gives what follows, in the order in which it is
// to be done. The slice is valid until the next step.
func (m *Machine) Step(now time.Time, e Event) []Effect {
	clear(m.out)
	m.out, m.now = m.out[:0], now
	if _, loaded := e.(Loaded); !loaded {
		m.acts++
	}
	switch e := e.(type) {
	case Delivered:
		m.deliver(e.Delivery)
	case Coming:
		m.comes(e.Deliveries)
	case MailRead:
		m.mailRead()
	case Browsed:
		m.browsed(e)
	case Loaded:
		m.loaded(e)
	case Listed:
		m.listed(e)
	case Unread:
		m.unread(e)
	case Committed:
		m.committed(e)
	case Granted:
		m.granted(e.Token, e.Program)
	case HeldBack:
		m.heldBack(e.Token)
	case Ended:
		m.ended(e)
	case Room:
		m.relieved()
	case Reach:
		m.reach = e
	case Losses:
		if e.Anew && !m.losses.Anew {
			m.lives = newLives(m.process)
		}
		m.losses = e
	case Start:
		m.hear(&word{token: e.Word, say: e}, nil)
	case Evaluated:
		m.evaluated(e)
	case Found:
		m.inquired(e)
	case Judge:
		m.hear(&word{token: e.Word, say: e}, nil)
	}
	return m.out
}

func (m *Machine) do(e Effect) { m.out = append(m.out, e) }

func (m *Machine) next() Token {
	m.token++
	return m.token
}

// fail stops the node: what cannot be read cannot be decided.
func (m *Machine) fail(err error) {
	m.do(Fail{fmt.Errorf("process thread of %s: %w", m.id(), err)})
}

// Gauges are how much a machine holds.
type Gauges struct {
	Entries  int    // activities in memory
	Ready    int    // of them, waiting for a free place of their program
	Running  int    // of them, whose program runs
	Waiting  int    // of them, that nothing is under way of: they may be evicted
	InError  int    // activities that wait for an operator; -1: not counted yet
	Absorbed uint64 // messages that were taken out since they can change nothing any more
	Idle     bool   // nothing is under way
}

// Gauges gives them as they are now.
func (m *Machine) Gauges() Gauges {
	g := Gauges{
		Entries: m.table.Len(), Ready: m.places.waiting(), Running: len(m.running), Waiting: m.table.Unused(), InError: -1, Absorbed: m.absorbed,
		Idle: len(m.commits)+len(m.reads)+len(m.rolls)+len(m.running)+m.said()+len(m.heeding) == 0 && !m.browse.on && !m.unsettled(),
	}
	if m.census.complete {
		g.InError = m.census.inError
	}
	return g
}

// commitment is a transaction under way: a settlement, one that only takes messages out, or what marks lead to.
type commitment struct {
	settlement *settlement
	dropped    *dropped
	heeding    *heeding
}

// commit asks for a transaction.
func (m *Machine) commit(tx *record.Tx, c commitment) {
	token := m.next()
	m.commits[token] = c
	m.do(Commit{token, tx, c.settlement != nil && c.settlement.entry != nil})
}

// committed takes a transaction's end.
func (m *Machine) committed(e Committed) {
	c, found := m.commits[e.Token]
	if !found {
		return
	}
	delete(m.commits, e.Token)
	switch {
	case c.dropped != nil:
		m.droppingEnded(c.dropped, e)
	case c.heeding != nil:
		m.heeded(c.heeding, e)
	default:
		m.browse.touch(c.settlement.tx)
		m.settled(c.settlement, e)
	}
	m.heedOn(e.Token)
	if m.unsettled() {
		m.do(Look{})
	}
}

// unsettled: something is to be decided again with the next Mail.
func (m *Machine) unsettled() bool {
	return len(m.stale)+len(m.undropped)+len(m.postponed)+len(m.stopping) > 0
}

// reading is who waits for an answer of the store.
type reading interface {
	loaded(m *Machine, facts []Facts)
	unread(m *Machine, err error)
}

// load asks for facts, for r.
func (m *Machine) load(r reading, what What, entries ...message.Entry) Token {
	token := m.next()
	m.reads[token] = r
	m.do(Load{Token: token, Entries: entries, What: what})
	return token
}

func (m *Machine) loaded(e Loaded) {
	r, found := m.reads[e.Token]
	if !found {
		return
	}
	delete(m.reads, e.Token)
	if _, gathers := r.(*gathering); !gathers {
		m.acts++
	}
	r.loaded(m, e.Facts)
	if len(m.postponed) > 0 {
		m.do(Look{})
	}
}

func (m *Machine) unread(e Unread) {
	r, reads := m.reads[e.Token]
	_, lists := m.rolls[e.Token]
	if !reads && !lists && (e.Token != m.browse.token || e.Token == 0) {
		return
	}
	m.fail(e.Err)
	delete(m.reads, e.Token)
	delete(m.rolls, e.Token)
	if reads {
		r.unread(m, e.Err)
	}
}

// mailRead takes up the entries whose transactions came too early: the newcomers that made
// them so have been delivered.
func (m *Machine) mailRead() {
	stale, undropped, postponed := m.stale, m.undropped, m.postponed
	m.stale, m.undropped, m.postponed = nil, nil, nil
	m.stopInstances()
	for _, key := range stale {
		if e := m.table.Get(key); e != nil {
			m.consider(e)
		} else {
			m.arrive(record.Delivery{Entry: key}, nil)
		}
	}
	for _, d := range undropped {
		m.dropAll(d)
	}
	for _, w := range postponed {
		m.hearAgain(w)
	}
	if !m.browse.on && m.table.Crowded() { // too much was evicted to tell what is new
		m.table.Rescan()
		m.browseAgain()
	}
	m.browseOn()
}
