package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"fmqm/container"
	"fmqm/definition"
	"fmqm/definition/definitiontest"
	"fmqm/internal/store/badger"
	"fmqm/link"
	"fmqm/message"
	"fmqm/node/report"
	"fmqm/node/tables"
	"fmqm/processtable"
	"fmqm/program"
	"fmqm/queue"
	"fmqm/queue/record"
)

const twoSites = `
process: two-sites
version: 1
structures:
  Order: {amount: int}
input: Order
activities:
  here: {node: A, program: p, input: Order, output: Order}
  there: {node: B, program: p, input: Order, output: Order}
  beyond: {node: C, program: p}
control:
  - there -> here
  - beyond -> here
data:
  - there -> here
`

// inboxWorld is a node A with the table of two-sites, and the queue manager of its
// peer B, whose transmission queue makes the items.
type inboxWorld struct {
	t     *testing.T
	a     *Node
	inbox link.Inbox
	b     *queue.Manager
	table *processtable.Table
	sent  uint64
	// recorded holds one while A has recorded something that until has not looked at; nil: nobody looks.
	recorded chan struct{}
}

func memoryEngine(t *testing.T) *badger.Engine {
	t.Helper()
	engine, err := badger.Open(badger.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

func newInboxWorld(t *testing.T, tableHere bool) *inboxWorld {
	t.Helper()
	return inboxWorldOf(t, twoSites, tableHere)
}

// inboxWorldOf is a world of a process, of which A has the table.
func inboxWorldOf(t *testing.T, text string, tableHere bool) *inboxWorld {
	t.Helper()
	registry, err := program.NewRegistry(nil, program.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := Open(Options{Name: "A", Engine: memoryEngine(t), Registry: registry})
	if err != nil {
		t.Fatal(err)
	}
	a.Launch()
	b, err := queue.Open(memoryEngine(t), queue.Options{Node: "B"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(a.Stop(context.Background()), b.Close(context.Background())); err != nil {
			t.Error(err)
		}
	})
	if err := a.queue.BindIncarnation("B", b.Incarnation()); err != nil {
		t.Fatal(err)
	}
	compiled := definitiontest.Compile(t, text, definition.CompileOptions{})
	w := &inboxWorld{t: t, a: a, inbox: a.admission.Inbox("B"), b: b}
	for i, table := range compiled.Tables {
		if table.Node == "A" {
			w.table = table
			if tableHere {
				w.accept(w.tableMessage(compiled.Encoded[i]))
			}
		}
	}
	return w
}

// add gives A its table of another process.
func (w *inboxWorld) add(text string) *processtable.Table {
	w.t.Helper()
	table := definitiontest.TablesOf(w.t, text, definition.CompileOptions{})["A"]
	encoded, err := processtable.Encode(table)
	if err != nil {
		w.t.Fatal(err)
	}
	p, _, err := w.a.tables.Judge(encoded, false)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.a.commit(context.Background(), &record.Tx{Tables: []record.TableRecord{tables.Record(p, encoded)}}); err != nil {
		w.t.Fatal(err)
	}
	w.a.tables.Install(p)
	return table
}

func (w *inboxWorld) tableMessage(encoded []byte) message.Message {
	return message.Message{Header: message.Header{
		Queue:      message.Queue{Process: w.table.Process, Node: "A"},
		Definition: processtable.ShortHash{}, Kind: message.KindTable,
	}, Body: encoded}
}

// connector is a message that fits: from there, at B, to here, at A.
func (w *inboxWorld) connector() message.Message {
	w.t.Helper()
	body, err := container.EncodeValues([]container.Value{int64(7)})
	if err != nil {
		w.t.Fatal(err)
	}
	return message.Message{Header: message.Header{
		Queue:      message.Queue{Process: w.table.Process, Node: "A"},
		Definition: w.table.Definition.Short(), Instance: uuid.Must(uuid.NewV7()), Origin: "B",
		Activity: "here", Source: "there", Kind: message.KindConnector,
		Control: message.True, Data: message.DataPresent, Clock: 2,
	}, Body: body}
}

// accept lets B send messages, and A accept them.
func (w *inboxWorld) accept(messages ...message.Message) {
	w.t.Helper()
	done := make(chan error, 1)
	w.b.Submit(&record.Tx{Put: messages, Done: func(err error) { done <- err }})
	if err := <-done; err != nil {
		w.t.Fatal(err)
	}
	items, err := w.b.Transmission("A").Read(message.LaneData, w.sent+1, 64<<20)
	if err != nil {
		w.t.Fatal(err)
	}
	w.sent += uint64(len(items))
	w.deliver(items)
}

func (w *inboxWorld) deliver(items []record.Item) {
	w.t.Helper()
	done := make(chan error, 1)
	batch := link.Batch{From: w.b.Incarnation(), Lane: message.LaneData, After: w.inbox.Accepted(message.LaneData), Items: items}
	w.inbox.Accept(batch, func(err error) { done <- err })
	if err := <-done; err != nil {
		w.t.Fatal(err)
	}
	if got := w.inbox.Accepted(message.LaneData).Number; got != w.sent {
		w.t.Fatalf("accepted up to %d, sent %d", got, w.sent)
	}
}

// aside gives the reasons of what was set aside, joined.
func (w *inboxWorld) aside() string {
	w.t.Helper()
	list, err := w.a.queue.RefusedList(100)
	if err != nil {
		w.t.Fatal(err)
	}
	var reasons []string
	for _, s := range list {
		reasons = append(reasons, fmt.Sprintf("%s: %s", s.Peer, s.Reason))
	}
	return strings.Join(reasons, "\n")
}

// A message of another definition, or with a body that is not its container, goes to
// its queue, and the thread sets it aside and puts its target in error (L5).
func TestRefusedContentPutsTheTargetInError(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*message.Message)
		reason string
	}{
		"another definition": {func(m *message.Message) { m.Definition[0]++ }, "the sites were given different definitions"},
		"damaged body":       {func(m *message.Message) { m.Body = []byte{0x81, 0x61, 'x'} }, "data from there to here"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newInboxWorld(t, true)
			m := w.connector()
			tc.change(&m)
			w.accept(m)
			done := make(chan struct{})
			go func() {
				defer close(done)
				for w.aside() == "" {
					if _, err := w.a.thread(w.table.Process).Gauges(context.Background()); err != nil {
						t.Error(err)
						return
					}
				}
			}()
			<-done
			if got := w.aside(); !strings.Contains(got, tc.reason) {
				t.Errorf("set aside: %q, want %q", got, tc.reason)
			}
			messages, err := w.a.queue.BrowseInstance(w.table.Process, m.Instance)
			if err != nil || len(messages) != 1 || messages[0].Kind != message.KindSnapshot {
				t.Fatalf("%v %v, want the snapshot of an activity in error", messages, err)
			}
			s, err := message.DecodeSnapshot(messages[0].Body)
			if err != nil || !s.Failed || !strings.Contains(s.Error, "message from there was refused") {
				t.Errorf("%+v %v", s, err)
			}
		})
	}
}

// A message whose table is not here yet waits, visibly, and runs when it comes (N3).
func TestMessagesWaitForTheirTable(t *testing.T) {
	w := newInboxWorld(t, false)
	m := w.connector()
	w.accept(m)
	nodes, err := w.a.Nodes(context.Background())
	if err != nil || nodes.Nodes[0].Waiting != 1 || !strings.Contains(nodes.Nodes[0].Reason, "messages for two-sites@1 wait here for its table") {
		t.Fatalf("%+v %v", nodes, err)
	}
	parked, err := w.a.answers.Report(report.Question{Instance: m.Instance})
	if err != nil || !parked.Known || parked.Process != "two-sites@1" || parked.Origin != "B" {
		t.Errorf("while it waits: %+v %v", parked, err)
	}
	encoded, err := processtable.Encode(w.table)
	if err != nil {
		t.Fatal(err)
	}
	w.accept(w.tableMessage(encoded))
	w.unparked()
	r, err := w.a.answers.Report(report.Question{Instance: m.Instance})
	if err != nil || len(r.Activities) != 1 || r.Activities[0].Activity != "here" || r.Activities[0].State != "waiting" {
		t.Errorf("%+v %v", r, err)
	}
}

// A large message travels in parts, each accepted by itself (L4).
func TestLargeMessageComesInParts(t *testing.T) {
	w := newInboxWorld(t, true)
	m := w.connector()
	m.Trace = strings.Repeat("t", 50)
	m.Body = make([]byte, 700<<10) // no container: it is refused as a whole, after its last part
	done := make(chan error, 1)
	w.b.Submit(&record.Tx{Put: []message.Message{m}, Done: func(err error) { done <- err }})
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	items, err := w.b.Transmission("A").Read(message.LaneData, w.sent+1, 64<<20)
	if err != nil || len(items) < 3 {
		t.Fatalf("%d items (%v), want parts", len(items), err)
	}
	for _, item := range items {
		w.sent++
		w.deliver([]record.Item{item})
	}
	for w.aside() == "" {
		if _, err := w.a.thread(w.table.Process).Gauges(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.aside(); !strings.Contains(got, "data from there to here") {
		t.Errorf("set aside: %q", got)
	}
}

// A message that nobody configured a link for waits, and is seen to wait, with why.
func TestMessageForAnUnconfiguredPeerIsVisible(t *testing.T) {
	w := newInboxWorld(t, true)
	m := w.connector()
	m.Queue.Node = "Z"
	if err := w.a.commit(context.Background(), &record.Tx{Put: []message.Message{m}}); err != nil {
		t.Fatal(err)
	}
	nodes, err := w.a.Nodes(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	last := nodes.Nodes[len(nodes.Nodes)-1]
	if last.Node != "Z" || last.State != "unconfigured" || last.Waiting != 1 || !strings.Contains(last.Reason, "links.peers") {
		t.Errorf("%+v", last)
	}
}
