package record_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// N19: a record names the instance that was begun, and the activity that has begun its own.
func TestRecordsOfSubprocessesComeBack(t *testing.T) {
	id := uuid.MustParse("01970000-0000-7000-8000-000000000001")
	parent := message.Parent{
		Process: processtable.ProcessID{Name: "order", Version: 1}, Node: "A", Instance: id, Scope: "documents#2", Activity: "pack", Iteration: 1, Attempt: 2,
	}
	line := processtable.ProcessID{Name: "line", Version: 3}
	child := message.Child{Instance: parent.Child(line, 1), Process: line}
	for _, want := range []record.AuditRecord{
		{Clock: 4, Process: parent.Process, Instance: id, Scope: parent.Scope, Activity: "pack", Event: record.EventBegun, Iteration: 1, Attempt: 2, Child: &child},
		{Clock: 9, Process: parent.Process, Instance: id, Scope: parent.Scope, Activity: "pack", Event: record.EventReturned, Iteration: 1, Attempt: 2, Child: &child},
		{Clock: 5, Process: line, Instance: child.Instance, Activity: "source", Event: record.EventStarted, Iteration: 1, Parent: &parent},
	} {
		if err := record.ValidateAudit(&want); err != nil {
			t.Error(err)
		}
		encoded := record.AppendAudit(nil, &want, true)
		got, err := record.DecodeAudit(encoded)
		got.Time, got.Started = want.Time, want.Started // none is written as none
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("%v (-want +got):\n%s", err, d)
		}
		for n := range encoded {
			if _, err := record.DecodeAudit(encoded[:n]); err == nil {
				t.Errorf("cut after %d bytes it is read", n)
			}
		}
	}
}
