package node

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"fmqm/instancetable"
	"fmqm/message"
	"fmqm/navigator"
	"fmqm/processtable"
	"fmqm/queue"
)

// reader is what a process thread reads of the store.
type reader interface {
	Browse(processtable.ProcessID, message.Entry) ([]message.Message, error)
	BrowseInstance(processtable.ProcessID, message.InstanceID) ([]message.Message, error)
	BrowseFrom(p processtable.ProcessID, after message.Entry, limit int) ([]queue.EntryMessages, bool, error)
	Ended(message.Entry) (queue.AuditRecord, bool, error)
	Instance(message.InstanceID) (started queue.AuditRecord, ended *queue.AuditRecord, found bool, err error)
	// Marker reads the store for few instances but those that have one.
	Marker(processtable.ProcessID, message.InstanceID) (*message.Message, error)
}

// places hands out the places in which activity threads run programs.
type places interface {
	// TryAcquire takes a place, or notes that this thread wants one: it is then granted
	// later through the thread's granted event.
	TryAcquire(processtable.ProgramID) bool
	Release(processtable.ProgramID)
}

// Bounds of one process thread.
const (
	readyLimit   = 4096    // entries that wait for a place of one program, in memory
	browseChunk  = 256     // entries that one turn of a browse reads
	cascadeOps   = 1000    // operations of one transaction (N5)
	cascadeBytes = 1 << 20 // bodies of one transaction
)

// command is what the core asks of its shell. One field is set.
type command struct {
	submit *queue.Tx // with then, which is to come back as an event
	then   func(error, time.Time)
	invoke *invocation
	cancel *invocation
	wake   *queue.Timer // that an entry waits for, set for a time of pause
	pause  time.Duration
}

// invocation is one attempt of a program, under way.
type invocation struct {
	entry     message.Entry
	activity  *navigator.Activity
	call      navigator.Invoke
	started   time.Time
	cancelled bool
	end       func()                 // ends the program early; set by the shell
	said      saidLast               // what the program has said last
	lacks     atomic.Pointer[string] // why its program does not run yet; set by its activity thread
}

// core is the process thread without its goroutine (invariant 13): its methods are
// events, out collects the commands that follow from them. It reads the store, and
// changes it only through submitted transactions.
type core struct {
	self    processtable.NodeID
	process *navigator.Process
	store   reader
	places  places
	table   *instancetable.Table
	lives   *lives
	starts  *starts

	running    map[message.Entry]*invocation
	ready      map[processtable.ProgramID][]*instancetable.Entry
	readyLimit int
	bound      int                             // operations of one transaction (N5)
	overflow   map[processtable.ProgramID]bool // entries are ready that no list holds: browse again when places are free
	undropped  []undropped                     // to drop again, once the newcomers are folded
	stale      []message.Entry                 // to consider again, once the newcomers are folded
	postponed  []*verdict                      // operators' words about entries of which a transaction is under way
	starting   map[message.InstanceID][]func(time.Time)

	reaches func(processtable.NodeID) bool  // whether there is a link to a node (N6); nil: to all
	holds   func(*instancetable.Entry) bool // whether an entry must stay ready (S3); nil: none
	anew    func() bool                     // whether entries of an instance may have ended before it is started; nil: none have
	losses  func() bool                     // whether a store was lost, here or at a peer; nil: none was
	held    bool                            // one did: browse again when there is room

	browsing bool
	after    message.Entry
	census   census
	absorbed uint64 // messages that were taken out since they can change nothing any more (N7)

	inFlight int
	out      []command
	failure  error // the store cannot be read: the node stops
}

func newCore(self processtable.NodeID, p *navigator.Process, store reader, places places, limits instancetable.Limits) *core {
	return &core{
		self: self, process: p, store: store, places: places,
		table:      instancetable.New(limits),
		lives:      newLives(p),
		starts:     newStarts(),
		running:    map[message.Entry]*invocation{},
		ready:      map[processtable.ProgramID][]*instancetable.Entry{},
		readyLimit: readyLimit,
		bound:      cascadeOps,
		overflow:   map[processtable.ProgramID]bool{},
		starting:   map[message.InstanceID][]func(time.Time){},
		browsing:   true,
	}
}

func (c *core) id() processtable.ProcessID { return c.process.Table.Process }

// commit submits a transaction; then is the event of its end.
func (c *core) commit(tx *queue.Tx, then func(error, time.Time)) {
	c.inFlight++
	c.out = append(c.out, command{submit: tx, then: func(err error, now time.Time) {
		c.inFlight--
		then(err, now)
	}})
}

// fail stops the thread, and with it the node: what cannot be read cannot be decided.
func (c *core) fail(err error) {
	if c.failure == nil && err != nil {
		c.failure = fmt.Errorf("process thread of %s: %w", c.id(), err)
	}
}

// deliver takes what the mailbox gives: newcomers of one entry, or a timer that is due.
func (c *core) deliver(d queue.Delivery, now time.Time) {
	for _, m := range d.Messages {
		if m.Kind == message.KindMarker {
			c.stopInstance(m, now)
			return
		}
	}
	e := c.table.Get(d.Entry)
	if e == nil {
		c.arrive(d, now)
		return
	}
	if !d.Due.IsZero() {
		e.State.Came = d.Due
	}
	if e.Phase == instancetable.Settling {
		e.Newcomers = append(e.Newcomers, d.Messages...)
		return
	}
	c.fold(e, d.Messages, now)
}

// arrive is deliver for an entry that is not in memory: new, or evicted.
func (c *core) arrive(d queue.Delivery, now time.Time) {
	newcomers := d.Messages
	if c.table.MayBeStored(d.Entry) || len(newcomers) == 0 || c.lacksRecord(d.Entry, newcomers) {
		newcomers = c.stored(d.Entry, newcomers) // what was delivered is among them
	}
	if len(newcomers) > 0 {
		c.load(queue.Delivery{Entry: d.Entry, Messages: newcomers, Due: d.Due}, now)
	}
}

// stored gives an entry's messages as the store has them, with who has brought those that
// were delivered just now.
func (c *core) stored(key message.Entry, delivered []message.Message) []message.Message {
	stored, err := c.store.Browse(c.id(), key)
	c.fail(err)
	noteBringers(stored, delivered)
	return stored
}

// noteBringers notes with stored messages who has brought them, as far as they were delivered
// just now.
func noteBringers(stored, delivered []message.Message) {
	from := map[message.Key]processtable.NodeID{}
	for i := range delivered {
		if delivered[i].From != "" {
			from[delivered[i].Key()] = delivered[i].From
		}
	}
	if len(from) == 0 {
		return
	}
	for i := range stored {
		stored[i].From = from[stored[i].Key()]
	}
}

// lacksRecord: an instance's record lies apart from what a browse of the queue finds,
// so sink's entry may have it in the store although nothing was evicted.
func (c *core) lacksRecord(key message.Entry, newcomers []message.Message) bool {
	return key.Activity == processtable.Sink &&
		!slices.ContainsFunc(newcomers, func(m message.Message) bool { return m.Kind == message.KindRecord })
}

// load makes the entry of messages that are in the store, and considers it.
func (c *core) load(d queue.Delivery, now time.Time) {
	key, messages := d.Entry, d.Messages
	a := c.process.Activity(key.Activity)
	if a == nil {
		c.setAside(key, messages, fmt.Sprintf("activity %s of %s is not hosted at %s", key.Activity, c.id(), c.self), now)
		return
	}
	if reason := c.unfounded(key, messages); reason != "" {
		c.setAside(key, messages, reason, now)
		return
	}
	record, ended, err := c.ended(key)
	switch {
	case err != nil:
		c.fail(err)
		return
	case ended && record.Event == queue.EventStopped: // N7: what arrives is absorbed
		c.drop(key, messages, nil)
		return
	case ended: // N7
		c.late(key, record, messages, now)
		return
	}
	e := instancetable.NewEntry(key, a)
	marker, err := c.store.Marker(c.id(), key.Instance)
	if err != nil {
		c.fail(err)
		return
	}
	if marker != nil {
		e.State.Origin = startedAt(messages)
		e.State.Stop(*marker)
	}
	e.State.Came = d.Due
	c.table.Add(e)
	c.fold(e, messages, now)
}

// unfounded says why no entry may be made of messages, whoever has put them: an older
// version of this program has taken from peers what none may send. Or nothing.
func (c *core) unfounded(key message.Entry, messages []message.Message) string {
	if key.Scope != "" {
		return fmt.Sprintf("it is for scope %q, and this version knows no scopes", key.Scope)
	}
	for i := range messages {
		if origin := messages[i].Origin; origin != "" && !c.process.Table.MayStart(origin) {
			return fmt.Sprintf("it says that its instance was started at %s, and %s may not be started there", origin, c.id())
		}
	}
	return ""
}

// startedAt is where the instance of an entry's messages was started.
func startedAt(messages []message.Message) processtable.NodeID {
	for i := range messages {
		if origin := messages[i].Origin; origin != "" {
			return origin
		}
	}
	return ""
}

// ended finds the record of an entry's end, if it has ended (N7).
func (c *core) ended(key message.Entry) (queue.AuditRecord, bool, error) {
	if c.lives.lasts(key) {
		return queue.AuditRecord{}, false, nil
	}
	return c.store.Ended(key)
}

// fold adds messages to an entry and considers it. One that does not fit the table is
// set aside, and the entry goes in error (L5).
func (c *core) fold(e *instancetable.Entry, messages []message.Message, now time.Time) {
	var refused []message.Message
	var reason string
	for _, m := range messages {
		var refusal *navigator.Refusal
		if err := e.Activity.Fold(e.State, m); errors.As(err, &refusal) {
			refused = append(refused, m)
			reason = refusal.Reason
		}
	}
	c.table.Touch(e)
	switch {
	case len(refused) == 0:
		c.consider(e, now)
	case c.started(e, cmp.Or(e.State.Origin, refused[0].Origin)):
		c.refuse(e, refused, reason, now)
	default:
		c.refuseUnstarted(e, refused, reason, now)
	}
}

// consider asks the behaviour what should be, and makes it so.
func (c *core) consider(e *instancetable.Entry, now time.Time) {
	switch e.Phase {
	case instancetable.Settling:
		return
	case instancetable.Running:
		if run := c.running[e.Key]; e.State.Stopped && run != nil && !run.cancelled {
			run.cancelled = true
			c.out = append(c.out, command{cancel: run})
		}
		return
	case instancetable.Ready:
		if !e.State.Stopped {
			return
		}
		c.table.SetPhase(e, instancetable.Waiting) // its place in the list is skipped later
	case instancetable.Waiting:
	}
	if !c.started(e, e.State.Origin) {
		return
	}
	var effects navigator.Effects
	if e.Result != nil {
		effects = e.Activity.Conclude(e.State, *e.Result, now)
	} else {
		effects = e.Activity.Decide(e.State, now)
	}
	switch {
	case effects.Invoke != nil:
		c.makeReady(e, *effects.Invoke, now)
	case !effects.WakeAt.IsZero():
		c.out = append(c.out, command{
			wake: &queue.Timer{Due: effects.WakeAt, Process: c.id(), Entry: e.Key}, pause: effects.Pause,
		})
	case effects.Waits():
		if e.State.Empty() {
			c.table.Remove(e.Key)
		}
	default:
		c.settle(e, effects, now)
	}
}

// makeReady invokes the program if it has a free place, else lets the entry wait for
// one: in a bounded list, and beyond that in the store only (invariant 10).
func (c *core) makeReady(e *instancetable.Entry, call navigator.Invoke, now time.Time) {
	program := e.Activity.Program
	if program != routing && c.holdsBack(e) {
		return
	}
	if len(c.ready[program]) == 0 && c.places.TryAcquire(program) {
		c.invoke(e, call, now)
		return
	}
	if len(c.ready[program]) >= c.readyLimit {
		c.overflow[program] = true
		return
	}
	c.table.SetPhase(e, instancetable.Ready)
	c.ready[program] = append(c.ready[program], e)
}

// holdsBack says whether an entry has to stay ready for lack of room. It is in no list
// then: its messages are in the store, and relieved finds them.
func (c *core) holdsBack(e *instancetable.Entry) bool {
	if c.holds == nil || !c.holds(e) {
		return false
	}
	c.held = true
	return true
}

// relieved is the event that there is room again for what was held back.
func (c *core) relieved() {
	if c.held {
		c.held = false
		c.browseAgain()
	}
}

func (c *core) invoke(e *instancetable.Entry, call navigator.Invoke, now time.Time) {
	run := &invocation{entry: e.Key, activity: e.Activity, call: call, started: now}
	c.running[e.Key] = run
	c.table.SetPhase(e, instancetable.Running)
	c.out = append(c.out, command{invoke: run})
}

// granted is the event of a place that this thread had asked for.
func (c *core) granted(program processtable.ProgramID, now time.Time) {
	for len(c.ready[program]) > 0 {
		e := c.ready[program][0]
		c.ready[program][0] = nil
		c.ready[program] = c.ready[program][1:]
		if e.Phase != instancetable.Ready {
			continue // it was stopped while it waited
		}
		effects := e.Activity.Decide(e.State, now)
		if effects.Invoke == nil {
			c.table.SetPhase(e, instancetable.Waiting)
			c.consider(e, now)
			continue
		}
		if program != routing && c.holdsBack(e) {
			c.table.SetPhase(e, instancetable.Waiting)
			continue
		}
		c.invoke(e, *effects.Invoke, now)
		if len(c.ready[program]) == 0 {
			c.drained(program)
			return
		}
		if !c.places.TryAcquire(program) {
			return
		}
	}
	c.drained(program)
	c.places.Release(program)
}

// drained: nobody in memory waits for a place of program any more.
func (c *core) drained(program processtable.ProgramID) {
	delete(c.ready, program)
	if c.overflow[program] {
		delete(c.overflow, program)
		c.browseAgain()
	}
}

// finished is the event of a program's end.
func (c *core) finished(run *invocation, r navigator.Result, now time.Time) {
	delete(c.running, run.entry)
	e := c.table.Get(run.entry)
	if e == nil || e.Phase != instancetable.Running {
		return
	}
	e.Result = &r
	c.table.SetPhase(e, instancetable.Waiting)
	c.consider(e, now)
}

// reconsider takes up the entries whose transactions came too early. The newcomers
// that made them so have been delivered before it is called.
func (c *core) reconsider(now time.Time) {
	stale := c.stale
	c.stale = nil
	for _, key := range stale {
		if e := c.table.Get(key); e != nil {
			c.consider(e, now)
		} else {
			c.arrive(queue.Delivery{Entry: key}, now)
		}
	}
	again := c.undropped
	c.undropped = nil
	for _, u := range again {
		c.drop(u.key, u.messages, u.asides)
	}
	postponed := c.postponed
	c.postponed = nil
	for _, v := range postponed {
		c.judge(v, now)
	}
}

// tidy starts a new browse when too much was evicted to tell what is new.
func (c *core) tidy() {
	if !c.browsing && c.table.Crowded() {
		c.table.Rescan()
		c.browseAgain()
	}
}
