package node

import (
	"context"
	"strings"
	"testing"
	"time"

	"fmqm/api"
	"fmqm/internal/store/badger"
	"fmqm/link"
	"fmqm/message"
	"fmqm/node/tables"
	"fmqm/processtable"
	"fmqm/program"
	"fmqm/queue/record"
)

// unparked waits until nothing waits for the world's table.
func (w *inboxWorld) unparked() {
	w.t.Helper()
	if err := w.a.parking.Wait(context.Background()); err != nil {
		w.t.Error(err)
	}
	if n := w.a.queue.ParkedCount(w.table.Process); n > 0 {
		w.t.Errorf("%d messages wait, and the table is here", n)
	}
}

// from is another peer of A, and the number of messages that it has sent.
type from struct {
	link.Inbox
	w    *inboxWorld
	at   record.Position
	lane message.Lane
}

func (w *inboxWorld) from(peer processtable.NodeID) *from {
	w.t.Helper()
	if err := w.a.queue.BindIncarnation(peer, record.Incarnation{1}); err != nil {
		w.t.Fatal(err)
	}
	return &from{Inbox: w.a.admission.Inbox(peer), w: w}
}

// sends lets the peer send messages in the lane of the first, byte by byte.
func (f *from) sends(messages ...message.Message) {
	f.w.t.Helper()
	b := link.Batch{From: record.Incarnation{1}, Lane: f.lane, After: f.at}
	for _, m := range messages {
		encoded, err := message.Encode(m)
		if err != nil {
			f.w.t.Fatal(err)
		}
		payload := append([]byte{0}, encoded...)
		f.at = record.Position{Number: f.at.Number + 1, Hash: record.HashNext(f.at.Hash, payload)}
		b.Items = append(b.Items, record.Item{Number: f.at.Number, Hash: f.at.Hash, Payload: payload})
	}
	done := make(chan error, 1)
	f.Accept(b, func(err error) { done <- err })
	if err := <-done; err != nil {
		f.w.t.Fatal(err)
	}
}

// The node dies after the table was stored and before what waited was judged: the next start
// judges it. What an older version has let wait, without noting who brought it, is for an
// operator: a connector he can let in, a record of an instance nobody can.
func TestWhatWaitedIsJudgedAtTheNextStart(t *testing.T) {
	dir := t.TempDir()
	registry, err := program.NewRegistry(nil, program.Options{})
	if err != nil {
		t.Fatal(err)
	}
	open := func() *Node {
		t.Helper()
		engine, err := badger.Open(badger.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		a, err := Open(Options{Name: "A", Engine: engine, Registry: registry})
		if err != nil {
			t.Fatal(err)
		}
		a.Launch()
		return a
	}
	w := newInboxWorld(t, false)
	old, instance, good, bad := w.connector(), w.connector(), w.connector(), w.connector()
	instance.Kind, instance.Activity, instance.Control, instance.Data, instance.Source = message.KindRecord, processtable.Sink, 0, 0, ""
	bad.Source = "beyond"
	parked := func(m message.Message) record.Parked {
		encoded, err := message.Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		return record.Parked{Process: w.table.Process, Instance: m.Instance, Peer: "B", Message: encoded}
	}
	encoded, err := processtable.Encode(w.table)
	if err != nil {
		t.Fatal(err)
	}
	a := open()
	ctx := context.Background()
	for _, tx := range []*record.Tx{
		{Put: []message.Message{old, instance}}, // as the older version did
		{Park: []record.Parked{parked(good), parked(bad)}},
	} {
		if err := a.commit(ctx, tx); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	a = open()
	if n := a.queue.ParkedCount(w.table.Process); n != 4 {
		t.Fatalf("%d wait, want 4", n)
	}
	p, _, err := a.tables.Judge(encoded, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.commit(ctx, &record.Tx{Tables: []record.TableRecord{tables.Record(p, encoded)}}); err != nil {
		t.Fatal(err)
	}
	if err := a.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	a = open()
	defer func() {
		if err := a.Stop(ctx); err != nil {
			t.Error(err)
		}
	}()
	own := w.a // is stopped by the world
	w.a = a
	defer func() { w.a = own }()
	w.unparked()
	got := w.aside()
	for _, want := range []string{": it waited for its table, and an older version of this program did not note who sent it", ": a message of this kind never leaves its node", "B: activity beyond of two-sites@1 is hosted at C"} {
		if strings.Count(got, want) != 1 {
			t.Errorf("set aside:\n%s\nwant once: %s", got, want)
		}
	}
	list, err := a.Refused(ctx, api.RefusedRequest{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range list.Messages {
		decision, err := a.RetryRefused(ctx, d.Number)
		if taken := d.Instance == old.Instance; taken != (err == nil) {
			t.Errorf("retry of %+v: %+v %v", d, decision, err)
		}
	}
	for i, want := range map[message.InstanceID]int{old.Instance: 1, good.Instance: 1, bad.Instance: 0, instance.Instance: 0} {
		if found, err := a.queue.BrowseInstance(w.table.Process, i); err != nil || len(found) != want {
			t.Errorf("of instance %s there is %v (%v), want %d", i, found, err, want)
		}
	}
}

// What one peer leaves has a quota: at it that peer's link is paused, with the reason, and
// the others go on. An operator who makes room, or a larger quota, lets it go on.
func TestAPeerIsPausedForWhatItLeaves(t *testing.T) {
	w := newInboxWorld(t, true)
	w.a.limits.Store(&Limits{Peer: 48 << 10}) // three messages
	c := w.from("C")
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	capacity := func(i link.Inbox) (paused chan string, done chan error) {
		paused, done = make(chan string, 100), make(chan error, 1)
		go func() { done <- i.Capacity(ctx, func(reason string) { paused <- reason }) }()
		return paused, done
	}
	free := func(i link.Inbox) {
		t.Helper()
		if _, done := capacity(i); <-done != nil {
			t.Fatal("no room")
		}
	}
	stray := func() message.Message {
		m := w.connector()
		m.Source = "nobody"
		return m
	}
	waits := w.connector()
	waits.Queue.Process.Name = "later"
	marker := w.connector()
	marker.Kind, marker.Activity, marker.Source, marker.Control, marker.Data, marker.Body = message.KindMarker, "", "", 0, 0, nil
	marker.Lane = message.LaneControl
	marker.Origin = "C" // whoever started an instance ends it
	expedited := w.from("C")
	expedited.lane = message.LaneControl

	w.accept(stray(), waits)
	free(w.inbox)
	expedited.sends(marker)
	again := marker
	expedited.sends(again)
	if l := w.a.queue.Usage("C"); l.Marks != 1 {
		t.Errorf("one instance was terminated, and %+v is counted", l)
	}
	w.accept(stray())
	paused, done := capacity(w.inbox)
	want := "its messages that nothing here can use are at their quota (limits.peer, 0 MiB): 2 refused messages (fmqm refused list, then retry or drop); 1 message waits for the table of its process (upload it to this site); or raise limits.peer"
	if got := <-paused; got != want {
		t.Errorf("paused: %q", got)
	}
	free(c.Inbox)
	if _, err := w.a.DropRefused(ctx, 1, api.DropRequest{}); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := <-paused; got != "" {
		t.Errorf("still paused: %q", got)
	}

	w.accept(stray())
	paused, done = capacity(w.inbox)
	<-paused
	w.a.limits.Store(&Limits{Peer: 1 << 20})
	w.a.queue.QuotaChanged()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// What a process thread sets aside counts for the peer that brought it.
func TestLateMessagesCountForWhoBringsThem(t *testing.T) {
	w := newInboxWorld(t, true)
	m := w.connector()
	m.Definition[0]++
	w.accept(m)
	for w.a.queue.Usage("B").Refused == 0 {
		if _, err := w.a.thread(w.table.Process).Gauges(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if l := w.a.queue.Usage("B"); l.Refused != 1 {
		t.Errorf("%+v", l)
	}
}
