package answer

import (
	"context"
	"time"

	"fmqm/api"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/node/report"
)

// waitPause is how often a waiting caller's question is put again where nothing is
// heard of the instance here.
const waitPause = time.Second

// Wait gives the status once the instance no longer runs, or ctx has ended.
func (a *Answers) Wait(ctx context.Context, id message.InstanceID) (api.Status, error) {
	changed, end := a.changes.watch(a.Scheduler, id, false)
	defer end()
	for {
		s, err := a.Status(context.WithoutCancel(ctx), id)
		if err != nil || (s.State != api.InstanceRunning && s.State != api.InstanceUnknown) {
			return s, err
		}
		if !a.pauseOrChange(ctx, waitPause, changed) {
			return a.Status(context.WithoutCancel(ctx), id)
		}
	}
}

// Watch calls event for what has happened and what happens, until the instance ended, ctx has
// ended or event gives an error.
func (a *Answers) Watch(ctx context.Context, id message.InstanceID, event func(api.HistoryEvent) error) error {
	changed, end := a.changes.watch(a.Scheduler, id, true)
	defer end()
	for w := report.NewWatching(); ; {
		g, err := a.GatherNews(ctx, id, w.Marks)
		if err != nil {
			return err
		}
		for _, e := range w.Take(g) {
			if err := event(e); err != nil {
				return err
			}
		}
		if w.Over {
			return nil
		}
		if !a.pauseOrChange(ctx, w.Pause, changed) {
			return nil
		}
	}
}

// pauseOrChange waits for a change here, or for d; false if ctx ended.
func (a *Answers) pauseOrChange(ctx context.Context, d time.Duration, changed *task.Bell) bool {
	over := a.Scheduler.Gate()
	defer a.Scheduler.AfterFunc(d, over.Open)()
	_, err := a.Scheduler.Wait(ctx, changed, over)
	return err == nil
}
