package command

import (
	"context"
	"testing"

	"fmqm/api"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// N29: of one of many that was started here nobody else is asked how far it is, however far away they are; of one alone,
// and of one that was started elsewhere, they are.
func TestN29OneOfManyAsksNobody(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	w.run(func() {
		w.must(fake{w}.Commit(ctx, &record.Tx{Audit: []record.AuditRecord{{
			Process: w.id(), Instance: instance, Origin: "A", Activity: processtable.Source, Event: record.EventStarted, Time: w.by.Now(),
		}}}))
	})
	for _, c := range []struct {
		name  string
		asked int
		say   func() error
	}{
		{"one alone", 1, func() error { _, err := w.Suspend(ctx, instance, api.SuspendRequest{}); return err }},
		{"one of many", 0, func() error {
			_, err := w.Suspend(ctx, instance, api.SuspendRequest{Reason: "all of them", Quick: true})
			return err
		}},
		{"a priority of one of many", 0, func() error {
			_, err := w.Expedite(ctx, instance, api.ExpediteRequest{Priority: 9, Quick: true})
			return err
		}},
		{"a resume", 1, func() error { _, err := w.Resume(ctx, instance, api.ResumeRequest{}); return err }},
	} {
		w.asked = 0
		w.run(func() { w.must(c.say()) })
		if w.asked != c.asked {
			t.Errorf("%s: the others were asked %d times", c.name, w.asked)
		}
	}
	w.asked = 0
	w.run(func() {
		if _, err := w.Suspend(ctx, message.InstanceID{2}, api.SuspendRequest{Quick: true}); err == nil {
			t.Error("one that was not started here is suspended")
		}
	})
	if w.asked != 1 {
		t.Errorf("one that was not started here: the others were asked %d times", w.asked)
	}
}
