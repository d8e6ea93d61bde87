package admission

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/definition"
	"fmqm/definition/definitiontest"
	"fmqm/internal/store/memory"
	"fmqm/internal/task"
	"fmqm/link"
	"fmqm/message"
	"fmqm/navigator"
	"fmqm/node/command"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/record"
)

const twoSites = `
process: two-sites
version: 1
starts: [A, B, C]
structures:
  Order: {amount: int}
input: Order
activities:
  here: {node: A, program: p, input: Order, output: Order}
  alone: {node: A, program: p}
  there: {node: B, program: p, input: Order, output: Order}
  beyond: {node: C, program: p}
control:
  - there -> here
  - beyond -> here
  - there -> alone
data:
  - there -> here
`

// world is the site A with a store, and with no more of a node than what Site asks of one.
type world struct {
	*Admission
	t       *testing.T
	table   *processtable.Table // of two-sites at A
	encoded []byte

	mu       sync.Mutex // the committer tells of what is on disk
	up       map[processtable.ProcessID]behaviour.Process
	asked    func() // before each answer of Process
	refused  []error
	current  []processtable.ProcessID       // that it was told of
	absorbed map[processtable.ProcessID]int // messages that were dropped
	taken    []*record.Tx

	unnamed bool // everybody's commands are taken
	anew    bool
	ruling  command.Ruling // of every word and answer
	beside  []int          // how many answers each was ruled beside
}

// peerStore is that of every peer.
var peerStore = record.Incarnation{1}

// newWorld is a world in which A has, or has not, the table of two-sites.
func newWorld(t *testing.T, tableHere bool) *world {
	t.Helper()
	w := worldOn(t, task.Goroutines{}, memory.Options{})
	t.Cleanup(func() {
		if err := w.Queue.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if tableHere {
		w.giveTable("B")
	}
	return w
}

func worldOn(t *testing.T, by task.Scheduler, o memory.Options) *world {
	t.Helper()
	engine, err := memory.NewDisk("A").Open(o)
	if err != nil {
		t.Fatal(err)
	}
	q, err := queue.Open(engine, queue.Options{Node: "A", Scheduler: by})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, up: map[processtable.ProcessID]behaviour.Process{}, table: definitiontest.TablesOf(t, twoSites, definition.CompileOptions{})["A"]}
	if w.encoded, err = processtable.Encode(w.table); err != nil {
		t.Fatal(err)
	}
	w.Admission = New(Options{Self: "A", Site: w, Tables: w, Commands: w, Queue: q, Scheduler: by, Log: zerolog.Nop()})
	for _, peer := range []processtable.NodeID{"B", "C"} {
		if err := q.BindIncarnation(peer, peerStore); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func (w *world) Process(id processtable.ProcessID) behaviour.Process {
	if w.asked != nil {
		w.asked()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.up[id]; p != nil {
		return p
	}
	return nil
}

func (w *world) Commit(ctx context.Context, tx *record.Tx) error {
	done := task.NewAnswer[error](w.Scheduler)
	tx.Done = done.Give
	w.Queue.Submit(tx)
	err, _, gone := done.Wait(ctx)
	return errors.Join(err, gone)
}

func (w *world) Absorbed(id processtable.ProcessID, messages int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.absorbed == nil {
		w.absorbed = map[processtable.ProcessID]int{}
	}
	w.absorbed[id] += messages
}

func (w *world) WaitRoom(context.Context, func(string)) error { return nil }
func (w *world) PeerQuota() int64                             { return 0 }
func (w *world) Anew() bool                                   { return w.anew }
func (w *world) Takes(processtable.NodeID, string) bool       { return w.unnamed }

func (w *world) Rule(_ processtable.NodeID, _ *message.Message, beside int, claim func() (bool, error)) (command.Ruling, error) {
	w.beside = append(w.beside, beside)
	if again, err := claim(); again || err != nil {
		return command.Ruling{}, err
	}
	return w.ruling, nil
}

func (w *world) Taken(tx *record.Tx) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.taken = append(w.taken, tx)
}

func (w *world) Judge(encoded []byte, _ bool) (behaviour.Process, bool, error) {
	table, err := processtable.Decode(encoded)
	if err != nil {
		return nil, false, err
	}
	bound, found := w.Queue.Bound(table.Process)
	if found && bound != table.Definition {
		return nil, false, fmt.Errorf("%s is bound to another definition", table.Process)
	}
	p, err := navigator.Prepare(table, nil)
	return p, err == nil && !found, err
}

func (w *world) NowCurrent(ids ...processtable.ProcessID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.current = append(w.current, ids...)
}

func (w *world) Refused(_ processtable.ProcessID, _ []byte, why error) {
	w.refused = append(w.refused, why)
}

func (w *world) Install(p behaviour.Process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.up[p.Table().Process] = p
}

// to is a message of a kind for the process two-sites at A.
func (w *world) to(kind message.Kind) message.Message {
	return message.Message{Header: message.Header{Queue: message.Queue{Process: w.table.Process, Node: "A"}, Kind: kind}}
}

// connector is a message that fits: from there, at B, to here, at A.
func (w *world) connector() message.Message {
	w.t.Helper()
	m := w.to(message.KindConnector)
	m.Definition, m.Instance, m.Origin = w.table.Definition.Short(), uuid.Must(uuid.NewV7()), "B"
	m.Source, m.Activity, m.Control, m.Data, m.Clock = "there", "here", message.True, message.DataPresent, 2
	m.Body = w.amount(7)
	return m
}

func (w *world) amount(n int64) []byte {
	w.t.Helper()
	body, err := container.EncodeValues([]container.Value{n})
	if err != nil {
		w.t.Fatal(err)
	}
	return body
}

// marker ends an instance, as one that was started at a site.
func (w *world) marker(i message.InstanceID, origin processtable.NodeID) message.Message {
	m := w.to(message.KindMarker)
	m.Instance, m.Origin, m.Lane, m.Body = i, origin, message.LaneControl, message.EncodeMarker(message.Marker{Reason: "enough"})
	return m
}

// giveTable lets a peer bring A the table of two-sites.
func (w *world) giveTable(peer processtable.NodeID) {
	w.t.Helper()
	m := w.to(message.KindTable)
	m.Body = w.encoded
	w.sends(peer, m)
}

// sends lets a peer send messages in one batch, in the lane of the first.
func (w *world) sends(peer processtable.NodeID, messages ...message.Message) {
	w.t.Helper()
	var payloads [][]byte
	for _, m := range messages {
		encoded, err := message.Encode(m)
		if err != nil {
			w.t.Fatal(err)
		}
		payloads = append(payloads, append([]byte{record.PayloadWhole}, encoded...))
	}
	w.deliver(peer, messages[0].Lane, payloads...)
}

// deliver lets a peer send items in one batch, whatever is in them.
func (w *world) deliver(peer processtable.NodeID, lane message.Lane, payloads ...[]byte) {
	w.t.Helper()
	b := w.batch(peer, lane, payloads...)
	done := task.NewAnswer[error](w.Scheduler)
	w.Inbox(peer).Accept(b, done.Give)
	if err, _, gone := done.Wait(context.Background()); err != nil || gone != nil {
		w.t.Fatal(err, gone)
	}
	if got, want := w.Queue.Accepted(peer, lane).Number, b.Items[len(b.Items)-1].Number; got != want {
		w.t.Fatalf("accepted up to %d, and %d were sent", got, want)
	}
}

func (w *world) batch(peer processtable.NodeID, lane message.Lane, payloads ...[]byte) link.Batch {
	at := w.Queue.Accepted(peer, lane)
	b := link.Batch{From: peerStore, Lane: lane, After: at}
	for _, p := range payloads {
		at = record.Position{Number: at.Number + 1, Hash: record.HashNext(at.Hash, p)}
		b.Items = append(b.Items, record.Item{Number: at.Number, Hash: at.Hash, Payload: p})
	}
	return b
}

// unpark judges what waits for the table of two-sites.
func (w *world) unpark() {
	w.t.Helper()
	if err := w.Unpark(context.Background(), w.Process(w.table.Process)); err != nil {
		w.t.Fatal(err)
	}
	if n := w.Queue.ParkedCount(w.table.Process); n > 0 {
		w.t.Errorf("%d messages still wait", n)
	}
}

// stored is what lies in A's queue of an instance.
func (w *world) stored(m message.Message) []message.Message {
	w.t.Helper()
	found, err := w.Queue.BrowseInstance(m.Queue.Process, m.Instance)
	if err != nil {
		w.t.Fatal(err)
	}
	return found
}

// reasons are why messages were set aside, each with who has brought it, the oldest first.
func (w *world) reasons() (all []string) {
	w.t.Helper()
	aside, err := w.Queue.RefusedAfter(0, 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, s := range aside {
		all = append(all, fmt.Sprintf("%s: %s", s.Peer, s.Reason))
	}
	return all
}

// wantAside checks why messages were set aside, by the beginnings of the reasons.
func (w *world) wantAside(want ...string) {
	w.t.Helper()
	got := w.reasons()
	if len(got) != len(want) {
		w.t.Fatalf("set aside: %q, want %q", got, want)
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			w.t.Errorf("set aside for %q, want %q", got[i], want[i])
		}
	}
}
