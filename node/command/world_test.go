package command

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"fmqm/api"
	"fmqm/behaviour"
	"fmqm/definition"
	"fmqm/definition/definitiontest"
	"fmqm/internal/store"
	"fmqm/internal/store/memory"
	"fmqm/internal/task"
	"fmqm/link"
	"fmqm/message"
	"fmqm/navigator"
	"fmqm/node/report"
	"fmqm/node/thread"
	"fmqm/node/trust"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/mailbox"
	"fmqm/queue/record"
)

// orders is the process of all stories: x is here, y at B. C has a part in it too, X has none.
const orders = `
process: p
version: 1
starts: [A]
activities:
  x: {node: A, program: p}
  y: {node: B, program: p}
  z: {node: C, program: p}
control: [x -> y, y -> z]
`

// world is the site A with a store on an event heap, and without a network: what its links would
// bring and take, and what its process thread would do, the story tells.
type world struct {
	t       *testing.T
	time    *task.World
	disk    *memory.Disk
	process behaviour.Process
	slow    time.Duration // of each commit
	quota   int64
	reply   string                               // of every peer to every question; empty: none answers
	heard   map[processtable.NodeID]*link.Status // the peers that there are links to
	random  counted
	asked   int            // how often the nodes of an instance were asked how it stands
	last    message.WordID // that the site has made
	anew    bool           // its store is not its first

	// Of one life of the site.
	*Commands
	by       *task.Site
	mail     *mailbox.Reader
	asks     map[string]context.CancelFunc // that have not been told yet; with what lets them go
	told     []string                      // of what has ended since the story last said something
	observed []string                      // of history, since the story last asked
}

// counted gives identifiers that are easily read.
type counted struct{ n uint64 }

func (c *counted) Read(p []byte) (int, error) {
	c.n++
	clear(p)
	p[len(p)-1] = byte(c.n)
	return len(p), nil
}

func newWorld(t *testing.T) *world {
	t.Helper()
	compiled := definitiontest.Compile(t, orders, definition.CompileOptions{})
	w := &world{
		t: t, time: task.NewWorld(1, time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)), disk: memory.NewDisk("A"),
		heard: map[processtable.NodeID]*link.Status{"B": {}, "C": {}},
	}
	for _, table := range compiled.Tables {
		if table.Node == "A" {
			p, err := navigator.Prepare(table, nil)
			if err != nil {
				t.Fatal(err)
			}
			w.process = p
		}
	}
	w.open(nil)
	return w
}

// open begins a life of the site.
func (w *world) open(remote trust.Operators) {
	w.by, w.asks, w.told = w.time.NewSite(0), map[string]context.CancelFunc{}, nil
	w.run(func() {
		engine, err := w.disk.Open(memory.Options{By: w.by, Faults: faults{w}})
		w.must(err)
		q, err := queue.Open(engine, queue.Options{Node: "A", Scheduler: w.by, Rand: &w.random})
		w.must(err)
		w.mail = q.Mailbox(w.id())
		w.Commands = New(Options{
			Self: "A", Site: fake{w}, Queue: q, Scheduler: w.by, Log: zerolog.Nop(), Failed: w.by.Gate(), Remote: remote, Random: &w.random,
		})
		for peer := range w.heard {
			q.Transmission(peer).PeerReads(message.Current())
		}
	})
}

// kill ends that life where it stands.
func (w *world) kill() {
	w.by.Kill()
	w.disk.Crash(false)
}

// run lets a task of the site run, and all that it waits for, as long as that takes.
func (w *world) run(f func()) {
	w.t.Helper()
	ended := false
	w.by.Go(func() {
		defer func() { ended = true }()
		f()
	})
	for !ended && w.time.Step() {
	}
	if !ended {
		w.t.Fatalf("it does not end: %v", w.time.Failure())
	}
}

// rest lets everything happen that needs no time.
func (w *world) rest() { w.pass(1) }

func (w *world) pass(d time.Duration) {
	w.t.Helper()
	w.run(func() { w.must(task.Sleep(context.Background(), w.by, d)) })
	if err := w.time.Failure(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) must(err error) {
	if err != nil {
		w.t.Helper()
		w.t.Error(err)
	}
}

func (w *world) id() processtable.ProcessID { return w.process.Table().Process }

// instance is the one of all stories.
var instance = message.InstanceID{1}

// wordID is the identifier of a word that a story names by its number.
func wordID(n uint64) message.WordID {
	id := uuid.UUID{6: 0x70, 8: 0x80}
	binary.BigEndian.PutUint32(id[12:], uint32(n))
	return id
}

// named shows words by their numbers, and the last one that the site has made itself as such.
func (w *world) named(text string) string {
	for n := range uint64(10) {
		text = strings.ReplaceAll(text, wordID(n).String(), fmt.Sprintf("word %d", n))
	}
	text = strings.ReplaceAll(text, " in instance "+instance.String(), "")
	return strings.ReplaceAll(text, w.last.String(), "the new word")
}

// ask lets an operator ask for a retry, and says later what he was told.
func (w *world) ask(name, operator string, r api.RetryRequest) {
	ctx, leave := w.by.WithCancel(api.WithOperator(context.Background(), operator))
	w.asks[name] = leave
	w.by.Go(func() {
		word, err := w.Retry(ctx, instance, r)
		delete(w.asks, name)
		if r.Word == (message.WordID{}) {
			w.last = word.ID
		}
		w.told = append(w.told, name+" is told: "+whatOf(word, err))
	})
}

func whatOf(word api.Word, err error) string {
	var refused *api.Error
	switch {
	case errors.As(err, &refused):
		return fmt.Sprintf("%s: %v", refused.Code, refused)
	case err != nil:
		return err.Error()
	case word.Reason != "":
		return fmt.Sprintf("%s: %s: %s", word.ID, word.Result, word.Reason)
	}
	return fmt.Sprintf("%s: %s", word.ID, word.Result)
}

// unlocked fails the test if a lock of the room is held: the world runs one task at a time, so that
// it is held by who calls.
func (w *world) unlocked(what string) {
	if w.Commands == nil {
		return
	}
	for name, mu := range map[string]*sync.Mutex{"waiting": &w.waiting.mu, "putting": &w.putting.mu, "owed": &w.owed.mu} {
		if !mu.TryLock() {
			w.t.Errorf("the lock of %s is held while %s", name, what)
			continue
		}
		mu.Unlock()
	}
}

// faults are those of the world's disk: there are none, but for its slowness.
type faults struct{ *world }

func (f faults) Commit(uint64, *store.Batch) memory.Fate { return memory.Fate{Takes: f.slow} }

func (faults) Committed(uint64, *store.Batch) {}

func (f faults) Read([]byte) error {
	f.unlocked("the store is read")
	return nil
}

// fake is the world as the Site of its Commands.
type fake struct{ *world }

func (f fake) Query(context.Context, processtable.NodeID, string, []byte) ([]byte, error) {
	f.unlocked("a peer is asked")
	if f.reply == "" {
		return nil, link.ErrNotConnected
	}
	return []byte(f.reply), nil
}

func (f fake) Process(id processtable.ProcessID) behaviour.Process {
	f.unlocked("the site is asked")
	if id != f.id() {
		return nil
	}
	return f.process
}

// Gather: nobody tells more than what stands in the table.
func (f fake) Gather(_ context.Context, id message.InstanceID, _ string) (*report.Gathered, error) {
	f.asked++
	f.unlocked("others are asked")
	g := report.NewGathered("A", id)
	g.Add("A", report.Report{
		Known: true, Process: f.id().String(), Origin: "A", State: api.InstanceRunning, Clock: 3, Roster: report.RosterOf(f.process.Table(), "A"),
	})
	return g, nil
}

func (f fake) Anew() bool { return f.anew }

func (f fake) LinkTo(peer processtable.NodeID) (link.Status, bool) {
	f.unlocked("the site is asked")
	if s := f.heard[peer]; s != nil {
		return *s, true
	}
	return link.Status{}, false
}

func (f fake) Quota() int64 { return f.quota }

func (f fake) Commit(ctx context.Context, tx *record.Tx) error {
	f.unlocked("a transaction is submitted")
	done := task.NewAnswer[error](f.by)
	tx.Done = done.Give
	f.Queue.Submit(tx)
	err, _, gone := done.Wait(ctx)
	return errors.Join(err, gone)
}

func (fake) Judge(context.Context, processtable.ProcessID, thread.Verdict) (thread.Answer, error) {
	panic("no story asks the process thread about refused messages")
}

func (fake) JudgeEvent(processtable.NodeID, message.Message) (*message.Message, record.Timer, string, error) {
	return nil, record.Timer{}, "", nil
}

func (fake) Misplaced(processtable.NodeID, *message.Message) (string, error) { return "", nil }

func (fake) RefusedOf(message.InstanceID) ([]report.Refused, error) { return nil, nil }

func (f fake) Stored(tx *record.Tx, _ message.InstanceID) {
	f.unlocked("the site is told")
	for i := range tx.Audit {
		f.observed = append(f.observed, lineOf(&tx.Audit[i]))
	}
}
