package thread

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/commit"
	"fmqm/queue/record"
	"fmqm/sim/generate"
)

// N5: a chain of 10 programs at one node costs 11 durable writes; routing costs none.
func TestN5DurableWritesOfAChain(t *testing.T) {
	for _, tc := range []struct {
		kind string
		want uint64
	}{{"program: x", 11}, {"empty: true", 2}} {
		w, s := one(t, chain(10, tc.kind, ""))
		for len(s.running) > 0 {
			s.finish(0)
			s.pump()
		}
		w.expect(t, "a9", "terminated", "sink", "ended")
		if s.store.seq != tc.want {
			t.Errorf("%s: %d durable writes, want %d", tc.kind, s.store.seq, tc.want)
		}
		s.atRest()
	}
}

// N5, N7: an operator's terminate costs its own instance only: a chain of others is still
// decided in one transaction.
func TestN5AMarkCostsItsOwnInstanceOnly(t *testing.T) {
	w := openWorld(t, "process: p\nversion: 1\n"+chain(10, "empty: true", ""), 1)
	s := w.sites[0]
	s.pump()
	w.start(1, 0, "")
	marker := w.marker()
	marker.Instance = message.InstanceID{15: 99}
	w.put(marker)
	s.pump()
	before := s.store.seq
	w.starts[0].ask()
	s.pump()
	w.expect(t, "a9", "terminated", "sink", "ended")
	if n := s.store.seq - before; n != 2 {
		t.Errorf("%d durable writes beside an instance that was terminated, want 2", n)
	}
	s.atRest()
}

// What waits for a transaction does not wait for connectors, a pause or an operator.
func TestWhatHasATransactionUnderWayDoesNotWait(t *testing.T) {
	_, s := one(t, chain(2, "program: x", ""))
	for _, c := range []struct {
		when    string
		do      func()
		waiting int
	}{
		{"a0 runs", func() {}, 1}, // sink has the instance's record
		{"its end is to be on disk", func() { s.finish(0); s.turn() }, 1},
		{"a1 runs", s.pump, 1},
	} {
		c.do()
		if g := s.machine.Gauges(); g.Waiting != c.waiting {
			t.Errorf("%s: %d wait, want %d (%+v)", c.when, g.Waiting, c.waiting, g)
		}
	}
}

// What it has seen itself a machine does not ask: of an instance that was started here nothing
// is read but, once, whether it was before.
func TestTheSteadyStateReadsNothing(t *testing.T) {
	w := openWorld(t, "process: p\nversion: 1\nstarts: [A]\n"+chain(5, "program: x", ""), 1)
	s := w.sites[0]
	s.pump()
	before := s.loads
	w.start(3, 0, "")
	for _, c := range w.starts {
		c.ask()
	}
	s.pump()
	for len(s.running) > 0 {
		s.finish(0)
		s.pump()
	}
	if n := s.loads - before; n != 3 {
		t.Errorf("%d reads for 3 instances, want that of their starts", n)
	}
	s.atRest()
}

// N5: a cascade into entries of which nothing is known asks for all of them at once, and is
// one transaction; also where the answer comes later.
func TestN5ACascadeAsksOnce(t *testing.T) {
	for _, slow := range []bool{false, true} {
		w := openWorld(t, "process: p\nversion: 1\nstarts: [A, B]\n"+chain(10, "program: x", ": _RC > 5"), 1)
		s := w.sites[0]
		s.pump()
		w.start(1, 0, "")
		w.starts[0].ask()
		s.pump()
		before, seq := s.loads, s.store.seq
		w.slow = slow
		s.end("a0")
		for s.due() || len(s.reads) > 0 || len(s.store.pending) > 0 {
			s.turn()
			for len(s.reads) > 0 {
				s.read(0)
			}
			s.commitAll()
		}
		w.expect(t, "a1", "skipped", "a9", "skipped", "sink", "ended")
		if n := s.loads - before; n != 1 || s.store.seq-seq != 1 {
			t.Errorf("answers later: %t: %d reads and %d transactions, want one of each", slow, n, s.store.seq-seq)
		}
		s.atRest()
	}
}

// N5: what a transaction cascades into is bounded; then the next goes on.
func TestN5LongDeadPath(t *testing.T) {
	w, s := one(t, chain(2000, "program: x", ": _RC > 5"))
	s.end("a0")
	var sizes []int
	for !s.store.idle() || len(s.events) > 0 {
		s.turn()
		for _, p := range s.store.pending {
			n := len(p.tx.Put) + len(p.tx.Consume)
			for _, c := range p.tx.Consume {
				n += len(c.Keys)
			}
			sizes = append(sizes, n)
		}
		s.commitAll()
	}
	w.expect(t, "a1", "skipped", "a1999", "skipped", "sink", "ended")
	if len(sizes) < 3 || len(sizes) > 8 || slices.Max(sizes) > cascadeOps+10 {
		t.Errorf("transactions of %v operations", sizes)
	}
	s.atRest()
}

// N5: what a transaction ends is held in memory, also where the cache has no room.
func TestN5ACascadeEvictsNoneOfItsOwn(t *testing.T) {
	w, s := one(t, `
activities:
  w: {node: A, program: x}
  x: {node: A, program: x}
  fresh: {node: A, empty: true}
  waits: {node: A, empty: true}
control:
  - w -> waits
  - x -> fresh
  - x -> waits
`)
	s.limits.Entries = 1
	s.open(2)
	s.pump()
	s.end("w")
	s.pump()
	w.expect(t, "waits", "waiting")
	s.end("x")
	s.turn() // checks that all are held
	w.expect(t, "fresh", "settling", "waits", "settling", "x", "settling")
	s.pump()
	w.expect(t, "waits", "terminated", "sink", "ended")
}

const pair = `
structures:
  Number: {n: int}
input: Number
activities:
  x: {node: A, program: x, output: Number}
  y: {node: A, program: x}
control:
  - x -> y: n < 5
`

// Invariant 3: a transaction that did not know of a newcomer does not happen; the
// entry folds it and decides again, about the exact set of its messages.
func TestInvariant3ANewcomerMakesATransactionStale(t *testing.T) {
	w, s := one(t, "activities:\n  x: {node: A, program: x}\n")
	s.end("x")
	s.turn()
	notice := w.to(processtable.Sink, message.KindNotice, "elsewhere")
	notice.Body = message.EncodeNotice(message.Notice{Error: "e", Time: w.now})
	w.put(notice) // for sink, which the transaction of x's end ends too
	s.commitAll()
	w.expect(t, "x", "settling", "sink", "settling")
	s.turn()
	s.turn()
	w.expect(t, "x", "settling", "sink", "settling")
	last := s.store.pending[len(s.store.pending)-1].tx
	if i := slices.IndexFunc(last.Consume, func(c record.Consume) bool { return c.Entry == w.entry(processtable.Sink) }); len(last.Consume[i].Keys) != 2 {
		t.Errorf("sink's end removes %v, want the record and the notice", last.Consume[i].Keys)
	}
	s.pump()
	w.expect(t, "x", "terminated", "sink", "ended")
	if len(s.store.entries)+len(s.store.records) > 0 {
		t.Errorf("left: %v %v", s.store.entries, s.store.records)
	}
	if w.invoked[execution{w.entry("x"), 1, 1, 0}] != 1 {
		t.Error("the result was not kept")
	}
}

// Invariant 3, S2: a termination that is too large puts the activity in error; its
// output is kept, so a retry needs no program.
func TestATransactionThatIsTooLarge(t *testing.T) {
	w, s := one(t, pair)
	s.end("x")
	s.turn()
	s.commitAll(fmt.Errorf("%w: its records have 3000000 bytes, and at most 2500000 are allowed", commit.ErrTooLarge))
	s.pump()
	w.expect(t, "x", "in error: the transaction is too large: its records have 3000000 bytes, and at most 2500000 are allowed", "y", "inactive")
	retried := s.order(w.entry("x"), message.Word{})
	s.pump()
	w.expect(t, "x", "terminated", "y", "running")
	if done := s.replies[retried]; done.Result != message.WordDone || w.invoked[execution{w.entry("x"), 1, 1, 0}] != 1 {
		t.Errorf("retry: %+v; invoked %v", done, w.invoked)
	}
}

// N2: start is idempotent: a known identifier with the same input gives the same
// instance, with other content it is refused; one that is under way is waited for.
func TestN2StartIsIdempotent(t *testing.T) {
	w := openWorld(t, "process: p\nversion: 1\n"+pair, 1)
	w.start(1, 0, `{"n": 1}`)
	s, call := w.sites[0], w.starts[0].call
	other := call
	other.Input = container.New(w.def.Input)
	ask := func(o behaviour.Start) Token { return s.say(func(word Token) Event { return Start{word, o} }) }
	words := []Token{ask(call), ask(call), ask(other)}
	if len(s.store.pending) != 1 || len(s.answers) > 0 {
		t.Errorf("%d transactions, answers %v, before anything is on disk", len(s.store.pending), s.answers)
	}
	s.pump()
	words = append(words, ask(call))
	for i, want := range []Code{OK, Known, Conflict, Known} {
		if got, answered := s.answers[words[i]]; !answered || got.Code != want {
			t.Errorf("word %d: answered %t %+v, want %d", i, answered, got, want)
		}
	}
	if text := s.answers[words[2]].Text; !strings.HasSuffix(text, "another instance has this identifier, started with another input") {
		t.Error(text)
	}
	if n := len(w.audits()[w.entry(processtable.Source)][record.EventStarted]); n != 1 {
		t.Errorf("started %d times", n)
	}
}

// N2: a start that was not committed has not happened, and can be asked again.
func TestN2StartThatFails(t *testing.T) {
	w := openWorld(t, "process: p\nversion: 1\n"+pair, 1)
	w.start(1, 0, "")
	s := w.sites[0]
	started := s.say(func(word Token) Event { return Start{word, w.starts[0].call} })
	s.commitAll(queue.ErrStopped)
	s.pump()
	if got := s.answers[started]; got.Code != Closed {
		t.Errorf("answer %+v", got)
	}
	w.expect(t, "x", "inactive", "sink", "inactive")
	w.starts[0].ask()
	s.pump()
	w.expect(t, "x", "running")
}

// R17: an operator's retry is for activities in error only.
func TestR17RetryOfWhatIsNotInError(t *testing.T) {
	w, s := one(t, pair)
	for activity, want := range map[processtable.ActivityID]string{
		"x": "retry x: it is not in error", "y": "retry y: it is not in error, it has not begun at A", "sink": "retry sink: it is not in error",
	} {
		retried := s.order(w.entry(activity), message.Word{})
		s.pump()
		if got := s.replies[retried]; got.Result != message.WordRefused || got.Text != want {
			t.Errorf("%+v, want %s", got, want)
		}
	}
}

// Invariant 10: entries that wait for a place of a program are held up to a bound, in entries and in
// bytes, and beyond it are in the store only; all get their turn.
func TestInvariant10ReadyEntriesAreBounded(t *testing.T) {
	for name, bound := range map[string]func(*places){
		"entries": func(p *places) { p.limit = 2 },
		"bytes":   func(p *places) { p.room = 900 },
		"none":    func(p *places) { p.room = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			w := openWorld(t, "process: p\nversion: 1\nactivities:\n  x: {node: A, program: x}\n", 1)
			s := w.sites[0]
			s.open(1)
			p := &s.machine.places
			bound(p)
			w.start(20, 0, "")
			for _, c := range w.starts {
				c.ask()
			}
			for done := 0; ; done++ {
				s.pump()
				if n := p.waiting(); n > 2 || n > 1 && p.bytes > p.room {
					t.Errorf("%d entries of %d bytes are in the list of those ready", n, p.bytes)
				}
				if len(s.running) == 0 {
					if done != 20 {
						t.Errorf("%d programs ran, want 20", done)
					}
					break
				}
				s.finish(0)
			}
			if s.atRest(); p.bytes != 0 {
				t.Errorf("%d bytes are in no list", p.bytes)
			}
		})
	}
}

// Invariant 8: what cannot be read cannot be decided: the node stops and says so.
func TestAStoreThatCannotBeRead(t *testing.T) {
	w, s := one(t, pair)
	w.slow = true
	s.machine.deliver(record.Delivery{Entry: w.entry("y")})
	load := s.machine.out[0].(Load)
	effects := s.machine.Step(w.now, Unread{load.Token, errors.New("damaged record")})
	if fail, fails := effects[0].(Fail); !fails || fail.Err.Error() != "process thread of p@1: damaged record" {
		t.Errorf("%+v", effects)
	}
}

// Invariant 13: the same events give the same commands.
func TestInvariant13CoresAreDeterministic(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := generate.Cases().Draw(rt, "case")
		seed := rapid.Uint64().Draw(rt, "schedule")
		crashes := rapid.IntRange(0, 2).Draw(rt, "crashes")
		history := func() [][]record.AuditRecord {
			w := openWorld(rt, c.Text("drawn"), seed)
			w.given, w.result = c, resultsOf(c)
			w.stales, w.crashes = 5, crashes
			w.start(3, c.Start, c.Input)
			w.run()
			var out [][]record.AuditRecord
			for _, s := range w.sites {
				out = append(out, s.store.audits)
			}
			return out
		}
		if diff := cmp.Diff(history(), history()); diff != "" {
			rt.Fatalf("the same events gave something else: %s\n%s", diff, c)
		}
	})
}

// Timers (R11): the pause of a failed attempt is a message of the queue; it outlives
// a restart, and goes with the entry.
func TestR11PauseOutlivesARestart(t *testing.T) {
	w, s := one(t, "activities:\n  x: {node: A, program: x, retry: {attempts: 3, backoff: 5s, max_backoff: 1m}}\n")
	w.result = func(*invocation) behaviour.Result { return behaviour.Result{Err: "no such file"} }
	s.end("x")
	s.pump()
	w.expect(t, "x", "waiting")
	if next := s.store.nextTimer(); !next.Equal(w.now.Add(5 * time.Second)) {
		t.Errorf("timer at %v", next)
	}
	s.store.crash()
	s.open(1)
	s.pump()
	w.expect(t, "x", "waiting")
	w.advance()
	s.pump()
	w.expect(t, "x", "running")
	if run := s.running[0]; run.call.Attempt != 2 {
		t.Errorf("attempt %d", run.call.Attempt)
	}
	w.result = func(run *invocation) behaviour.Result {
		return behaviour.Result{Output: container.New(run.call.Output)}
	}
	s.end("x")
	s.pump()
	w.expect(t, "x", "terminated", "sink", "ended")
	if len(s.store.timers) > 0 {
		t.Errorf("timers are left: %v", s.store.timers)
	}
}

// N7: an entry that a cascade was about to end is stopped by a marker that comes while
// the transaction is written, also when that is refused.
func TestAMarkerBesideARefusedCascade(t *testing.T) {
	w, s := one(t, `structures: {S: {x: int}}
input: S
output: S
activities:
  a: {node: A, program: p}
data:
  - source -> sink: {x: x}
`) // so that sink has an entry before
	s.end("a")
	s.turn() // submits the ends of a and of sink
	w.put(w.marker())
	s.turn()
	s.commitAll(commit.ErrStale)
	s.pump()
	w.expect(t, "a", "stopped", "sink", "stopped")
	s.atRest()
}

// What a browse finds before the mailbox gives it, and is consumed meanwhile, is not late.
func TestABrowseIsFasterThanTheMailbox(t *testing.T) {
	w := openWorld(t, `process: p
version: 1
structures: {S: {x: int}}
input: S
activities:
  a: {node: A, program: p}
  k: {node: A, program: p, input: S}
control:
  - a -> k: _RC == 5
data:
  - source -> k: {x: x}
`, 1)
	s := w.sites[0]
	w.start(1, 0, "")
	w.starts[0].ask()
	s.commitAll()
	for _, event := range s.store.ended {
		s.step(event)
	}
	s.store.ended = nil
	s.step(MailRead{}) // asks for the browse, which is answered
	s.end("a")
	for _, event := range s.events {
		s.step(event) // k is about to end with a
	}
	s.events = nil
	for _, d := range s.store.take(10) {
		s.step(Delivered{d})
	}
	s.pump()
	w.expect(t, "a", "terminated", "k", "skipped", "sink", "ended")
	s.expectAside(t)
}
