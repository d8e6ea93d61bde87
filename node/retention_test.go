package node

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"pgregory.net/rapid"

	"fmqm/api"
	"fmqm/definition"
	"fmqm/internal/store/badger"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/program"
	"fmqm/queue"
)

// retainedSites is a process of which each of two nodes hosts a part; dead is at B, and waits
// for the data of late there although FALSE comes from go at A.
const retainedSites = `
process: two
version: 1
structures: {In: {n: int, text: string}}
input: In
output: In
starts: [A]
activities:
  go:   {node: A, program: echo, input: In, output: In}
  work: {node: B, program: echo, input: In, output: In}
  dead: {node: B, program: echo, input: In, output: In}
control:
  - go -> work: n > 5
  - go -> dead: n > 50
data:
  - source -> go
  - go -> work
  - source -> dead
  - work -> sink
`

// handClock stands still until it is set, and wakes nobody; or, with a step, goes on by it
// with each look, wakes at once, and notes for how long it was to wait.
type handClock struct {
	mu     sync.Mutex
	now    time.Time
	step   time.Duration
	pauses []time.Duration
}

func (c *handClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(c.step)
	return c.now
}

// goOn sets the step, and gives the pauses until then.
func (c *handClock) goOn(step time.Duration) (pauses []time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	pauses, c.pauses, c.step = c.pauses, nil, step
	return pauses
}

func (c *handClock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func (c *handClock) AfterFunc(d time.Duration, f func()) func() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.step > 0 {
		c.pauses = append(c.pauses, d)
		go f()
	}
	return func() bool { return true }
}

// outliving is a store that outlives its node.
type outliving struct{ *badger.Engine }

func (outliving) Close() error { return nil }

// keeper is a node whose audit is kept by a policy. Links are the test's hands.
type keeper struct {
	*testing.T
	*Node
	engine *badger.Engine
	clock  *handClock
	ends   chan queue.AuditRecord
}

const day90 = 90 * 24 * time.Hour

func newKeeper(t *testing.T, name, text string) *keeper {
	t.Helper()
	engine, err := badger.Open(badger.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	k := &keeper{T: t, engine: engine, clock: &handClock{now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}, ends: make(chan queue.AuditRecord, 1000)}
	k.open(name)
	t.Cleanup(func() {
		k.close()
		k.must(engine.Close())
	})
	k.table(text)
	return k
}

func (k *keeper) must(err error) {
	k.Helper()
	if err != nil {
		k.Fatal(err)
	}
}

func (k *keeper) open(name string) {
	registry, err := program.NewRegistry(map[processtable.ProgramID]program.Spec{
		"echo": {Kind: program.KindBuiltin, Builtin: "echo"},
		"fail": {Kind: program.KindBuiltin, Builtin: "fail"},
	}, program.Options{})
	k.must(err)
	k.Node, err = Open(Options{
		Name: processtable.NodeID(name), Engine: outliving{k.engine}, Registry: registry, Clock: k.clock,
		Log:     zerolog.New(zerolog.NewTestWriter(k.T)).Level(zerolog.WarnLevel),
		Observe: func(r queue.AuditRecord) { k.ends <- r },
	})
	k.must(err)
	k.Launch()
}

func (k *keeper) close() {
	k.must(k.Stop(context.Background()))
	k.registry().Close()
}

func (k *keeper) restart() {
	k.close()
	k.open(string(k.name))
}

// table stores the node's table of a definition.
func (k *keeper) table(text string) {
	k.Helper()
	processes, problems := definition.Load("test.yaml", []byte(text))
	if definition.HasErrors(problems) {
		k.Fatal(problems)
	}
	compiled, err := definition.Compile(processes[0])
	k.must(err)
	for _, encoded := range compiled.Encoded {
		if table, err := processtable.Decode(encoded); err != nil || table.Node != k.name {
			k.must(err)
			continue
		}
		p, _, err := k.judgeTable(encoded)
		k.must(err)
		k.must(k.commit(context.Background(), &queue.Tx{Tables: []queue.TableRecord{record(p, encoded)}}))
		k.install(p)
	}
}

func (k *keeper) start(id message.InstanceID, input string) error {
	return k.Begin(context.Background(), api.StartRequest{Instance: id, Process: "two@1", Input: json.RawMessage(input), Key: "monday"})
}

// await waits until an activity of an instance has ended so.
func (k *keeper) await(id message.InstanceID, a processtable.ActivityID, events ...queue.Event) {
	k.Helper()
	limit := time.After(2 * time.Minute)
	for {
		select {
		case r := <-k.ends:
			if r.Instance == id && r.Activity == a && slices.Contains(events, r.Event) {
				return
			}
		case <-limit:
			k.Fatalf("%s of %s does not end", a, id)
		}
	}
}

// sent gives the messages that wait for a peer, and lets go of them.
func (k *keeper) sent(peer processtable.NodeID) (all []message.Message) {
	k.Helper()
	for lane := range message.Lane(2) {
		t := k.queue.Transmission(peer)
		items, err := t.Read(lane, t.Low(lane).Number+1, 1<<20)
		k.must(err)
		for _, item := range items {
			piece, err := queue.Unpack(item.Payload)
			k.must(err)
			m, err := message.Decode(piece.Data)
			k.must(err)
			all = append(all, m)
		}
		t.Trim(lane, t.Last(lane).Number)
	}
	return all
}

// take puts messages as the link does that brings them.
func (k *keeper) take(messages ...message.Message) {
	k.Helper()
	k.must(k.commit(context.Background(), &queue.Tx{Put: messages}))
}

// settled waits until the process thread has nothing under way.
func (k *keeper) settled() {
	k.Helper()
	t := k.thread(processtable.ProcessID{Name: "two", Version: 1})
	for idle := false; !idle; {
		k.must(t.ask(context.Background(), func(time.Time) {
			idle = t.core.inFlight == 0 && len(t.core.stale)+len(t.core.undropped) == 0 && !t.core.browsing
		}))
	}
}

// round lets retention look once, with a policy.
func (k *keeper) round(policy Retention) AuditStats {
	k.Helper()
	k.limits.Store(&Limits{Audit: policy})
	k.must(k.retain.round(context.Background()))
	s, looked := k.AuditStats()
	if !looked {
		k.Fatal("nothing was looked at")
	}
	return s
}

func (k *keeper) records(id message.InstanceID) int {
	k.Helper()
	history, err := k.queue.History(id)
	k.must(err)
	return len(history)
}

// invoked counts the attempts of all programs since the start.
func (k *keeper) invoked() (n uint64) {
	s, err := k.Stats()
	k.must(err)
	for _, p := range s.Processes {
		n += p.Attempts
	}
	return n
}

// keepers is A, where instances are started, and B. A answers what B asks, if it is not silent.
type keepers struct {
	a, b   *keeper
	silent bool
}

func newKeepers(t *testing.T) *keepers {
	p := &keepers{a: newKeeper(t, "A", retainedSites), b: newKeeper(t, "B", retainedSites)}
	p.join()
	return p
}

func (p *keepers) join() {
	p.b.standings = func(ctx context.Context, node processtable.NodeID, q []askedInstance) ([]standing, error) {
		if node == "A" && p.silent {
			return nil, errors.New("no answer")
		}
		if node == "A" {
			return p.a.askStandings(ctx, node, q)
		}
		return p.b.askStandings(ctx, node, q)
	}
}

func (p *keepers) restart() {
	p.a.restart()
	p.b.restart()
	p.join()
}

// run runs an instance to its end, and gives what each was sent.
func (p *keepers) run(id message.InstanceID) (toB, toA []message.Message) {
	p.a.must(p.a.start(id, `{"n": 7}`))
	p.a.await(id, "go", queue.EventTerminated)
	toB = p.a.sent("B")
	p.b.take(toB...)
	p.b.await(id, "work", queue.EventTerminated)
	p.b.settled()
	toA = p.b.sent("A")
	p.a.take(toA...)
	p.a.await(id, processtable.Sink, queue.EventEnded)
	p.a.settled()
	return toB, toA
}

// N2: a repeat of a start whose audit was removed gives the same instance, or a refusal of
// other content, and runs nothing: also after a restart. Status and history say what is gone.
func TestRetentionRefusesAnotherRunOfAStart(t *testing.T) {
	p := newKeepers(t)
	id := uuid.UUID{7, 6: 0x70, 8: 0x80}
	p.run(id)
	p.a.clock.pass(day90 + time.Hour)
	if s := p.a.round(Retention{Age: day90}); s.Removed != 1 || s.Remnants != 1 || s.Instances != 0 || s.Bytes != 0 || s.Overdue != 0 || p.a.records(id) != 0 {
		t.Fatalf("%+v, %d records", s, p.a.records(id))
	}
	for range 2 {
		invoked := p.a.invoked()
		p.a.must(p.a.start(id, `{"n": 7}`))
		if err := p.a.start(id, `{"n": 8}`); err == nil || !strings.Contains(err.Error(), "another input") {
			t.Errorf("another input: %v", err)
		}
		err := p.a.Begin(context.Background(), api.StartRequest{Instance: id, Process: "two@1", Input: json.RawMessage(`{"n": 7}`), Key: "tuesday"})
		if err == nil || !strings.Contains(err.Error(), `the key "monday"`) {
			t.Errorf("another key: %v", err)
		}
		p.a.settled()
		if p.a.invoked() != invoked || p.a.records(id) != 0 || len(p.a.sent("B")) != 0 {
			t.Error("it was started again")
		}
		s, err := p.a.Status(context.Background(), id)
		p.a.must(err)
		if s.State != api.InstanceFinished || s.Key != "monday" || s.Started.IsZero() || s.Ended.IsZero() || len(s.Removed) != 1 || s.Removed[0].Node != "A" {
			t.Errorf("status: %+v", s)
		}
		h, err := p.a.History(context.Background(), id)
		p.a.must(err)
		if len(h.Events) != 0 || len(h.Removed) != 1 {
			t.Errorf("history: %+v", h)
		}
		p.a.must(p.a.Watch(context.Background(), id, func(e api.HistoryEvent) error { return errors.New("an event: " + string(e.Event)) }))
		if l, err := p.a.List(context.Background(), api.ListRequest{All: true, Limit: 10}); err != nil || len(l.Instances) != 0 {
			t.Errorf("listed: %+v, %v", l, err)
		}
		if e := asAPI(p.a.Terminate(context.Background(), id)); e == nil || e.Code != api.CodeRefused {
			t.Errorf("terminated: %v", e)
		}
		p.restart()
	}
}

// N7: what arrives for an instance whose audit was removed is late. It makes no entry, runs
// nothing, and is set aside; at both nodes, and after a restart.
func TestRetentionRefusesWhatIsLate(t *testing.T) {
	p := newKeepers(t)
	id := uuid.UUID{7}
	toB, toA := p.run(id)
	p.a.clock.pass(day90 + time.Hour)
	p.b.clock.pass(day90 + time.Hour)
	for _, k := range []*keeper{p.a, p.b} { // the origin first: it still says that the instance has ended
		if s := k.round(Retention{Age: day90}); s.Removed != 1 {
			t.Fatalf("%s: %+v", k.name, s)
		}
	}
	for range 2 {
		for k, messages := range map[*keeper][]message.Message{p.a: toA, p.b: toB} {
			before, err := k.queue.SetAsideList(100)
			k.must(err)
			k.take(messages...)
			k.settled()
			aside, err := k.queue.SetAsideList(100)
			k.must(err)
			if quiet, what := k.Quiet(); !quiet || k.invoked() != 0 && len(before) > 0 || k.records(id) != 0 {
				t.Errorf("%s: %s; %d attempts, %d records", k.name, what, k.invoked(), k.records(id))
			}
			if len(aside) != len(before)+len(messages) || !strings.Contains(aside[0].Reason, "retention has removed its audit") {
				t.Errorf("%s: %d of %d messages were set aside: %+v", k.name, len(aside)-len(before), len(messages), aside)
			}
		}
		p.restart()
	}
}

// N7: of an instance that an operator terminated, what arrives late is absorbed, also for
// an activity that never had an entry.
func TestRetentionAbsorbsWhatIsLateForATerminatedInstance(t *testing.T) {
	p := newKeepers(t)
	id := uuid.UUID{7}
	p.a.must(p.a.start(id, `{"n": 7}`))
	p.a.await(id, "go", queue.EventTerminated)
	toB := p.a.sent("B")
	p.a.must(p.a.Terminate(context.Background(), id))
	p.a.await(id, processtable.Sink, queue.EventStopped)
	marker := p.a.sent("B")
	p.b.take(slices.DeleteFunc(slices.Clone(toB), func(m message.Message) bool { return m.Activity != "dead" })...)
	p.b.settled()
	p.b.take(marker...)
	p.b.await(id, "dead", queue.EventStopped, queue.EventSkipped)
	p.b.settled()
	p.a.clock.pass(day90 + time.Hour)
	p.b.clock.pass(day90 + time.Hour)
	for _, k := range []*keeper{p.a, p.b} {
		if s := k.round(Retention{Age: day90}); s.Removed != 1 {
			t.Fatalf("%s: %+v", k.name, s)
		}
	}
	p.b.take(toB...)
	p.b.settled()
	quiet, what := p.b.Quiet()
	aside, err := p.b.queue.SetAsideList(10)
	if !quiet || err != nil || len(aside) != 0 || p.b.invoked() != 0 || p.b.records(id) != 0 {
		t.Errorf("%s; set aside %+v, %v; %d attempts, %d records", what, aside, err, p.b.invoked(), p.b.records(id))
	}
	if s, err := p.a.Status(context.Background(), id); err != nil || s.State != api.InstanceTerminated {
		t.Errorf("%+v, %v", s, err)
	}
}

// S4: nothing is removed of an instance that has not ended, or of which it is not known,
// however old and large it is; and as soon as it is known, it is.
func TestRetentionKeepsWhatHasNotEnded(t *testing.T) {
	p := newKeepers(t)
	id := uuid.UUID{7}
	policy := Retention{Age: day90, Bytes: 1}
	keeps := func(k *keeper, why string) {
		t.Helper()
		records := k.records(id)
		if s := k.round(policy); s.Removed != 0 || s.Overdue != 1 || s.Instances != 1 || s.Bytes == 0 || k.records(id) != records || records == 0 {
			t.Errorf("%s, %s: %+v, %d records of %d", k.name, why, s, k.records(id), records)
		}
	}
	p.a.must(p.a.start(id, `{"n": 7}`))
	p.a.await(id, "go", queue.EventTerminated)
	p.a.clock.pass(2 * day90)
	p.b.clock.pass(2 * day90)
	keeps(p.a, "it runs")
	p.b.take(p.a.sent("B")...)
	p.b.await(id, "work", queue.EventTerminated)
	p.b.settled()
	p.b.clock.pass(2 * day90)
	keeps(p.b, "its origin says that it runs")
	p.a.take(p.b.sent("A")...)
	p.a.await(id, processtable.Sink, queue.EventEnded)
	p.a.settled()
	p.silent = true
	keeps(p.b, "its origin is silent")
	p.silent = false
	lost := newKeeper(t, "A", retainedSites)
	found := p.a
	p.a = lost
	keeps(p.b, "its origin has lost its store, and may start it again")
	p.a = found
	if s := p.b.round(policy); s.Removed != 1 || p.b.records(id) != 0 || s.Overdue != 0 {
		t.Errorf("%+v", s)
	}
}

// N6, N7: an instance ends without the dead activities that were passed around. What is
// still on its way to one is absorbed, and not late: until it has come, everything is kept.
func TestRetentionKeepsWhereSomethingIsOnItsWay(t *testing.T) {
	p := newKeepers(t)
	id := uuid.UUID{7}
	p.a.must(p.a.start(id, `{"n": 7}`))
	p.a.await(id, "go", queue.EventTerminated)
	toB := p.a.sent("B")
	slices.SortFunc(toB, func(a, b message.Message) int { return -strings.Compare(string(a.Activity), string(b.Activity)) })
	if len(toB) != 3 || toB[0].Activity != "work" || toB[1].Activity != "dead" || toB[2].Activity != "dead" {
		t.Fatalf("sent: %+v", toB)
	}
	p.b.take(toB[0])
	p.b.await(id, "work", queue.EventTerminated)
	p.b.settled()
	p.a.take(p.b.sent("A")...)
	p.a.await(id, processtable.Sink, queue.EventEnded)
	p.a.settled()
	p.b.clock.pass(2 * day90)
	for _, m := range toB[1:] {
		if s := p.b.round(Retention{Age: day90}); s.Removed != 0 || s.Overdue != 1 {
			t.Errorf("before the message from %s: %+v", m.Source, s)
		}
		p.b.take(m)
		p.b.settled()
		p.b.clock.pass(2 * day90)
	}
	if s := p.b.round(Retention{Age: day90}); s.Removed != 1 {
		t.Errorf("%+v", s)
	}
	if aside, err := p.b.queue.SetAsideList(10); err != nil || len(aside) != 0 {
		t.Errorf("set aside: %+v, %v", aside, err)
	}
}

// Retention slows nobody: each step is followed by a pause of three times its length.
func TestRetentionYields(t *testing.T) {
	p := newKeepers(t)
	for n := range 3 {
		p.run(uuid.UUID{byte(n + 1)})
	}
	clock := p.a.clock
	clock.pass(2 * day90)
	clock.goOn(time.Millisecond)
	p.a.retain.pageSize = 2
	if s := p.a.round(Retention{Age: day90}); s.Removed != 3 {
		t.Fatalf("%+v", s)
	}
	pauses := clock.goOn(0)
	if len(pauses) != 2+1+3 { // pages, a batch to judge, removals
		t.Errorf("pauses: %v", pauses)
	}
	for _, d := range pauses {
		if d < 3*time.Millisecond {
			t.Errorf("a pause of %s after a step of a millisecond", d)
		}
	}
}

// A node that was killed between two transactions finds the rest of what it had begun to
// remove, by any policy, and refuses a repeat meanwhile.
func TestRetentionGoesOnAfterAKill(t *testing.T) {
	p := newKeepers(t)
	id := uuid.UUID{7}
	p.run(id)
	records := p.a.records(id)
	for left := records; left > 0; left = p.a.records(id) {
		tx, _, err := p.a.queue.Forget(queue.Forget{Instance: id, Time: p.a.clock.Now(), Limit: 1})
		p.a.must(err)
		p.a.must(p.a.commit(context.Background(), tx))
		if p.a.records(id) != left-1 {
			t.Fatalf("%d records of %d are left", p.a.records(id), left)
		}
		p.restart()
		p.a.must(p.a.start(id, `{"n": 7}`))
		if s, err := p.a.Status(context.Background(), id); err != nil || s.State != api.InstanceFinished || len(s.Removed) != 1 {
			t.Errorf("%d records are left: %+v, %v", left-1, s, err)
		}
		if left == records/2+1 {
			break
		}
	}
	p.a.retain.records = 1
	if s := p.a.round(Retention{Age: day90}); p.a.records(id) != 0 || s.Instances != 0 || s.Remnants != 1 {
		t.Errorf("%+v, %d records", s, p.a.records(id))
	}
	if p.a.invoked() != 0 {
		t.Error("it ran again")
	}
}

// The oldest go first: by age none that is younger, by bytes no more than it takes; with
// memory for two candidates at a time as with memory for all.
func TestRetentionRemovesTheOldestFirst(t *testing.T) {
	for _, candidates := range []int{2, 100} {
		p := newKeepers(t)
		p.a.retain.candidates, p.a.retain.pageSize = candidates, 3
		var ids []message.InstanceID
		for n := range 10 {
			id := uuid.UUID{byte(200 - 13*n)} // the older, the further behind
			ids = append(ids, id)
			p.run(id)
			p.a.clock.pass(24 * time.Hour)
			p.b.clock.pass(24 * time.Hour)
		}
		running := uuid.UUID{1}
		p.a.must(p.a.start(running, `{"n": 7}`))
		p.a.await(running, "go", queue.EventTerminated)
		p.a.settled()
		left := func() (all []message.InstanceID) {
			for _, id := range ids {
				if p.a.records(id) > 0 {
					all = append(all, id)
				}
			}
			return all
		}
		s := p.a.round(Retention{Age: 7*24*time.Hour + time.Hour})
		if got := left(); !slices.Equal(got, ids[3:]) || s.Removed != 3 || s.Instances != 8 {
			t.Errorf("%d candidates, by age: %v of %v, %+v", candidates, got, ids, s)
		}
		one, _, err := p.a.queue.AuditSizeOf(ids[9])
		p.a.must(err)
		limit := s.Bytes - 2*one.Bytes - one.Bytes/2
		s = p.a.round(Retention{Bytes: limit})
		if got := left(); !slices.Equal(got, ids[6:]) || s.Removed != 6 || s.Bytes > limit || s.Bytes < limit-one.Bytes {
			t.Errorf("%d candidates, by bytes: %v of %v, %+v of %d", candidates, got, ids, s, limit)
		}
		if again := p.a.round(Retention{Bytes: limit}); again != s {
			t.Errorf("another round: %+v, before %+v", again, s)
		}
		p.a.limits.Store(&Limits{})
		p.a.must(p.a.retain.round(context.Background()))
		if _, looked := p.a.AuditStats(); looked || len(left()) != 4 {
			t.Error("without limits something was removed, or looked at")
		}
	}
}

// Whatever is offered, the oldest behind the floor are kept, in order.
func TestOldestCandidates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawn := rapid.SliceOf(rapid.Custom(func(t *rapid.T) candidate {
			return candidate{last: rapid.Int64Range(1, 20).Draw(t, "last"), instance: uuid.UUID{rapid.Byte().Draw(t, "instance")}}
		})).Draw(t, "candidates")
		o := oldest{limit: rapid.IntRange(1, 10).Draw(t, "limit"), floor: candidate{last: rapid.Int64Range(0, 10).Draw(t, "floor")}}
		for _, c := range drawn {
			o.offer(c)
		}
		var want []candidate
		for _, c := range drawn {
			if o.floor == (candidate{}) || o.floor.compare(c) < 0 {
				want = append(want, c)
			}
		}
		slices.SortFunc(want, candidate.compare)
		want = want[:min(len(want), o.limit)]
		if got := o.sorted(); !slices.Equal(got, want) {
			t.Fatalf("%v, expected %v", got, want)
		}
	})
}

// S4: where a peer lost what was removed here, the rebuilding says so. What the peer has
// under way of an instance that has ended is ended by a marker; what was started there and
// is unknown there, or runs there again from an older copy, is named.
func TestRebuildNamesWhatWasRemoved(t *testing.T) {
	p := newKeepers(t)
	ended, gone, again := uuid.UUID{1}, uuid.UUID{2}, uuid.UUID{3}
	for _, id := range []message.InstanceID{ended, gone, again} {
		p.run(id)
	}
	p.a.clock.pass(day90 + time.Hour)
	p.b.clock.pass(day90 + time.Hour)
	p.b.round(Retention{Age: day90})
	p.a.round(Retention{Age: day90})

	// B has come back from an older copy, where something of one instance is under way.
	at := map[message.InstanceID]standing{ended: {Open: true}}
	lying := func(peer processtable.NodeID, own *keeper) func(context.Context, processtable.NodeID, []askedInstance) ([]standing, error) {
		return func(ctx context.Context, node processtable.NodeID, q []askedInstance) (all []standing, err error) {
			if node != peer {
				return own.askStandings(ctx, node, q)
			}
			for _, i := range q {
				all = append(all, at[i.Instance])
			}
			return all, nil
		}
	}
	p.a.standings = lying("B", p.a)
	run := &rebuilding{node: p.a.Node, peer: "B", mark: queue.Rebuild{Peer: "B", Stage: queue.StageSending}, turned: make(chan struct{})}
	for run.mark.Stage != queue.StageDone {
		p.a.must(run.send(context.Background()))
	}
	sent := p.a.sent("B")
	if len(sent) != 1 || sent[0].Kind != message.KindMarker || sent[0].Instance != ended || run.mark.Instances != 1 {
		t.Errorf("sent: %+v, %+v", sent, run.mark)
	}

	// A has come back: it does not know one instance, and another runs there again.
	at = map[message.InstanceID]standing{ended: {Started: true, Ended: true}, again: {Started: true, Open: true}}
	p.b.standings = lying("A", p.b)
	report := api.Rebuild{Stage: api.RebuildDone}
	p.b.must(p.b.tellUnknown(context.Background(), &report, queue.Rebuild{Peer: "A", Stage: queue.StageDone}))
	if len(report.Removed) != 2 || report.Removed[0].Instance != gone || report.Removed[0].Running ||
		report.Removed[1].Instance != again || !report.Removed[1].Running || len(report.Unknown) != 0 {
		t.Errorf("named: %+v", report)
	}
}
