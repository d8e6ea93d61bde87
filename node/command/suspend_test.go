package command

import (
	"context"
	"errors"
	"testing"
	"time"

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
	w.started(ctx)
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
		{"a resume of one of many", 0, func() error { _, err := w.Resume(ctx, instance, api.ResumeRequest{Quick: true}); return err }},
		{"of what is not suspended by what is known here", 1, func() error {
			if _, err := w.Resume(ctx, instance, api.ResumeRequest{Quick: true}); err == nil {
				return errors.New("it was resumed")
			}
			return nil
		}},
		{"an activity", 1, func() error {
			_, err := w.Suspend(ctx, instance, api.SuspendRequest{Activity: "source", Quick: true})
			return err
		}},
		{"a resume of one of many, by a store that is not the site's first", 1, func() error {
			w.anew = true
			defer func() { w.anew = false }()
			_, err := w.Resume(ctx, instance, api.ResumeRequest{Quick: true})
			return err
		}},
		{"a resume", 1, func() error {
			if _, err := w.Suspend(ctx, instance, api.SuspendRequest{Quick: true}); err != nil {
				return err
			}
			_, err := w.Resume(ctx, instance, api.ResumeRequest{})
			return err
		}},
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

// N29: where there is nothing else to do about a mark here, the other sites are told in the transaction that puts it; with a time it is
// left to the process thread. Whoever repeats it with its identifier is told that it is done, also when its time has come.
func TestN29OthersAreToldWithTheMark(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	w.started(ctx)
	sent := func() (n int) {
		for peer := range w.heard {
			stats, err := w.Queue.Transmission(peer).Stats()
			w.must(err)
			n += int(stats.Count)
		}
		return n
	}
	say := func(r api.SuspendRequest) (word api.Word, err error) {
		w.run(func() { word, err = w.Suspend(ctx, instance, r) })
		return word, err
	}
	if _, err := say(api.SuspendRequest{Until: w.by.Now()}); api.CodeOf(err) != api.CodeUsage || sent() != 0 {
		t.Errorf("until now: %v, and %d were told", err, sent())
	}
	until := w.by.Now().Add(time.Minute)
	timed, err := say(api.SuspendRequest{Until: until})
	w.must(err)
	if sent() != 0 {
		t.Errorf("of one with a time %d were told", sent())
	}
	_, err = say(api.SuspendRequest{Reason: "stock-taking"})
	w.must(err)
	if sent() != len(w.heard) {
		t.Errorf("of %d others %d were told", len(w.heard), sent())
	}
	for i, want := range []bool{true, false} {
		marks, err := w.Queue.Marks(w.id(), instance)
		w.must(err)
		if mark, err := message.MarkOf(&marks[i]); err != nil || mark.New != want {
			t.Errorf("%+v lies there: %v", mark, err)
		}
	}
	again := api.SuspendRequest{Until: w.by.Now(), Word: timed.ID}
	if word, err := say(again); err != nil || word.ID != timed.ID || sent() != len(w.heard) {
		t.Errorf("once more, once its time has come: %+v, %v, and %d were told", word, err, sent())
	}
}

// started: the instance was started here.
func (w *world) started(ctx context.Context) {
	w.run(func() {
		w.must(fake{w}.Commit(ctx, &record.Tx{Audit: []record.AuditRecord{{
			Process: w.id(), Instance: instance, Origin: "A", Activity: processtable.Source, Event: record.EventStarted, Time: w.by.Now(),
		}}}))
	})
}
