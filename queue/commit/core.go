package commit

import (
	"maps"
	"slices"

	"fmqm/internal/store/change"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

const (
	// MaxLarge is the largest transaction, in bytes as Config.Size reckons them. The most
	// that the language's limits let one activity consume and send is below it.
	MaxLarge = 16 << 20
	// MaxGroup is how many transactions are joined into one commit.
	MaxGroup = 1024
	// maxTrims is how many items a commit trims beside transactions.
	maxTrims = 4096
)

// Event is what a Core is told: a *Work that was submitted, Opened, Taken, Trim, Reads, Answer,
// Written or Stop. Whoever tells it does so in the order in which things happened; doc.go says
// what rests on that.
type Event interface{ event() }

// Opened: a process queue has a reader from now on, which is to have what is put.
type Opened struct{ Process processtable.ProcessID }

// Taken: the reader of a process queue has taken what was delivered for entries.
type Taken struct {
	Process processtable.ProcessID
	Entries []TakenEntry
}

// TakenEntry is an entry, and the number of the last delivery of it that was taken.
type TakenEntry struct {
	Entry message.Entry
	Upto  uint64
}

// Trim asks for a lane's items up to a number to go with the next commit.
type Trim struct {
	Peer processtable.NodeID
	Lane message.Lane
	Upto uint64
}

// Answer has what a Read has asked for, in its order; nil: there is none.
type Answer struct {
	Token  uint64
	Values [][]byte // of Keys
	First  [][]byte // keys, of Under
	Err    error
}

// Written: what a Write said is on disk, with Last as the number of the last commit; or not,
// or nobody knows, and Err says why.
type Written struct {
	Number uint64
	Last   uint64
	Err    error
}

// Stop: nothing more is committed. All that waits gets Err.
type Stop struct{ Err error }

func (Opened) event()  {}
func (Taken) event()   {}
func (Trim) event()    {}
func (Answer) event()  {}
func (Written) event() {}
func (Stop) event()    {}

// Effect is what a Core wants done: *Read, *Write, *Report or *Failed.
type Effect interface{ effect() }

// Read asks for the values of keys and for the first key under prefixes, to be told by an Answer
// with the Token.
type Read struct {
	Token uint64
	Keys  [][]byte
	Under [][]byte
}

// Write asks for a batch to be written as commit Number, to be told by a Written with it.
type Write struct {
	Number uint64
	Batch  *change.Batch
	Large  bool    // it is one transaction, larger than one commit can be
	Works  []*Work // that are in it
	// Staging: chunks of a transaction are in it that is not.
	Staging bool
}

// Report says what is to be told, in this order: the Facts are shown, the Refused get their
// Err; each of the Done has its messages delivered, its timers set, and is told; the readers of
// lanes that have changed are woken.
type Report struct {
	Facts
	Upto    uint64 // the last commit: all that came with it and those before is told of
	Refused []*Work
	Done    []*Work
}

// Failed: the store is damaged, or a write has failed. Nothing but a Stop goes on.
type Failed struct{ Err error }

func (*Read) effect()   {}
func (*Write) effect()  {}
func (*Report) effect() {}
func (*Failed) effect() {}

// Facts are what is on disk since the last Report, as far as others look at it.
type Facts struct {
	Lanes    []LaneFact
	Accepted []AcceptedFact
	Peers    []Bind
	Tables   []Table
	Current  []processtable.ProcessID // versions that are pending no more
	Retired  []record.Retirement      // what is said of versions
	Final    []record.Final           // final words about versions
	Without  []record.WriteOff        // nodes that are written off of versions
	Removed  []record.Tombstone       // tables that are gone
	Markers  []message.InstanceID     // of instances that have a marker or marks
	Moves    []MoveFact               // what is to be moved next
}

// LaneEnd is both ends of a lane of a transmission queue.
type LaneEnd struct{ Last, Low record.ItemAt }

// LaneEnds are those of all lanes to a peer.
type LaneEnds [record.Lanes]LaneEnd

// LaneFact is what there is in the lanes to a peer.
type LaneFact struct {
	Peer  processtable.NodeID
	Ends  LaneEnds
	Apart ApartFact
	Reads message.Reads
}

// AcceptedFact is what was accepted of a peer in a lane; Incoming is nil where what there is
// in parts is as before.
type AcceptedFact struct {
	record.LaneKey
	At       record.AcceptedAt
	Incoming *record.Incoming
}

// State is what the store has when a Core begins.
type State struct {
	Version        uint64 // of the last commit
	Before         uint64 // commits of the stores that this one was restored from: numbers in records go on above them
	Lanes          map[processtable.NodeID]LaneEnds
	Accepted       map[record.LaneKey]record.AcceptedAt
	Incoming       map[record.LaneKey]record.Incoming // what is stored of messages that have not come whole
	Peers          map[processtable.NodeID]record.Incarnation
	Tables         map[processtable.ProcessID]processtable.DefinitionHash
	Closed         map[processtable.ProcessID]bool // versions of which nothing begins any more
	Gone           map[processtable.ProcessID]bool // versions whose table was removed
	HighestSettled uint64                          // number of a refused message that was ever settled
	Bodies         Bodies
	Reads          map[processtable.NodeID]message.Reads // what peers have said last that they read
	Apart          map[processtable.NodeID][]ApartItem   // by number
}

// NewState is that of an empty store.
func NewState() State {
	return State{
		Lanes:    map[processtable.NodeID]LaneEnds{},
		Accepted: map[record.LaneKey]record.AcceptedAt{},
		Incoming: map[record.LaneKey]record.Incoming{},
		Peers:    map[processtable.NodeID]record.Incarnation{},
		Tables:   map[processtable.ProcessID]processtable.DefinitionHash{},
		Closed:   map[processtable.ProcessID]bool{},
		Gone:     map[processtable.ProcessID]bool{},
		Reads:    map[processtable.NodeID]message.Reads{},
		Apart:    map[processtable.NodeID][]ApartItem{},
	}
}

// Config is what a Core goes by.
type Config struct {
	Size     func(*change.Batch) int64 // reckons what changes take of MaxBatch; it adds up
	MaxBatch int64                     // of one commit
	// The largest key and value that the engine takes, in bytes.
	MaxKey, MaxValue int
}

type phase uint8

const (
	ready phase = iota
	reading
	writing
	failed
	stopped
)

// Core is the committer as a pure machine (invariant 13): Step tells it what happened, and
// Next what is to be done. It is one goroutine's, asks nobody and waits for nothing.
type Core struct {
	Config
	State

	phase   phase
	waiting []Event // works, and what was taken between them
	next    int     // of waiting
	trims   []Trim
	alone   bool // the next transaction is large: it gets a group of its own

	queues map[processtable.ProcessID]*queue
	last   *queue  // that was looked at
	free   []*mark // for reuse
	puts   uint64  // deliveries numbered so far
	late   []lateMarks
	lanes  map[processtable.NodeID]*lanes

	group   group
	token   uint64
	missing Read                // what is to be read
	known   map[string][]byte   // values that were read for the group; nil: there is none
	first   map[string][]byte   // keys that were read for the group, by their prefix; nil: there is none
	fresh   map[string]*bodyRef // by record, for what the group changes: nil if it has nothing staged
	settled map[uint64]bool     // refused messages that the group settles
	failure error
	told    bool // of the failure
	stop    error
	report  Report
	say     bool // the report is to be given
	write   Write
	batch   change.Batch // to reckon with
}

type bodyRef = record.BodyRef

// New makes a Core of what a store has.
func New(config Config, state State) *Core {
	c := &Core{
		Config: config, State: state,
		queues: map[processtable.ProcessID]*queue{}, lanes: map[processtable.NodeID]*lanes{},
		known: map[string][]byte{}, first: map[string][]byte{}, fresh: map[string]*bodyRef{}, settled: map[uint64]bool{},
	}
	for peer, ends := range state.Lanes {
		c.lanesTo(peer).ends = ends
	}
	for peer, reads := range state.Reads {
		c.lanesTo(peer).reads = reads
	}
	for _, peer := range slices.Sorted(maps.Keys(state.Apart)) { // what a kill has kept from being moved
		for _, i := range state.Apart[peer] {
			c.lanesTo(peer).apart.add(i)
		}
		c.lanesTo(peer).apart.look = true
		c.changed(peer)
		c.group.begun = true
	}
	c.State.Apart = nil
	return c
}

// Step tells the core what happened.
func (c *Core) Step(e Event) {
	switch e := e.(type) {
	case *Work:
		e.seen, e.bare = c.Version, e.Size
		if c.phase == stopped {
			c.refuse(e, c.stop)
			return
		}
		c.waiting = append(c.waiting, e)
	case Taken, Reads:
		if c.phase != stopped {
			c.waiting = append(c.waiting, e)
		}
	case Opened:
		c.queue(e.Process).read = true
	case Trim:
		c.trims = append(c.trims, e)
	case Answer:
		if c.phase == reading && e.Token == c.token {
			c.answered(e)
		}
	case Written:
		if c.phase == writing && e.Number == c.group.number {
			c.written(e)
		}
	case Stop:
		if c.phase != stopped {
			c.end(e.Err)
		}
	}
}

// Next gives what is to be done; nil: nothing until something happens. What an effect names
// may be used until it was answered, a Report until the next call of Next.
func (c *Core) Next() Effect {
	switch {
	case c.say:
		c.say = false
		return &c.report
	case c.phase == failed && !c.told:
		c.told = true
		return &Failed{c.failure}
	case c.phase != ready || c.idle():
		return nil
	}
	if err := c.build(); err != nil {
		c.fail(err)
		return c.Next()
	}
	g := &c.group
	switch {
	case c.reads():
		c.phase = reading
		c.token++
		return &Read{Token: c.token, Keys: c.missing.Keys, Under: c.missing.Under}
	case len(g.batch.Ops) > 0:
		c.phase = writing
		c.write = Write{
			Number: g.number, Batch: &g.batch, Large: g.size > c.MaxBatch, Works: g.works, Staging: c.staging(),
		}
		return &c.write
	}
	c.finish()
	return c.Next()
}

// idle says whether there is nothing to write and nobody to refuse.
func (c *Core) idle() bool { return c.next == len(c.waiting) && len(c.trims) == 0 && !c.group.begun }

func (c *Core) answered(a Answer) {
	c.phase = ready
	if a.Err != nil {
		c.fail(a.Err)
		return
	}
	for i, key := range c.missing.Keys {
		c.known[string(key)] = a.Values[i]
	}
	for i, prefix := range c.missing.Under {
		c.first[string(prefix)] = a.First[i]
	}
	c.missing = Read{}
}

func (c *Core) written(w Written) {
	c.phase = ready
	if w.Err != nil {
		c.fail(w.Err)
		return
	}
	c.Version = w.Last
	c.finish()
}

func (c *Core) fail(err error) { c.phase, c.failure = failed, err }

func (c *Core) refuse(w *Work, err error) {
	if !c.say {
		c.report.reset()
		c.say = true
	}
	w.Err = err
	c.report.Refused = append(c.report.Refused, w)
}

// end refuses all that waits. What was being written may be on disk or not: who submitted it
// is told that it was not acknowledged, and the store says the rest when it is opened.
func (c *Core) end(err error) {
	g := &c.group
	c.phase, c.stop = stopped, err
	for _, w := range g.refused {
		c.refuse(w, w.Err)
	}
	for _, w := range g.works {
		c.refuse(w, err)
	}
	for _, e := range c.waiting[c.next:] {
		if w, is := e.(*Work); is {
			c.refuse(w, err)
		}
	}
	g.reset()
	c.waiting, c.next = nil, 0
}
