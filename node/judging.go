package node

import (
	"context"
	"errors"
	"runtime"
	"time"

	"fmqm/navigator"
	"fmqm/processtable"
	"fmqm/queue"
)

// Conditions that may take long (navigator.Activity.Slow) are evaluated off the process
// threads: of a program's result where it ran; of an empty activity's in an activity thread
// of its own, which takes a place as a program does; of a retry's where that is asked for.
// (Source has none.) The process thread goes on meanwhile, and so do
// health checks, which ask it.
const routing processtable.ProgramID = "" // what empty activities have places of

// maxRouting is how many empty activities of all processes are evaluated, or wait for a processor.
const maxRouting = 64

// judges holds one for each who evaluates conditions that may take long.
type judges chan struct{}

// newJudges lets so many evaluate at once: a processor is left for everything else.
func newJudges() judges { return make(judges, max(1, runtime.GOMAXPROCS(0)-1)) }

// judge evaluates the conditions of a result. Where that may take long it waits for its
// turn, or for ctx.
func (n *Node) judge(ctx context.Context, a *navigator.Activity, r navigator.Result) (navigator.Judgement, error) {
	if !a.Slow(r) {
		return a.Judge(r), nil
	}
	select {
	case n.judging <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-n.judging }()
	return a.Judge(r), nil
}

// echo is the activity thread of an empty activity. If the node stops it never was.
func (t *thread) echo(ctx context.Context, run *invocation) {
	r := run.activity.Echo(run.call.Input, run.started)
	var err error
	r.Judged, err = t.node.judge(ctx, run.activity, r)
	t.places.Release(routing)
	if err == nil || t.node.running.Err() == nil {
		t.post(func(now time.Time) { t.core.finished(run, r, now) })
	}
}

// retry is an operator's retry: what it would evaluate is asked for, evaluated here, and
// handed to it. ErrReviewed: it would evaluate something else by now.
func (t *thread) retry(ctx context.Context, a *navigator.Activity, r retrying) error {
	var refused error
	if err := t.ask(ctx, func(now time.Time) { r.judged, refused = t.core.review(r.entry, r.output, now) }); err != nil || refused != nil {
		return errors.Join(err, refused)
	}
	if r.judged != nil {
		var err error
		if r.judged.Judged, err = t.node.judge(ctx, a, *r.judged); err != nil {
			return err
		}
	}
	done := make(chan error, 1)
	r.done = func(err error) { done <- err }
	t.post(func(now time.Time) { t.core.retry(r, now) })
	select {
	case err := <-done:
		return err
	case <-t.ended:
		return queue.ErrStopped
	case <-ctx.Done():
		return ctx.Err()
	}
}
