package answer

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/behaviour"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// deadPath is a process whose activity c is passed around, and absorbs what late sends before it ends.
const deadPath = `
process: dead-path
version: 1
structures:
  S: {n: int}
activities:
  late: {node: A, program: q, output: S}
  a: {node: A, program: q}
  c: {node: A, program: p, input: S}
  d: {node: A, program: p}
control: [late -> a, {a -> c: _RC > 5}, c -> d]
data: [late -> c]
`

// L5, N6: what an activity on a dead path still absorbs was refused. Nothing else could let it end, so why
// says so: whether it is in error for it or was retried, and also once its instance has finished.
func TestWhyNamesWhatADeadPathLacks(t *testing.T) {
	id := processtable.ProcessID{Name: "dead-path", Version: 1}
	began := func(w *world, i message.InstanceID) (head message.Header, at behaviour.Behaviour, s behaviour.State) {
		head = message.Header{
			Queue: message.Queue{Process: id, Node: "A"}, Definition: w.up[id].Definition(), Instance: i, Origin: "A",
			Activity: "c", Source: "a", Kind: message.KindConnector, Control: message.False, OnBehalf: "A", Onward: true, Clock: 3,
		}
		dead := message.Message{Header: head}
		w.commit(&record.Tx{Put: []message.Message{dead}, Audit: []record.AuditRecord{
			{Process: id, Instance: i, Activity: processtable.Source, Origin: "A", Event: record.EventStarted, Time: time.Unix(1, 0)},
		}})
		at = w.up[id].Activity(processtable.RowID{Name: "c"})
		s = at.Empty(dead.Entry())
		if err := at.Fold(s, dead); err != nil {
			t.Fatal(err)
		}
		return head, at, s
	}
	for _, c := range []struct {
		name              string
		inError, finished bool
		want              string // of c
	}{
		{"retried", false, false, "skipped: waiting for an operator at A to retry or drop refused message 1 (fmqm refused show 1); until then the activity, which was skipped, cannot end"},
		{"in error", true, false, "in-error: message from late was refused: it does not fit; waiting for an operator at A to retry or drop refused message 1 (fmqm refused show 1)"},
		{"retried, of one that has finished", false, true, "skipped: waiting for an operator at A to retry or drop refused message 1 (fmqm refused show 1); until then the activity, which was skipped, cannot end"},
		{"in error, of one that has finished", true, true, "in-error: message from late was refused: it does not fit; waiting for an operator at A to retry or drop refused message 1 (fmqm refused show 1)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.takeUp(deadPath)
			i := uuid.Must(uuid.NewV7())
			head, at, s := began(w, i)
			waits := func() string {
				t.Helper()
				why, err := w.Why(t.Context(), i, api.WhyRequest{})
				if err != nil {
					t.Fatal(err)
				}
				for _, wait := range why.Waits {
					if wait.Activity == "c" {
						return string(wait.State) + ": " + wait.For
					}
				}
				return ""
			}
			if got := waits(); got != "" {
				t.Errorf("before the message was refused: %s", got)
			}
			late := head
			late.Source, late.Control, late.Data, late.OnBehalf, late.Onward = "late", 0, message.DataPresent, "", false
			tx := &record.Tx{}
			if c.inError {
				effects, err := at.Command(s, behaviour.Refuse{Message: message.Message{Header: late}, Reason: "it does not fit"}, time.Unix(2, 0))
				if err != nil {
					t.Fatal(err)
				}
				own := func(m message.Message) bool { return m.Activity != "c" }
				tx.Put = slices.DeleteFunc(effects.Put, own)
			}
			encoded, err := message.Encode(message.Message{Header: late, Body: []byte{0x80}})
			if err != nil {
				t.Fatal(err)
			}
			tx.Refuse = []record.Refused{{Reason: "it does not fit", Message: encoded}}
			if c.finished {
				tx.Audit = []record.AuditRecord{{Process: id, Instance: i, Activity: processtable.Sink, Origin: "A", Event: record.EventEnded, Time: time.Unix(3, 0)}}
			}
			w.commit(tx)
			if got := waits(); got != c.want {
				t.Errorf("why: %s\nwant %s", got, c.want)
			}
			if status, err := w.Status(t.Context(), i); err != nil || (status.State == api.InstanceFinished) != c.finished {
				t.Errorf("status: %s %s, %v", status.State, status.Reason, err)
			}
			w.commit(&record.Tx{Settle: []uint64{1}})
			w.Settled([]uint64{1})
			if got := waits(); strings.Contains(got, "refused message 1") {
				t.Errorf("after it was decided: %s", got)
			}
		})
	}
}
