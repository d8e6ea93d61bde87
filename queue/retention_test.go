package queue_test

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/audit"
	"fmqm/queue/inspect"
	"fmqm/queue/record"
)

// historian is a manager of node A with an audit queue, over a store that survives it.
type historian struct {
	t      *testing.T
	engine store.Engine
	m      *queue.Manager
}

// kept is a store that outlives the manager that closes it.
type kept struct{ store.Engine }

func (kept) Close() error { return nil }

func newHistorian(t *testing.T) *historian {
	h := &historian{t: t, engine: newEngine(t)}
	h.open()
	t.Cleanup(func() {
		h.close()
		h.must(h.engine.Close())
	})
	return h
}

func (h *historian) open() {
	var err error
	h.m, err = queue.Open(kept{h.engine}, queue.Options{Node: "A"})
	h.must(err)
}

func (h *historian) close() { h.must(h.m.Close(context.Background())) }

func (h *historian) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *historian) submit(tx *record.Tx) error {
	done := make(chan error, 1)
	tx.Done = func(err error) { done <- err }
	h.m.Submit(tx)
	return <-done
}

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

func (h *historian) audit(records ...record.AuditRecord) {
	h.t.Helper()
	for i := range records {
		r := &records[i]
		r.Process, r.Clock = procP, uint64(i+1)
		if r.Origin == "" {
			r.Origin = "A"
		}
		if r.Time.IsZero() {
			r.Time = noon
		}
	}
	h.must(h.submit(&record.Tx{Audit: records}))
}

// run writes what an instance leaves that was started here, and has ended: 8 records, of
// which two name staged bodies.
func (h *historian) run(id message.InstanceID) {
	large := make([]byte, 600_000)
	h.audit(
		record.AuditRecord{Instance: id, Activity: processtable.Source, Event: record.EventStarted, Output: []byte("input"), Reason: "key", Definition: processtable.ShortHash{1, 2}},
		record.AuditRecord{Instance: id, Activity: "a", Event: record.EventIterated, Output: large},
		record.AuditRecord{Instance: id, Activity: "a", Event: record.EventFailed},
		record.AuditRecord{Instance: id, Activity: "a", Event: record.EventTerminated, Output: large},
		record.AuditRecord{Instance: id, Activity: "b", Event: record.EventSkipped},
		record.AuditRecord{Instance: id, Activity: "c", Scope: "s", Event: record.EventTerminated},
		record.AuditRecord{Instance: id, Activity: "c", Event: record.EventTerminated},
		record.AuditRecord{Instance: id, Activity: processtable.Sink, Event: record.EventEnded, Time: noon.Add(time.Hour)},
	)
}

// refusesRepeats checks all that refusing a repeat needs (N2, N7).
func (h *historian) refusesRepeats(id message.InstanceID) {
	h.t.Helper()
	started, ended, found, err := h.m.Instance(id)
	h.must(err)
	if !found || ended == nil {
		h.t.Fatalf("started %t, ended %v", found, ended)
	}
	input := started.Removed != nil && started.Removed.Start.Input == record.SumInput([]byte("input")) || string(started.Output) == "input"
	if !input || started.Process != procP || started.Reason != "key" || started.Definition != (processtable.ShortHash{1, 2}) ||
		started.Origin != "A" || !started.Time.Equal(noon) || !ended.Time.Equal(noon.Add(time.Hour)) || ended.Event != record.EventEnded {
		h.t.Errorf("started %+v, ended %+v", started, ended)
	}
	for _, e := range []message.Entry{
		{Instance: id, Activity: "a"}, {Instance: id, Activity: "b"}, {Instance: id, Activity: "c"}, {Instance: id, Activity: "c", Scope: "s"},
	} {
		if _, has, err := h.m.Ended(e); !has || err != nil {
			h.t.Errorf("%+v has ended: %t, %v", e, has, err)
		}
	}
}

// S4, N2, N7: an instance's audit goes in small transactions. After each of them, also
// where the node was killed behind it, a repeat of the start and a late message are
// refused as before; in the end nothing is left but one small record, no chunk either.
func TestForgetLeavesWhatRefusesARepeat(t *testing.T) {
	h := newHistorian(t)
	id, other := uuid.UUID{7}, uuid.UUID{8}
	before := len(dumped(t, h.engine))
	h.run(other)
	others := len(dumped(t, h.engine)) - before
	h.run(id)
	h.refusesRepeats(id)
	transactions := 0
	for more := true; more; transactions++ {
		var tx *record.Tx
		var err error
		tx, more, err = h.m.Forget(audit.Forget{Instance: id, Time: noon.Add(48 * time.Hour), Limit: 3})
		h.must(err)
		h.must(h.submit(tx))
		h.refusesRepeats(id)
		h.close()
		h.open()
		h.refusesRepeats(id)
	}
	if transactions != 3 {
		t.Errorf("8 records, 3 at a time, went in %d transactions", transactions)
	}
	if history, err := h.m.History(id); err != nil || len(history) != 0 {
		t.Errorf("left: %+v, %v", history, err)
	}
	if lines := dumped(t, h.engine); len(lines) != before+others+1 {
		t.Errorf("%d records are left, expected %d and one", len(lines), before+others)
	}
	want := record.Removed{Instance: id, Process: procP, Origin: "A", Time: noon.Add(48 * time.Hour), Start: &record.RemovedStart{
		Definition: processtable.ShortHash{1, 2}, Input: record.SumInput([]byte("input")), Key: "key", Started: noon, Ended: noon.Add(time.Hour),
	}}
	got, removed, err := h.m.Removed(id)
	if diff := cmp.Diff(want, got); !removed || err != nil || diff != "" {
		t.Errorf("removed %t, %v: %s", removed, err, diff)
	}
	if list, err := h.m.Instances(audit.ListOptions{States: audit.AllStates}); err != nil || len(list) != 1 || list[0].Started.Instance != other {
		t.Errorf("listed: %+v, %v", list, err)
	}
	if n, err := h.m.CountRemoved(); n != 1 || err != nil {
		t.Errorf("%d were removed, %v", n, err)
	}
	h.refusesRepeats(other)
	if history, err := h.m.History(other); err != nil || len(history) != 8 {
		t.Errorf("the other instance has %d records, %v", len(history), err)
	}
	if _, _, err := h.m.Forget(audit.Forget{Instance: id, Limit: 3}); err == nil {
		t.Error("what is gone was removed again")
	}
}

// N1: where the instance was started, it is not forgotten before it has ended.
func TestForgetRefusesWhatHasNotEnded(t *testing.T) {
	h := newHistorian(t)
	id := uuid.UUID{7}
	h.audit(
		record.AuditRecord{Instance: id, Activity: processtable.Source, Event: record.EventStarted},
		record.AuditRecord{Instance: id, Activity: "a", Event: record.EventTerminated},
	)
	if _, _, err := h.m.Forget(audit.Forget{Instance: id, Limit: 3}); err == nil {
		t.Error("an instance that runs was removed")
	}
}

// N7: of an instance that an operator terminated, every entry has ended so, also one that
// never was; a node where it was not started does not know its start.
func TestForgottenElsewhereAndStopped(t *testing.T) {
	h := newHistorian(t)
	id := uuid.UUID{7}
	h.audit(record.AuditRecord{Instance: id, Origin: "B", Activity: "a", Event: record.EventTerminated})
	tx, more, err := h.m.Forget(audit.Forget{Instance: id, Stopped: true, Time: noon, Limit: 10})
	h.must(err)
	h.must(h.submit(tx))
	for _, a := range []processtable.ActivityID{"a", "never"} {
		end, has, err := h.m.Ended(message.Entry{Instance: id, Activity: a})
		if !has || err != nil || end.Event != record.EventStopped || end.Origin != "B" || more {
			t.Errorf("%s has ended: %t, %v: %+v", a, has, err, end)
		}
	}
	if _, _, found, err := h.m.Instance(id); found || err != nil {
		t.Errorf("it was started here: %t, %v", found, err)
	}
}

// S4: what the audit queue has is added up instance by instance, page by page, with what
// is staged; the newest record tells how old it is. What is being removed says so.
func TestAuditSizes(t *testing.T) {
	h := newHistorian(t)
	var ids []message.InstanceID
	for n := range 5 {
		ids = append(ids, uuid.UUID{byte(n + 1)})
		h.run(ids[n])
	}
	h.audit(record.AuditRecord{Instance: ids[1], Origin: "B", Activity: "d", Event: record.EventTerminated})
	tx, _, err := h.m.Forget(audit.Forget{Instance: ids[3], Limit: 3})
	h.must(err)
	h.must(h.submit(tx))
	for _, limit := range []int{1, 2, 100} {
		var all []audit.Size
		after := message.InstanceID{}
		for {
			page, err := h.m.AuditSizes(after, limit)
			h.must(err)
			if len(page) == 0 {
				break
			}
			all = append(all, page...)
			after = page[len(page)-1].Instance
		}
		if len(all) != 5 {
			t.Fatalf("pages of %d: %d instances", limit, len(all))
		}
		for i, s := range all {
			if alone, found, err := h.m.AuditSizeOf(ids[i]); err != nil || !found || !reflect.DeepEqual(s, alone) {
				t.Errorf("alone: %+v, want %+v, %t %v", alone, s, found, err)
			}
			origin := processtable.NodeID("A")
			if i == 1 {
				origin = "" // two instances have its identifier
			}
			if s.Instance != ids[i] || s.Process != procP || s.Origin != origin || (s.Removed != nil) != (i == 3) {
				t.Errorf("%+v", s)
			}
			if i == 3 {
				continue
			}
			if s.Bytes < 1_200_000 || s.Bytes > 1_203_000 || !s.Last.Equal(noon.Add(time.Hour)) || !s.Over {
				t.Errorf("%d: %d bytes, until %s, over %t", i, s.Bytes, s.Last, s.Over)
			}
			if i != 1 && !slices.Equal(s.Ended, []processtable.ActivityID{"a", "b", "c"}) {
				t.Errorf("%d: ended are %v", i, s.Ended)
			}
		}
	}
}

// Two nodes may have started an instance under one identifier: what is forgotten of one
// stays of the other.
func TestForgetLeavesAnotherOriginsRecords(t *testing.T) {
	h := newHistorian(t)
	id := uuid.UUID{7}
	h.audit(record.AuditRecord{Instance: id, Origin: "B", Activity: "a", Event: record.EventTerminated})
	tx, _, err := h.m.Forget(audit.Forget{Instance: id, Limit: 10})
	h.must(err)
	h.must(h.submit(tx))
	h.audit(record.AuditRecord{Instance: id, Origin: "C", Activity: "b", Event: record.EventTerminated})
	tx, _, err = h.m.Forget(audit.Forget{Instance: id, Limit: 10})
	h.must(err)
	h.must(h.submit(tx))
	if history, err := h.m.History(id); err != nil || len(history) != 1 || history[0].Origin != "C" {
		t.Errorf("left: %+v, %v", history, err)
	}
}

// A store with removed instances verifies, and says what they were; damage to one is seen.
func TestVerifyReadsWhatIsLeft(t *testing.T) {
	h := newHistorian(t)
	id := uuid.UUID{7}
	h.run(id)
	tx, _, err := h.m.Forget(audit.Forget{Instance: id, Limit: 3})
	h.must(err)
	h.must(h.submit(tx))
	report, err := inspect.Verify(h.engine)
	if err != nil || len(report.Problems) > 0 || report.Records["removed instance"] != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	lines := dumped(t, h.engine)
	if i := slices.IndexFunc(lines, func(d inspect.Dumped) bool { return d.Kind == "removed instance" }); i < 0 || lines[i].Instance != id.String() || lines[i].Process != "p@1" {
		t.Errorf("dumped: %+v", lines)
	}
	key := append([]byte{'R'}, id[:]...)
	value, err := h.engine.Get(key)
	h.must(err)
	value[3] ^= 1
	h.close()
	h.must(h.engine.Commit(h.engine.Last()+1, &store.Batch{Ops: []store.Op{{Key: key, Value: value}}}))
	if report, err = inspect.Verify(h.engine); err != nil || len(report.Problems) != 1 {
		t.Errorf("%+v, %v", report, err)
	}
	h.open()
	if _, _, err := h.m.Removed(id); err == nil {
		t.Error("a damaged record is believed")
	}
}

// S4: the instances of the audit queue are found page by page, each once, in the order
// of their identifiers, whatever it has of them.
func TestAuditInstances(t *testing.T) {
	h := newHistorian(t)
	var want []message.InstanceID
	for n := range 20 {
		id := uuid.UUID{byte(n), 0xff, byte(n % 3)}
		want = append(want, id)
		for i, event := range []record.Event{record.EventStarted, record.EventTerminated, record.EventIterated, record.EventFailed, record.EventTerminated} {
			if n%3 != 2 && i < n%3 {
				continue // some have no start, some nothing but their ends
			}
			h.must(h.submit(&record.Tx{Audit: []record.AuditRecord{{
				Process: procP, Instance: id, Origin: "A", Activity: "a", Event: event, Clock: uint64(i + 1),
			}}}))
		}
	}
	for _, limit := range []int{1, 3, 20, 100} {
		var got []message.InstanceID
		after := message.InstanceID{}
		for {
			page, err := h.m.AuditInstances(after, limit)
			h.must(err)
			if len(page) == 0 {
				break
			}
			got = append(got, page...)
			after = page[len(page)-1]
		}
		if len(got) != len(want) || !slices.Equal(got[1:], want[1:]) {
			t.Errorf("pages of %d: %v, expected %v", limit, got, want)
		}
	}
}
