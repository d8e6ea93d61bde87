package thread

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"pgregory.net/rapid"

	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/definition"
	"fmqm/instancetable"
	"fmqm/message"
	"fmqm/navigator"
	"fmqm/processtable"
	"fmqm/queue/record"
	"fmqm/sim/generate"
)

// world is a network of machines, one for each node of a random process, each over a model
// of its store. A seeded order decides what happens next: which transactions are joined and
// committed, what is read and when it is answered, what is delivered, which program ends,
// which message crosses the network, who crashes.
type world struct {
	t     rapid.TB
	rand  *rand.Rand
	def   *definition.Process
	given fmt.Stringer // shown with every failure
	sites []*site
	wire  []message.Message
	now   time.Time
	// result is what a program gives.
	result func(*invocation) behaviour.Result
	slow   bool // the store is read, and answers, at any time after it was asked

	starts  []*startCall
	stales  int // transactions that may still be refused for no reason
	crashes int // that may still happen
	crashed bool
	meddles int  // an operator's hands and peers' mistakes that may still happen
	leaps   int  // of the clock, forward or back, that may still happen
	hasty   bool // timers come also while a thread is in its turn
	holds   int  // entries that may still be held back
	invoked map[execution]int

	orders   []message.Message       // operators' words
	came     map[message.WordID]int  // how often each has come: once it is answered it may come again
	awaited  map[message.WordID]bool // of them, those whose answer goes to another site
	answered map[message.WordID]int  // that came there
	told     map[message.WordID]int  // that were told where the activity is
}

// execution is one attempt of a program.
type execution struct {
	entry                   message.Entry
	iteration, attempt, run int
}

// site is one node: a machine with what its shell would have.
type site struct {
	world   *world
	name    processtable.NodeID
	process behaviour.Process
	store   *modelStore
	limits  instancetable.Limits
	reach   Reach
	bound   int // of operations; 0: cascadeOps

	machine *Machine
	told    time.Time // what a turn has read of the clock; zero: it reads it anew
	look    bool      // the machine wants its mail to be read
	events  []Event   // that have happened
	reads   []*pendingRead
	free    *freePlaces
	running []*invocation
	words   Token            // said so far
	answers map[Token]Answer // of words
	replies map[message.WordID]message.Answer
	held    int // entries that were held back, and for which there is room soon
	loads   int // reads that were asked for
	failure error
}

// pendingRead is a read that was asked for, and its answer once it was read.
type pendingRead struct {
	asked  Effect
	answer Event
}

// invocation is a program that runs.
type invocation struct {
	token     Token
	entry     message.Entry
	activity  behaviour.Behaviour
	call      behaviour.Invoke
	started   time.Time
	cancelled bool
}

// freePlaces are those of a site's programs.
type freePlaces struct {
	limit int
	used  map[processtable.ProgramID]int
	queue map[processtable.ProgramID][]Token
}

// startCall is a client's start, repeated until it is answered.
type startCall struct {
	site  *site
	call  behaviour.Start
	word  Token
	asked bool
	done  bool
}

// newWorld draws what a random world depends on beside its process.
func newWorld(t *rapid.T, c *generate.Case) *world {
	w := openWorld(t, c.Text("drawn"), rapid.Uint64().Draw(t, "schedule"))
	w.given = c
	w.result, w.hasty, w.slow = resultsOf(c), true, rapid.Bool().Draw(t, "slow reads")
	for _, s := range w.sites {
		s.limits.Entries = rapid.IntRange(0, 8).Draw(t, "cache")
		s.open(rapid.IntRange(1, 3).Draw(t, "concurrency"))
		s.machine.places.limit = 1 + w.rand.IntN(3)
		s.machine.places.room = w.rand.IntN(4000)
	}
	return w
}

// resultsOf gives what was drawn for the programs.
func resultsOf(c *generate.Case) func(*invocation) behaviour.Result {
	return func(run *invocation) behaviour.Result {
		scope := ""
		if run.entry.Scope != "" {
			scope = run.entry.Scope.Path(run.entry.Activity)
		}
		r := c.Result(generate.Call{
			Activity: string(run.entry.Activity), Scope: scope, Iteration: run.call.Iteration, Attempt: run.call.Attempt,
			Input: run.call.Input, Output: run.call.Output, RCIsData: run.call.RCIsData,
		})
		return behaviour.Result{RC: r.RC, Output: r.Output, Err: r.Err}
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
		came: map[message.WordID]int{}, awaited: map[message.WordID]bool{}, answered: map[message.WordID]int{}, told: map[message.WordID]int{},
		result: func(run *invocation) behaviour.Result {
			return behaviour.Result{Output: container.New(run.call.Output)}
		},
	}
	for _, encoded := range compiled.Encoded {
		table, err := processtable.Decode(encoded)
		if err != nil {
			t.Fatal(err)
		}
		p, err := navigator.Prepare(table, nil)
		if err != nil {
			t.Fatal(err)
		}
		s := &site{
			world: w, name: table.Node, process: p, store: newModelStore(table.Node),
			limits: instancetable.Limits{Entries: 1000, Bytes: 1 << 20}, reach: Reach{All: true},
		}
		s.open(4)
		w.sites = append(w.sites, s)
	}
	return w
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
		w.starts = append(w.starts, &startCall{site: site, call: behaviour.Start{Instance: id, Input: input, Now: w.now}})
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
		if s.due() {
			out = append(out, s.turn)
		}
		if len(s.store.pending) > 0 {
			out = append(out, s.commit)
		}
		if len(s.reads) > 0 {
			out = append(out, func() { s.read(w.rand.IntN(len(s.reads))) })
		}
		if len(s.running) > 0 {
			out = append(out, func() { s.finish(w.rand.IntN(len(s.running))) })
		}
		if s.held > 0 {
			out = append(out, func() { s.held = 0; s.events = append(s.events, Room{}) })
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
		if !c.heard() && !c.asked {
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
	}
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
	m := s.machine
	switch {
	case !m.Gauges().Idle || len(m.places.ready) > 0 || len(m.starting) > 0 || len(m.gathers) > 0 || len(m.dropping) > 0 || len(m.arriving) > 0 || len(m.starts.asked) > 0:
		t.Fatalf("%s: something is under way: %+v, starts %d, gathers %d, drops %d, arrivals %d\n%s", s.name, m.Gauges(), len(m.starting), len(m.gathers), len(m.dropping), len(m.arriving), s.world.given)
	case len(m.places.asked)+len(m.places.programs) > 0 || len(s.free.used) > 0 || len(s.free.queue) > 0:
		t.Fatalf("%s: places %v are taken, %v asked for\n%s", s.name, s.free.used, m.places.asked, s.world.given)
	case !s.store.idle() || len(s.reads) > 0:
		t.Fatalf("%s: the store is not idle", s.name)
	case len(s.answers) != int(s.words):
		t.Fatalf("%s: %d words were said, and %d answered", s.name, s.words, len(s.answers))
	}
	for _, a := range s.store.audits {
		e := message.Entry{Instance: a.Instance, Scope: a.Scope, Activity: a.Activity}
		if ends(a.Event) && s.machine.lives.lasts(e) {
			t.Fatalf("%s: %s has ended and is remembered as lasting\n%s", s.name, e.Activity, s.world.given)
		}
	}
	inError := 0
	for _, messages := range s.store.entries {
		for _, m := range messages {
			if m.Kind == message.KindWord {
				t.Fatalf("%s: a word for %s lies there without an answer\n%s", s.name, m.Activity, s.world.given)
			}
			if snapshot, err := message.DecodeSnapshot(m.Body); m.Kind == message.KindSnapshot && err == nil && snapshot.Failed {
				inError++
			}
		}
	}
	if c := s.machine.census; !c.complete || c.inError != inError {
		t.Fatalf("%s: %d activities are counted as in error (complete: %t), %d are\n%s", s.name, c.inError, c.complete, inError, s.world.given)
	}
	s.machine.table.All(func(e *instancetable.Entry) bool {
		if s.store.entries[e.Key] == nil && s.store.records[e.Key].Kind == 0 {
			t.Fatalf("%s: entry %s is in memory and not in the store\n%s", s.name, e.Key.Activity, s.world.given)
		}
		return true
	})
}

// audits gives all history, checked for what ends more than once.
func (w *world) audits() map[message.Entry]map[record.Event][]record.AuditRecord {
	out := map[message.Entry]map[record.Event][]record.AuditRecord{}
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
				out[e] = map[record.Event][]record.AuditRecord{}
			}
			out[e][a.Event] = append(out[e][a.Event], a)
		}
	}
	return out
}
