package node

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/definition"
	"fmqm/definition/definitiontest"
	"fmqm/internal/store/badger"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/node/rebuild"
	"fmqm/node/report"
	"fmqm/node/retention"
	"fmqm/processtable"
	"fmqm/program"
	"fmqm/queue"
	"fmqm/queue/record"
)

// tally is a process of which A hosts one activity, whose row becomes a counter's.
const tally = `
process: tally
version: 1
structures: {N: {n: int}}
starts: [B]
activities:
  x: {node: B, program: p, output: N}
  y: {node: B, program: p, output: N}
  z: {node: B, program: p, output: N}
  total: {node: A, program: p, input: N, output: N}
  after: {node: B, program: p, input: N}
control: [x -> total, y -> total, z -> total, total -> after]
data: [x -> total, y -> total, z -> total, total -> after]
`

// tallyTable is A's table of tally, in format 4.
func tallyTable(t *testing.T, spec []byte) (*processtable.Table, []byte) {
	t.Helper()
	compiled := definitiontest.Compile(t, tally, definition.CompileOptions{})
	table := compiled.Tables[slices.IndexFunc(compiled.Tables, func(t *processtable.Table) bool { return t.Node == "A" })]
	asCounter(table, "total", spec)
	encoded, read, err := processtable.EncodeAsRead(table)
	if err != nil {
		t.Fatal(err)
	}
	return read, encoded
}

// newCounterWorld is an inboxWorld whose node A knows counters, has its store on disk, and has
// the table of tally. A nil clock is the machine's.
func newCounterWorld(t *testing.T, spec []byte, clock task.Clock) (w *inboxWorld, restart func()) {
	t.Helper()
	table, encoded := tallyTable(t, spec)
	return newCounterWorldOf(t, table, encoded, clock)
}

// newCounterWorldOf is newCounterWorld with another table.
func newCounterWorldOf(t *testing.T, table *processtable.Table, encoded []byte, clock task.Clock) (w *inboxWorld, restart func()) {
	t.Helper()
	dir := t.TempDir()
	registry, err := program.NewRegistry(nil, program.Options{})
	if err != nil {
		t.Fatal(err)
	}
	recorded := make(chan struct{}, 1)
	observe := func(record.AuditRecord) {
		select {
		case recorded <- struct{}{}:
		default: // it is rung already
		}
	}
	open := func() *Node {
		engine, err := badger.Open(badger.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		a, err := Open(Options{Name: "A", Engine: engine, Registry: registry, Behaviours: counters, Scheduler: task.Goroutines{Clock: clock}, Observe: observe})
		if err != nil {
			t.Fatal(err)
		}
		a.Launch()
		return a
	}
	a := open()
	b, err := queue.Open(memoryEngine(t), queue.Options{Node: "B"})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.queue.BindIncarnation("B", b.Incarnation()); err != nil {
		t.Fatal(err)
	}
	w = &inboxWorld{t: t, a: a, inbox: a.admission.Inbox("B"), b: b, recorded: recorded}
	t.Cleanup(func() {
		if err := errors.Join(w.a.Stop(context.Background()), b.Close(context.Background())); err != nil {
			t.Error(err)
		}
	})
	b.Transmission("A").PeerReads(message.Current()) // as A's hello says: a table of format 4 would wait for it
	w.table = table
	w.accept(w.tableMessage(encoded))
	if got := w.aside(); got != "" {
		t.Fatalf("the table is set aside: %s", got)
	}
	return w, func() {
		t.Helper()
		if err := w.a.Stop(context.Background()); err != nil {
			t.Fatal(err)
		}
		w.a = open()
		w.inbox = w.a.admission.Inbox("B")
	}
}

// number is what an activity of B's brings to the counter.
func (w *inboxWorld) number(i message.InstanceID, from processtable.ActivityID, n container.Value) message.Message {
	w.t.Helper()
	m := w.connector()
	body, err := container.EncodeValues([]container.Value{n})
	if err != nil {
		w.t.Fatal(err)
	}
	m.Instance, m.Source, m.Activity, m.Body = i, from, "total", body
	return m
}

// until asks whether a condition holds once A has done what it was brought, and again with each
// record that a timer leads to; false: it does not come to hold.
func (w *inboxWorld) until(holds func() bool) bool {
	w.t.Helper()
	limit := time.After(2 * time.Minute)
	for settled(w.t, w.a); !holds(); {
		select {
		case <-w.recorded:
		case <-limit:
			return false
		}
	}
	return true
}

// reported is what A tells of an instance.
func (w *inboxWorld) reported(i message.InstanceID) report.Report {
	w.t.Helper()
	r, err := w.a.answers.Report(report.Question{Instance: i})
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// total gives what A reports of the counter once a condition holds of it.
func (w *inboxWorld) total(i message.InstanceID, fits func(api.Activity) bool) (at api.Activity) {
	w.t.Helper()
	if !w.until(func() bool {
		r := w.reported(i)
		if len(r.Activities) == 1 {
			at = r.Activities[0]
		}
		return len(r.Activities) == 1 && fits(at)
	}) {
		w.t.Fatalf("the counter stays %+v", at)
	}
	return at
}

func is(state api.ActivityState) func(api.Activity) bool {
	return func(a api.Activity) bool { return a.State == state }
}

// toAfter gives the messages that wait for activity after, at B.
func (w *inboxWorld) toAfter() (all []message.Message) {
	w.t.Helper()
	items, err := w.a.queue.Transmission("B").Read(message.LaneData, 1, 64<<20)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, item := range items {
		piece, err := record.Unpack(item.Payload)
		if err != nil {
			w.t.Fatal(err)
		}
		m, err := message.Decode(piece.Data)
		if err != nil {
			w.t.Fatal(err)
		}
		if m.Activity == "after" {
			all = append(all, m)
		}
	}
	return all
}

// Another behaviour goes its whole way through a node: it waits for three messages, also over
// a restart; sets a timer, which the restart outlives; and sends one message onward, which
// the audit can build again.
func TestAnotherBehaviour(t *testing.T) {
	clock := &handClock{now: time.Now()}
	w, restart := newCounterWorld(t, counterSpec(time.Hour, 100), clock)
	i := uuid.Must(uuid.NewV7())
	w.accept(w.number(i, "x", int64(1)), w.number(i, "x", int64(1)), w.number(i, "y", int64(2)))
	waiting := w.total(i, is(api.ActivityWaiting))
	why, err := w.a.answers.Report(report.Question{Instance: i})
	if err != nil || len(why.Waits) != 1 || !slices.Equal(why.Waits[0].For, []string{"z"}) {
		t.Errorf("it waits: %+v, %+v, %v", waiting, why.Waits, err)
	}
	restart()
	w.accept(w.number(i, "z", int64(3)))
	w.paused(i)
	clock.pass(time.Hour)
	restart()
	w.total(i, is(api.ActivityTerminated))
	sent := w.toAfter()
	if len(sent) != 1 || sent[0].Source != "total" || sent[0].Control != message.True {
		t.Fatalf("sent: %+v", sent)
	}
	if v, err := container.DecodeValues([]*container.Type{container.Scalar(container.Int)}, sent[0].Body); err != nil || v[0] != int64(6) {
		t.Errorf("the sum is %v, %v", v, err)
	}
	// S4: what was sent is in the audit.
	history, err := w.a.queue.History(i)
	if err != nil || len(history) == 0 {
		t.Fatal(err)
	}
	end := history[len(history)-1]
	if len(end.Sent) != 1 || end.Event != record.EventTerminated {
		t.Fatalf("the audit ends with %+v", end)
	}
	to := end.Sent[0]
	again, err := w.a.thread(w.table.Process).Process().Again(behaviour.Spoken{
		Instance: i, Origin: end.Origin, Source: end.Activity, Clock: end.Clock, RC: end.RC, Output: end.Output,
		Target: to.Target, Node: to.Node, Control: to.Control, Data: to.Data, Lane: to.Lane,
	})
	again.Trace, again.From = sent[0].Trace, sent[0].From
	if err != nil || again.Header != sent[0].Header || string(again.Body) != string(sent[0].Body) {
		t.Errorf("built again: %+v, %v\nwas %+v", again, err, sent[0])
	}
	// N7: a repeat is late, and makes no entry.
	w.accept(w.number(i, "x", int64(1)))
	w.nothingOf(i)
}

// paused waits until the counter waits for its timer.
func (w *inboxWorld) paused(i message.InstanceID) {
	w.t.Helper()
	var waits []report.Waiting
	if !w.until(func() bool {
		waits = w.reported(i).Waits
		return len(waits) == 1 && !waits[0].Due.IsZero()
	}) {
		w.t.Fatalf("it sets no timer: %+v", waits)
	}
}

// nothingOf fails the test if any message of an instance is at A once A has done what it was brought.
func (w *inboxWorld) nothingOf(i message.InstanceID) {
	w.t.Helper()
	settled(w.t, w.a)
	if found, err := w.a.queue.BrowseInstance(w.table.Process, i); err != nil || len(found) != 0 {
		w.t.Fatalf("of the instance there is %v, %v", found, err)
	}
}

// A terminated instance ends it without a word to others, and retention removes what is told
// of it.
func TestAnotherBehaviourIsTerminated(t *testing.T) {
	w, _ := newCounterWorld(t, counterSpec(time.Hour, 100), nil)
	i := uuid.Must(uuid.NewV7())
	w.accept(w.number(i, "x", int64(1)), w.number(i, "y", int64(2)), w.number(i, "z", int64(3)))
	w.paused(i)
	marker := w.connector()
	marker.Instance, marker.Kind, marker.Activity, marker.Source = i, message.KindMarker, "", ""
	marker.Control, marker.Data, marker.Lane = message.Unresolved, message.DataNone, message.LaneControl
	marker.Body = message.EncodeMarker(message.Marker{Reason: "test", Time: time.Now(), By: "alice at B"})
	w.commitTx(&record.Tx{Put: []message.Message{marker}})
	w.nothingOf(i)
	if sent := w.toAfter(); len(sent) != 0 {
		t.Errorf("sent: %+v", sent)
	}
	history, err := w.a.queue.History(i)
	if err != nil || len(history) == 0 || history[len(history)-1].Event != record.EventStopped || history[len(history)-1].By != "alice at B" {
		t.Errorf("history %+v, %v", history, err)
	}
	w.a.rebuilds.Standings = func(_ context.Context, _ processtable.NodeID, q []rebuild.Instance) ([]rebuild.Standing, error) {
		return slices.Repeat([]rebuild.Standing{{Started: true, Ended: true}}, len(q)), nil
	}
	if err := w.a.retain.Round(context.Background(), retention.Policy{Age: time.Nanosecond}); err != nil {
		t.Fatal(err)
	}
	if _, gone, err := w.a.queue.Removed(i); err != nil || !gone {
		t.Errorf("its audit is still there: %v", err)
	}
}

// Its error is durable and told, and an operator's retry gives it the sum.
func TestAnotherBehaviourInError(t *testing.T) {
	w, restart := newCounterWorld(t, counterSpec(time.Millisecond, 5), nil)
	i := uuid.Must(uuid.NewV7())
	w.accept(w.number(i, "x", int64(1)), w.number(i, "y", int64(2)), w.number(i, "z", int64(3)))
	w.total(i, is(api.ActivityInError))
	restart()
	at := w.total(i, is(api.ActivityInError))
	if !strings.Contains(at.Reason, "the sum is 6, and at most 5 is allowed") {
		t.Errorf("in error: %+v", at)
	}
	if _, err := w.a.Retry(context.Background(), i, api.RetryRequest{Activity: "total", Output: json.RawMessage(`{"n": 5}`)}); err != nil {
		t.Fatal(err)
	}
	if at := w.total(i, is(api.ActivityTerminated)); string(at.Output) != `{"n":5}` {
		t.Errorf("ended with %s", at.Output)
	}
}

// A message that does not fit it is set aside and puts it in error (L5); dropped, the message
// of the operator's takes its place. N10: one for a scope makes no entry.
func TestARefusedMessageToAnotherBehaviour(t *testing.T) {
	w, _ := newCounterWorld(t, counterSpec(time.Millisecond, 100), nil)
	i, strange := uuid.Must(uuid.NewV7()), uuid.Must(uuid.NewV7())
	scoped := w.number(strange, "x", int64(1))
	scoped.Scope, scoped.SourceScope = "block#1", "block#1"
	w.accept(w.number(i, "x", int64(1)), w.number(i, "y", "two"), w.number(i, "z", int64(3)), scoped)
	w.total(i, is(api.ActivityInError))
	if found, err := w.a.queue.BrowseInstance(w.table.Process, strange); err != nil || len(found) != 0 {
		t.Errorf("the scope has made %v, %v", found, err)
	}
	refused, err := w.a.Refused(context.Background(), api.RefusedRequest{Limit: 9})
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(refused.Messages, func(m api.Refused) bool { return strings.Contains(m.Reason, "number from y") })
	if at < 0 || len(refused.Messages) != 2 {
		t.Fatalf("refused: %+v", refused.Messages)
	}
	d, err := w.a.DropRefused(context.Background(), refused.Messages[at].Number, api.DropRequest{})
	if err != nil || !strings.Contains(d.Text, "the number from y is 0") {
		t.Fatalf("dropped: %+v, %v", d, err)
	}
	if at := w.total(i, is(api.ActivityTerminated)); string(at.Output) != `{"n":4}` {
		t.Errorf("ended with %s", at.Output)
	}
}

// A node that does not know a behaviour refuses the table, and says what to do.
func TestAnUnknownBehaviour(t *testing.T) {
	w := newInboxWorld(t, false)
	w.b.Transmission("A").PeerReads(message.Current())
	table, encoded := tallyTable(t, counterSpec(0, 1))
	w.table = table
	w.accept(w.tableMessage(encoded))
	want := "activity total of tally@1: its behaviour counter is not known there: the site has FlowMark's: upgrade A to a version that has it"
	if got := w.aside(); !strings.Contains(got, want) {
		t.Errorf("set aside: %q, want %q", got, want)
	}
	r := api.UploadRequest{Tables: []api.Table{{Node: "A", Process: "tally@1", Definition: table.Definition.String(), Table: encoded}}, PlanOnly: true}
	answer, err := w.a.Upload(context.Background(), r)
	if err != nil || answer.Nodes[0].Plan != api.PlanRefuse || !strings.Contains(answer.Nodes[0].Reason, want) {
		t.Errorf("uploaded: %+v, %v", answer, err)
	}
	row := table.Activities[0]
	row.Spec = []byte{1}
	if _, err := counters.Make(table, row); err == nil || !strings.Contains(err.Error(), "spec of a counter") {
		t.Errorf("a spec that is none: %v", err)
	}
}
