package node

import (
	"context"
	"runtime"

	"fmqm/behaviour"
	"fmqm/node/thread"
)

// Conditions that may take long (behaviour.Evaluator) are evaluated off the process
// threads: of a program's result where it ran; of an empty activity's in an activity thread
// of its own, which takes a place as a program does; of a retry's where that is asked for.
// (Source has none.) The process thread goes on meanwhile, and so do
// health checks, which ask it.

// maxRouting is how many empty activities of all processes are evaluated, or wait for a processor.
const maxRouting = 64

// judges is how many may evaluate at once: a processor is left for everything else.
func judges() int { return max(1, runtime.GOMAXPROCS(0)-1) }

// judge evaluates the conditions of a result. Where that may take long it waits for its
// turn, or for ctx.
func (n *Node) judge(ctx context.Context, a behaviour.Behaviour, r behaviour.Result) (behaviour.Judgement, error) {
	if !a.Slow(r) {
		return a.Judge(r), nil
	}
	if err := n.judging.Acquire(ctx); err != nil {
		return nil, err
	}
	defer n.judging.Release()
	return a.Judge(r), nil
}

// echo is the activity thread of an empty activity. If the node stops it never was.
func (t *processThread) echo(ctx context.Context, run *invocation) {
	r := run.behaviour.Compute(run.call, run.started)
	var err error
	r.Judged, err = t.node.judge(ctx, run.behaviour, r)
	t.places.Release(thread.Routing)
	if err == nil || t.node.running.Err() == nil {
		t.tell(thread.Ended{Token: run.token, Entry: run.entry, Result: r})
	}
}

// retry is an operator's retry: what it would evaluate is asked for, evaluated here, and
// handed to it. OtherReview: it would evaluate something else by now.
func (t *processThread) retry(ctx context.Context, a behaviour.Behaviour, r thread.Retry) (thread.Answer, error) {
	word := t.newWord()
	reviewed, err := t.say(ctx, word, thread.Review{Word: word, Entry: r.Entry, Output: r.Output})
	if err != nil || reviewed.Code != thread.Reviewed {
		return reviewed, err
	}
	if r.Judged = reviewed.Review; r.Judged != nil {
		if r.Judged.Judged, err = t.node.judge(ctx, a, *r.Judged); err != nil {
			return thread.Answer{}, err
		}
	}
	r.Word = t.newWord()
	return t.say(ctx, r.Word, r)
}
