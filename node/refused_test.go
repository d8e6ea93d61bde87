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
	"fmqm/message"
	"fmqm/node/rebuild"
	"fmqm/node/report"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// refused checks that an operator's word was refused with a code and a reason.
func refused(t *testing.T, err error, code api.Code, reason string) {
	t.Helper()
	var e *api.Error
	if !errors.As(err, &e) || e.Code != code || !strings.Contains(err.Error(), reason) {
		t.Errorf("got %v, want %s: %s", err, code, reason)
	}
}

// done checks what an operator's word came to.
func done(t *testing.T, d api.RefusedDecision, err error, want api.Done) {
	t.Helper()
	if err != nil || d.Done != want || d.Text == "" {
		t.Errorf("%+v, %v: want %s", d, err, want)
	}
}

// commitTx commits a transaction of the test's own at A.
func (w *inboxWorld) commitTx(tx *record.Tx) {
	w.t.Helper()
	if err := w.a.commit(context.Background(), tx); err != nil {
		w.t.Fatal(err)
	}
}

// setAside sets a message of B's aside, as if A had refused it before.
func (w *inboxWorld) setAside(m message.Message, reason string) {
	w.t.Helper()
	encoded, err := message.Encode(m)
	if err != nil {
		w.t.Fatal(err)
	}
	w.commitTx(&record.Tx{Refuse: []record.Refused{{Time: time.Now(), Peer: "B", Reason: reason, Message: encoded}}})
}

// What came from a site that may not send it, and what cannot be read, is never delivered;
// dropped it goes, and the history of its instance says so where it names one.
func TestDecisionsAboutWhatCannotBeForHere(t *testing.T) {
	w := newInboxWorld(t, true)
	stray := w.connector()
	stray.Source = "beyond"
	w.accept(stray)
	w.commitTx(&record.Tx{Refuse: []record.Refused{{Time: time.Now(), Peer: "B", Reason: "it cannot be read", Message: []byte("no message")}}})
	ctx := context.Background()

	m, err := w.a.RefusedMessage(ctx, 1)
	if err != nil || m.From != "B" || m.Source != "beyond" || m.Control != "TRUE" || m.BodyBytes == 0 || m.Hex == "" {
		t.Errorf("message 1: %+v %v", m, err) // no connector from beyond carries data, so that nothing says how to read them
	}
	m, err = w.a.RefusedMessage(ctx, 2)
	if err != nil || m.Kind != "" || m.Bytes != len("no message") || m.Hex != "6e6f206d657373616765" {
		t.Errorf("message 2: %+v %v", m, err)
	}
	_, err = w.a.RetryRefused(ctx, 1)
	refused(t, err, api.CodeRefused, "message 1 cannot take effect: activity beyond of two-sites@1 is hosted at C, and the message came from B: drop it with `fmqm refused drop 1`")
	_, err = w.a.RetryRefused(ctx, 2)
	refused(t, err, api.CodeRefused, "message 2 cannot take effect: it cannot be read")
	d, err := w.a.DropRefused(ctx, 1, api.DropRequest{Reason: "found the culprit"})
	done(t, d, err, api.RefusedRemoved)
	d, err = w.a.DropRefused(ctx, 2, api.DropRequest{})
	done(t, d, err, api.RefusedRemoved)
	for _, n := range []uint64{1, 2, 3} {
		_, err = w.a.DropRefused(ctx, n, api.DropRequest{})
		refused(t, err, api.CodeNotFound, "there is no refused message")
		_, err = w.a.RetryRefused(ctx, n)
		refused(t, err, api.CodeNotFound, "there is no refused message")
		_, err = w.a.RefusedMessage(ctx, n)
		refused(t, err, api.CodeNotFound, "there is no refused message")
	}
	history, err := w.a.queue.History(stray.Instance)
	if err != nil || len(history) != 1 || history[0].Event != record.EventDropped || !strings.HasSuffix(history[0].Reason, ": found the culprit") {
		t.Errorf("history %+v, %v", history, err)
	}
	if entries, _, err := w.a.queue.BrowseFrom(w.table.Process, message.Entry{}, 10); err != nil || len(entries) > 0 {
		t.Errorf("it resolved something: %v %v", entries, err)
	}
}

// A table that was refused for its size is taken once the limit is raised; the messages
// that wait for it then run. One that is refused still stays where it is.
func TestRetryOfATable(t *testing.T) {
	w := newInboxWorld(t, false)
	ctx := context.Background()
	encoded, err := processtable.Encode(w.table)
	if err != nil {
		t.Fatal(err)
	}
	limit := func(bytes int) { w.a.Configure(w.a.registry(), Ways{}, Limits{Table: bytes}) }
	limit(100)
	w.accept(w.tableMessage(encoded))
	m := w.connector()
	w.accept(m)
	_, err = w.a.RetryRefused(ctx, 1)
	refused(t, err, api.CodeRefused, "bytes, A takes 100: raise limits.table there")
	if d, err := w.a.Refused(ctx, api.RefusedRequest{Limit: 9}); err != nil || len(d.Messages) != 1 || d.Messages[0].Number != 1 || d.Messages[0].Kind != "table" {
		t.Errorf("set aside: %+v %v", d, err)
	}
	limit(0)
	d, err := w.a.RetryRefused(ctx, 1)
	done(t, d, err, api.RefusedStored)
	if _, _, found, err := w.a.queue.Table(w.table.Process); !found || err != nil {
		t.Errorf("the table is not here: %v", err)
	}
	for len(w.a.queue.Parked()) > 0 {
		if _, err := w.a.thread(w.table.Process).Gauges(ctx); err != nil {
			t.Fatal(err)
		}
	}
	w.accept(w.tableMessage([]byte("no table")))
	d, err = w.a.DropRefused(ctx, 2, api.DropRequest{})
	done(t, d, err, api.RefusedRemoved)
}

// Without its table nobody knows what depends on a message: it can be delivered, to wait
// for the table, and not be dropped.
func TestDecisionsWithoutATable(t *testing.T) {
	w := newInboxWorld(t, false)
	ctx := context.Background()
	w.setAside(w.connector(), "too many messages wait for it already")
	_, err := w.a.DropRefused(ctx, 1, api.DropRequest{})
	refused(t, err, api.CodeRefused, "the table of two-sites@1 is not here, so the connectors of message 1 are not known: upload the process, then drop the message")
	d, err := w.a.RetryRefused(ctx, 1)
	done(t, d, err, api.RefusedDelivered)
	if n := w.a.queue.ParkedCount(w.table.Process); n != 1 {
		t.Errorf("%d messages wait for the table, want 1", n)
	}
}

// What carries data is shown by the members that they are for; notices and markers in
// their own words.
func TestWhatMessagesCarryIsShown(t *testing.T) {
	w := newInboxWorld(t, true)
	ctx := context.Background()
	w.setAside(w.connector(), "a test")
	notice := w.connector()
	notice.Kind, notice.Control, notice.Data, notice.Body = message.KindNotice, 0, 0, message.EncodeNotice(message.Notice{Error: "no luck", Attempts: 2})
	w.setAside(notice, "a test")
	marker := notice
	marker.Kind, marker.Body = message.KindMarker, message.EncodeMarker(message.Marker{Reason: "enough"})
	marker.Source, marker.Activity = "", ""
	w.setAside(marker, "a test")
	for n, want := range map[uint64]string{1: `{"amount":7}`, 2: `{"attempts":2,"cleared":false,"error":"no luck"}`, 3: `{"reason":"enough","time":"0001-01-01T00:00:00Z"}`} {
		m, err := w.a.RefusedMessage(ctx, n)
		if err != nil || string(m.Body) != want || m.Hex != "" {
			t.Errorf("message %d: %+v %v, want %s", n, m, err, want)
		}
		if _, err := json.Marshal(m); err != nil {
			t.Error(err)
		}
	}
	d, err := w.a.DropRefused(ctx, 2, api.DropRequest{})
	done(t, d, err, api.RefusedRemoved)
	d, err = w.a.DropRefused(ctx, 3, api.DropRequest{})
	done(t, d, err, api.RefusedRemoved)
	d, err = w.a.RetryRefused(ctx, 1)
	done(t, d, err, api.RefusedDelivered)
}

// Invariant 11: a message that an operator lets go of may be anybody's invention. What it says of
// where its instance was started becomes part of a line of history, and is believed by nobody.
func TestADroppedMessageDoesNotSayWhereItsInstanceWasStarted(t *testing.T) {
	p := newKeepers(t)
	ended, waits := uuid.UUID{7}, uuid.UUID{8}
	toB, _ := p.run(ended)
	toDead := toB[slices.IndexFunc(toB, func(m message.Message) bool { return m.Activity == "dead" && m.Source == processtable.Source })]
	toDead.Instance = waits
	p.b.take(toDead)
	p.b.settled()
	for i, id := range []message.InstanceID{ended, waits} {
		stray := toDead
		stray.Instance, stray.Origin, stray.Source, stray.Clock = id, "B", "work", 0
		encoded, err := message.Encode(stray)
		p.b.must(err)
		p.b.must(p.b.commit(t.Context(), &record.Tx{Refuse: []record.Refused{{Time: p.b.clock.Now(), Peer: "A", Reason: "a test", Message: encoded}}}))
		if _, err := p.b.DropRefused(t.Context(), uint64(i+1), api.DropRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	if s, _, err := p.b.queue.AuditSizeOf(ended); err != nil || s.Origin != "A" {
		t.Errorf("retention asks %q whether it has ended (%v), want A", s.Origin, err)
	}
	if r, err := p.b.answers.Report(report.Question{Instance: waits}); err != nil || r.Origin != "A" {
		t.Errorf("the origin is said to be %q (%v), want A", r.Origin, err)
	}
	p.b.rebuilds.Standings = func(_ context.Context, _ processtable.NodeID, q []rebuild.Instance) ([]rebuild.Standing, error) {
		return make([]rebuild.Standing, len(q)), nil // A has lost its store
	}
	told, err := p.b.rebuilds.Report(t.Context(), record.Rebuild{Peer: "A", Stage: record.StageDone})
	p.b.must(err)
	if len(told.Unknown) != 2 {
		t.Errorf("unknown at A, where both were started: %+v", told.Unknown)
	}
}
