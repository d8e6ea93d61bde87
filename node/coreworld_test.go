package node

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"pgregory.net/rapid"

	"fmqm/container"
	"fmqm/definition"
	"fmqm/instancetable"
	"fmqm/message"
	"fmqm/navigator"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/sim/generate"
)

// world is a network of process threads' cores, one for each node of a random process,
// each over a model of its store. A seeded order decides what happens next: which
// transactions are joined and committed, what is delivered, which program ends, which
// message crosses the network, who crashes.
type world struct {
	t     rapid.TB
	rand  *rand.Rand
	def   *definition.Process
	given fmt.Stringer // shown with every failure
	sites []*site
	wire  []message.Message
	now   time.Time
	// result is what a program gives.
	result func(*invocation) navigator.Result

	starts  []*startCall
	stales  int // transactions that may still be refused for no reason
	crashes int // that may still happen
	crashed bool
	meddles int  // an operator's hands and peers' mistakes that may still happen
	leaps   int  // of the clock, forward or back, that may still happen
	hasty   bool // timers come also while a thread is in its turn
	invoked map[execution]int
}

// execution is one attempt of a program.
type execution struct {
	entry                   message.Entry
	iteration, attempt, run int
}

// site is one node: a core with what its shell would have.
type site struct {
	world   *world
	name    processtable.NodeID
	process *navigator.Process
	store   *modelStore
	slots   *slots
	limits  instancetable.Limits
	reaches func(processtable.NodeID) bool
	bound   int // of operations; 0: cascadeOps

	core    *core
	places  *threadPlaces
	events  []func(time.Time)
	running []*invocation
}

// startCall is a client's start, repeated until it is answered.
type startCall struct {
	site  *site
	call  navigator.Start
	asked bool
	done  bool
}

// newWorld draws what a random world depends on beside its process.
func newWorld(t *rapid.T, c *generate.Case) *world {
	w := openWorld(t, c.Text("drawn"), rapid.Uint64().Draw(t, "schedule"))
	w.given = c
	w.result, w.hasty = resultsOf(c), true
	for _, s := range w.sites {
		s.limits.Entries = rapid.IntRange(0, 8).Draw(t, "cache")
		s.open(rapid.IntRange(1, 3).Draw(t, "concurrency"))
		s.core.readyLimit = 1 + w.rand.IntN(3)
	}
	return w
}

// resultsOf gives what was drawn for the programs.
func resultsOf(c *generate.Case) func(*invocation) navigator.Result {
	return func(run *invocation) navigator.Result {
		r := c.Result(generate.Call{
			Activity: string(run.activity.Name), Iteration: run.call.Iteration, Attempt: run.call.Attempt,
			Input: run.call.Input, Output: run.activity.Output, RCIsData: run.activity.RCIsData,
		})
		return navigator.Result{RC: r.RC, Output: r.Output, Err: r.Err}
	}
}

// openWorld makes a world of a process whose programs give the defaults.
func openWorld(t rapid.TB, text string, seed uint64) *world {
	processes, problems := definition.Load("test.yaml", []byte(text))
	if definition.HasErrors(problems) {
		t.Fatalf("%v\n%s", problems, text)
	}
	compiled, err := definition.Compile(processes[0])
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		t: t, rand: rand.New(rand.NewPCG(seed, 1)), def: processes[0], given: compiled.Tables[0].Process,
		now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), invoked: map[execution]int{},
		result: func(run *invocation) navigator.Result {
			return navigator.Result{Output: container.New(run.activity.Output)}
		},
	}
	for _, encoded := range compiled.Encoded {
		table, err := processtable.Decode(encoded)
		if err != nil {
			t.Fatal(err)
		}
		p, err := navigator.Prepare(table)
		if err != nil {
			t.Fatal(err)
		}
		s := &site{
			world: w, name: table.Node, process: p, store: newModelStore(table.Node),
			limits: instancetable.Limits{Entries: 1000, Bytes: 1 << 20},
		}
		s.open(4)
		w.sites = append(w.sites, s)
	}
	return w
}

// open makes the core anew: all that is known is in the store.
func (s *site) open(concurrency int) {
	s.events, s.running = nil, nil
	s.slots = newSlots(func(processtable.ProgramID) int { return concurrency })
	s.places = s.slots.of(func(id processtable.ProgramID) {
		s.events = append(s.events, func(now time.Time) { s.core.granted(id, now) })
	})
	s.core = newCore(s.name, s.process, s.store, s.places, s.limits)
	s.core.reaches = s.reaches
	if s.bound > 0 {
		s.core.bound = s.bound
	}
}

// start asks for n instances.
func (w *world) start(n, at int, json string) {
	input := container.New(w.def.Input)
	if json != "" {
		var err error
		if input, err = container.DecodeJSON(w.def.Input, []byte(json)); err != nil {
			w.t.Fatal(err)
		}
	}
	site := w.site(processtable.NodeID(w.def.Starts[at%len(w.def.Starts)]))
	for i := range n {
		var id message.InstanceID
		binary.BigEndian.PutUint64(id[8:], uint64(i+1))
		w.starts = append(w.starts, &startCall{site: site, call: navigator.Start{Instance: id, Input: input, Now: w.now}})
	}
}

func (w *world) site(name processtable.NodeID) *site {
	i := slices.IndexFunc(w.sites, func(s *site) bool { return s.name == name })
	if i < 0 {
		w.t.Fatalf("there is no node %s", name)
	}
	return w.sites[i]
}

// run lets things happen until nothing can happen any more.
func (w *world) run() {
	for step := 0; ; step++ {
		if step > 200_000 {
			w.t.Fatalf("it does not come to rest\n%s", w.given)
		}
		possible := w.possible()
		if len(possible) == 0 {
			if w.advance() {
				continue
			}
			return
		}
		possible[w.rand.IntN(len(possible))]()
	}
}

// possible is everything that can happen next.
func (w *world) possible() []func() {
	var out []func()
	for _, s := range w.sites {
		if len(s.store.mailbox) > 0 || len(s.events) > 0 || s.core.browsing || len(s.core.stale)+len(s.core.undropped) > 0 {
			out = append(out, s.turn)
		}
		if len(s.store.pending) > 0 {
			out = append(out, s.commit)
		}
		if len(s.running) > 0 {
			out = append(out, func() { s.finish(w.rand.IntN(len(s.running))) })
		}
		if w.crashes > 0 && w.rand.IntN(20) == 0 {
			out = append(out, s.crash)
		}
	}
	if len(w.wire) > 0 {
		out = append(out, w.cross)
	}
	if w.meddles > 0 && w.rand.IntN(5) == 0 {
		out = append(out, w.meddle)
	}
	if w.leaps > 0 && w.rand.IntN(10) == 0 {
		out = append(out, w.leap)
	}
	for _, c := range w.starts {
		if !c.done && !c.asked {
			out = append(out, c.ask)
		}
	}
	return out
}

// advance lets time pass to the next timer.
func (w *world) advance() bool {
	var next time.Time
	for _, s := range w.sites {
		if t := s.store.nextTimer(); !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	if next.IsZero() {
		return false
	}
	if next.After(w.now) {
		w.now = next
	}
	for _, s := range w.sites {
		s.store.fire(w.now)
	}
	return true
}

// leap sets the clock forward or back.
func (w *world) leap() {
	w.leaps--
	d := time.Duration(w.rand.Int64N(int64(4*time.Hour))) - 2*time.Hour
	w.now = w.now.Add(d)
	for _, s := range w.sites {
		s.store.fire(w.now)
		if d < -time.Minute { // queue.Mailbox.AskAgain
			s.core.browseAgain()
		}
	}
}

// turn is the shell's: newcomers first, the browse last. Timers may come between its
// reading of the clock and of the mailbox, and the clock may be set.
func (s *site) turn() {
	now := s.world.now
	if s.world.hasty && s.world.rand.IntN(4) == 0 {
		s.world.advance()
	}
	if s.world.leaps > 0 && s.world.rand.IntN(10) == 0 {
		s.world.leap()
	}
	for _, d := range s.store.take(1 + s.world.rand.IntN(4)) {
		s.core.deliver(d, now)
	}
	s.core.reconsider(now)
	events := s.events
	s.events = nil
	for _, event := range events {
		event(now)
	}
	if s.core.browsing && s.world.rand.IntN(3) > 0 {
		s.core.browse(now)
	}
	s.core.tidy()
	s.perform()
	if s.core.failure != nil {
		s.world.t.Fatalf("%s: %v\n%s", s.name, s.core.failure, s.world.given)
	}
}

func (s *site) perform() {
	out := s.core.out
	s.core.out = nil
	for _, c := range out {
		switch {
		case c.submit != nil:
			s.checkPinned(c.submit)
			s.store.submit(c.submit, func(err error) {
				s.events = append(s.events, func(now time.Time) { c.then(err, now) })
			})
		case c.invoke != nil:
			s.invoke(c.invoke)
		case c.wake != nil:
			if !s.store.wake(*c.wake, c.pause, s.world.now) {
				s.world.t.Fatalf("%s: %s waits for a timer that there is not\n%s", s.name, c.wake.Entry.Activity, s.world.given)
			}
		}
	}
}

// checkPinned: the entries of a transaction under way stay in memory, or another copy
// of one could be decided beside it.
func (s *site) checkPinned(tx *queue.Tx) {
	for _, a := range tx.Audit {
		e := message.Entry{Instance: a.Instance, Scope: a.Scope, Activity: a.Activity}
		if held := s.core.table.Get(e); a.Activity != processtable.Source && a.Event != queue.EventPassed && len(tx.TakeAside) == 0 && (held == nil || held.Phase != instancetable.Settling) {
			s.world.t.Fatalf("%s: %s is being settled and is not held\n%s", s.name, a.Activity, s.world.given)
		}
	}
}

// invoke begins a program. P1: no program runs beside an older attempt of itself.
func (s *site) invoke(run *invocation) {
	for _, other := range s.running {
		if other.entry == run.entry {
			s.world.t.Fatalf("%s is invoked while it runs\n%s", run.entry.Activity, s.world.given)
		}
	}
	s.running = append(s.running, run)
	if run.activity.Kind == processtable.KindEmpty { // its conditions are evaluated apart
		return
	}
	s.world.invoked[execution{run.entry, run.call.Iteration, run.call.Attempt, run.call.Run}]++
}

// finish ends one of the programs that run.
func (s *site) finish(i int) {
	run := s.running[i]
	s.running = slices.Delete(s.running, i, i+1)
	var result navigator.Result
	if run.activity.Kind == processtable.KindEmpty {
		result = run.activity.Echo(run.call.Input, run.started)
		result.Judged = run.activity.Judge(result)
	} else {
		result = s.world.result(run)
	}
	result.Started, result.Ended = run.started, s.world.now
	if run.cancelled {
		result = navigator.Result{Err: "ended early", Started: run.started, Ended: s.world.now}
	}
	s.places.Release(run.activity.Program)
	s.events = append(s.events, func(now time.Time) { s.core.finished(run, result, now) })
}

// commit writes some of what was submitted. Now and then a transaction is refused as
// stale though nothing came for it: that may cost time, and nothing else.
func (s *site) commit() {
	n := 1 + s.world.rand.IntN(len(s.store.pending))
	remote := s.store.commit(n, func(*queue.Tx) error {
		if s.world.stales > 0 && s.world.rand.IntN(4) == 0 {
			s.world.stales--
			return fmt.Errorf("%w: as it was drawn", queue.ErrStale)
		}
		return nil
	})
	s.send(remote)
}

// send puts messages on the wire. Invariant 11: their receivers will take them of this
// node.
func (s *site) send(remote []message.Message) {
	for _, m := range remote {
		to := s.world.site(m.Queue.Node)
		reason := impossible(to.name, m.Lane, &m.Header)
		if reason == "" {
			reason = to.process.Refuses(s.name, &m.Header)
		}
		if reason != "" {
			s.world.t.Fatalf("%s sends %s what it will not take: %s\n%s", s.name, to.name, reason, s.world.given)
		}
	}
	s.world.wire = append(s.world.wire, remote...)
}

// cross lets one message arrive: in any order, since they travel on different links.
func (w *world) cross() {
	i := w.rand.IntN(len(w.wire))
	m := w.wire[i]
	w.wire = slices.Delete(w.wire, i, i+1)
	w.put(m)
}

// atRest checks that a site has nothing left in memory but what its store has.
func (s *site) atRest() {
	t := s.world.t
	switch {
	case len(s.core.running) > 0 || s.core.inFlight > 0 || len(s.core.ready) > 0 || len(s.core.starting) > 0:
		t.Fatalf("%s: %d run, %d in flight, %d programs have a list\n%s", s.name, len(s.core.running), s.core.inFlight, len(s.core.ready), s.world.given)
	case len(s.slots.used) > 0 || len(s.slots.queue) > 0:
		t.Fatalf("%s: places %v are taken\n%s", s.name, s.slots.used, s.world.given)
	case !s.store.idle():
		t.Fatalf("%s: the store is not idle", s.name)
	}
	for _, a := range s.store.audits {
		e := message.Entry{Instance: a.Instance, Scope: a.Scope, Activity: a.Activity}
		if ends(a.Event) && s.core.lives.lasts(e) {
			t.Fatalf("%s: %s has ended and is remembered as lasting\n%s", s.name, e.Activity, s.world.given)
		}
	}
	inError := 0
	for _, messages := range s.store.entries {
		for _, m := range messages {
			if putsInError(m) {
				inError++
			}
		}
	}
	if c := s.core.census; !c.complete || c.inError != inError {
		t.Fatalf("%s: %d activities are counted as in error (complete: %t), %d are\n%s", s.name, c.inError, c.complete, inError, s.world.given)
	}
	s.core.table.All(func(e *instancetable.Entry) bool {
		if s.store.entries[e.Key] == nil && s.store.records[e.Key].Kind == 0 {
			t.Fatalf("%s: entry %s is in memory and not in the store\n%s", s.name, e.Key.Activity, s.world.given)
		}
		return true
	})
}

// audits gives all history, checked for what ends more than once.
func (w *world) audits() map[message.Entry]map[queue.Event][]queue.AuditRecord {
	out := map[message.Entry]map[queue.Event][]queue.AuditRecord{}
	ended := map[message.Entry]bool{}
	for _, s := range w.sites {
		for _, a := range s.store.audits {
			e := message.Entry{Instance: a.Instance, Scope: a.Scope, Activity: a.Activity}
			if ends(a.Event) {
				if ended[e] {
					w.t.Fatalf("%s ends twice\n%s", a.Activity, w.given)
				}
				ended[e] = true
			}
			if out[e] == nil {
				out[e] = map[queue.Event][]queue.AuditRecord{}
			}
			out[e][a.Event] = append(out[e][a.Event], a)
		}
	}
	return out
}
