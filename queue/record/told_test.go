package record_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// R58: what a notice tells of comes back with its line of history, and nothing that is no one thing is read.
func TestWhatANoticeTellsOfComesBack(t *testing.T) {
	r := record.AuditRecord{
		Time: time.Unix(9, 0).UTC(), Clock: 4, Process: processtable.ProcessID{Name: "claim", Version: 3}, Instance: message.InstanceID(uuid.UUID{1}), Origin: "A",
		Activity: processtable.Sink, Event: record.EventEscalated, Iteration: 2, Attempt: 1,
		Told: &message.Told{On: processtable.OnError, Scope: "round#1", Activity: "look", Time: time.Unix(8, 0).UTC()},
	}
	got, err := record.DecodeAudit(record.AppendAudit(nil, &r, true))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(r, got); d != "" {
		t.Errorf("it is read as another (-want +got):\n%s", d)
	}
	for _, on := range []processtable.Occasions{0, 3, 8} {
		r.Told.On = on
		if _, err := record.DecodeAudit(record.AppendAudit(nil, &r, true)); err == nil {
			t.Errorf("%d is read", on)
		}
	}
}
