package node

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"fmqm/api"
	"fmqm/definition"
	"fmqm/definition/definitiontest"
	"fmqm/internal/store"
	"fmqm/internal/store/badger"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/node/rebuild"
	"fmqm/node/retention"
	"fmqm/node/tables"
	"fmqm/processtable"
	"fmqm/program"
	"fmqm/queue/record"
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
	looked func() // nil, or called with each look
}

func (c *handClock) Now() time.Time {
	if c.looked != nil {
		c.looked()
	}
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

// outliving is a store that outlives its node, and counts how often it was compacted; it may have no room for that.
type outliving struct {
	*badger.Engine
	of *keeper
}

func (outliving) Close() error { return nil }

func (o outliving) Size(b *store.Batch) int64 { return o.Engine.Size(b) + o.of.each*int64(len(b.Ops)) }

func (o outliving) Compact(ctx context.Context) error {
	o.of.compacted++
	if o.of.full {
		return store.ErrNoSpace
	}
	return o.Engine.Compact(ctx)
}

// keeper is a node whose audit is kept by a policy. Links are the test's hands.
type keeper struct {
	*testing.T
	*Node
	engine *badger.Engine
	clock  *handClock
	ends   chan record.AuditRecord

	compacted int
	full      bool
	each      int64     // what a change counts beside its bytes
	log       io.Writer // nil: the test's, from warnings on
	peers     map[processtable.NodeID]Peer
	gone      map[sentKey]uint64 // what sent has given, which is trimmed with the next commit
}

type sentKey struct {
	peer processtable.NodeID
	lane message.Lane
}

const day90 = 90 * 24 * time.Hour

func newKeeper(t *testing.T, name, text string) *keeper {
	t.Helper()
	k := &keeper{T: t}
	k.begin(name, text)
	return k
}

// begin opens the node on a store of its own, until the test ends, and gives it its table.
func (k *keeper) begin(name, text string) {
	k.Helper()
	engine, err := badger.Open(badger.Options{InMemory: true})
	k.must(err)
	k.engine, k.clock, k.ends = engine, &handClock{now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}, make(chan record.AuditRecord, 1000)
	k.gone = map[sentKey]uint64{}
	k.open(name)
	k.Cleanup(func() {
		k.close()
		k.must(engine.Close())
	})
	k.table(text)
}

func (k *keeper) must(err error) {
	k.Helper()
	if err != nil {
		k.Fatal(err)
	}
}

func (k *keeper) open(name string) {
	k.openOnly(name)
	k.Launch()
}

// openOnly opens the node and begins none of its threads.
func (k *keeper) openOnly(name string) {
	registry, err := program.NewRegistry(map[processtable.ProgramID]program.Spec{
		"echo": {Kind: program.KindBuiltin, Builtin: "echo"},
		"fail": {Kind: program.KindBuiltin, Builtin: "fail"},
	}, program.Options{})
	k.must(err)
	log := zerolog.New(zerolog.NewTestWriter(k.T)).Level(zerolog.WarnLevel)
	if k.log != nil {
		log = zerolog.New(k.log)
	}
	k.Node, err = Open(Options{
		Name: processtable.NodeID(name), Engine: outliving{k.engine, k}, Registry: registry, Scheduler: task.Goroutines{Clock: k.clock},
		Log: log, Peers: k.peers,
		Observe: func(r record.AuditRecord) { k.ends <- r },
	})
	k.must(err)
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
	compiled := definitiontest.Compile(k.T, text, definition.CompileOptions{})
	for _, encoded := range compiled.Encoded {
		if table, err := processtable.Decode(encoded); err != nil || table.Node != k.name {
			k.must(err)
			continue
		}
		p, _, err := k.tables.Judge(encoded, false)
		k.must(err)
		k.must(k.commit(context.Background(), &record.Tx{Tables: []record.TableRecord{tables.Record(p, encoded)}}))
		k.tables.Install(p)
	}
}

func (k *keeper) start(id message.InstanceID, input string) error {
	return k.Begin(context.Background(), api.StartRequest{Instance: id, Process: "two@1", Input: json.RawMessage(input), Key: "monday"})
}

// await waits until an activity of an instance has ended so.
func (k *keeper) await(id message.InstanceID, a processtable.ActivityID, events ...record.Event) {
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
		key := sentKey{peer, lane}
		items, err := t.Read(lane, max(k.gone[key], t.Low(lane).Number)+1, 1<<20)
		k.must(err)
		for _, item := range items {
			piece, err := record.Unpack(item.Payload)
			k.must(err)
			m, err := message.Decode(piece.Data)
			k.must(err)
			all = append(all, m)
		}
		if len(items) > 0 {
			k.gone[key] = items[len(items)-1].Number
			t.Trim(lane, k.gone[key])
		}
	}
	return all
}

// take puts messages as the link does that brings them.
func (k *keeper) take(messages ...message.Message) {
	k.Helper()
	k.must(k.commit(context.Background(), &record.Tx{Put: messages}))
}

func (k *keeper) settled() {
	k.Helper()
	settled(k.T, k.Node)
}

// settled waits until no process thread has anything under way.
func settled(t *testing.T, n *Node) {
	t.Helper()
	for _, thread := range n.threads() {
		// The first answer may be of a turn that had taken its mail before the last message came.
		for idle := 0; idle < 2; {
			g, err := thread.Gauges(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if idle++; !g.Idle {
				idle = 0
			}
		}
	}
}

// round lets retention look once, with a policy.
func (k *keeper) round(policy retention.Policy) retention.Stats {
	k.Helper()
	k.must(k.retain.Round(context.Background(), policy))
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
	ofB := p.b.rebuilds.Standings
	p.b.rebuilds.Standings = func(ctx context.Context, node processtable.NodeID, q []rebuild.Instance) ([]rebuild.Standing, error) {
		switch {
		case node != "A":
			return ofB(ctx, node, q)
		case p.silent:
			return nil, errors.New("no answer")
		}
		return p.a.rebuilds.Standings(ctx, node, q)
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
	p.a.await(id, "go", record.EventTerminated)
	toB = p.a.sent("B")
	p.b.take(toB...)
	p.b.await(id, "work", record.EventTerminated)
	p.b.settled()
	toA = p.b.sent("A")
	p.a.take(toA...)
	p.a.await(id, processtable.Sink, record.EventEnded)
	p.a.settled()
	return toB, toA
}
