package node

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/internal/failpoint"
	"fmqm/message"
	"fmqm/node/thread"
	"fmqm/program"
	"fmqm/queue"
)

// invocation is one attempt of a program, under way.
type invocation struct {
	token     thread.Token
	entry     message.Entry
	behaviour behaviour.Behaviour
	call      behaviour.Invoke
	started   time.Time
	end       context.CancelFunc     // ends the program early
	said      saidLast               // what the program has said last
	lacks     atomic.Pointer[string] // why its program does not run yet; set by its activity thread
}

// invoke starts an activity thread (paper §3.3): a task that lives as long as
// the program runs.
func (t *processThread) invoke(e thread.Invoke) {
	if t.closing { // a place that was granted before the node began to stop
		t.places.Release(e.Call.Program)
		return
	}
	ctx, cancel := t.node.sched.WithCancel(t.node.running)
	run := &invocation{token: e.Token, entry: e.Entry, behaviour: e.Behaviour, call: e.Call, started: t.now, end: cancel}
	t.runs[e.Token] = run
	if run.call.Program == thread.Routing {
		t.programs.Go(func() {
			defer cancel()
			t.echo(ctx, run)
		})
		return
	}
	t.shown.begin(run)
	t.meter.attempts.Add(1)
	t.meter.running.Add(1)
	t.programs.Go(func() {
		defer cancel()
		failpoint.Hit("program.begin")
		result := t.attempt(ctx, run)
		if result != nil {
			result.Judged, _ = t.node.judge(t.node.running, run.behaviour, *result) // not if the node is stopping
		}
		failpoint.Hit("program.ended")
		t.meter.running.Add(-1)
		t.places.Release(run.call.Program)
		if t.node.running.Err() != nil || result == nil {
			return // the node is stopping: this attempt never happened
		}
		t.node.meters.program(run.call.Program).ended(result.RC, result.Err != "", result.Ended.Sub(result.Started))
		t.shown.end(run.entry)
		t.tell(thread.Ended{Token: run.token, Entry: run.entry, Result: *result})
	})
}

// attempt runs the program once. It gives nil if it never ran: the node is stopping, or
// ends, since the program could not be noted where it would be found after a crash (P2).
func (t *processThread) attempt(ctx context.Context, run *invocation) *behaviour.Result {
	r := t.whileShort(ctx, run)
	switch {
	case errors.Is(r.Err, program.ErrLedger):
		t.node.fatal(r.Err)
		return nil
	case errors.Is(r.Err, program.ErrShort) && t.node.begins.Err() != nil:
		return nil
	}
	out := &behaviour.Result{RC: r.RC, Output: r.Output, Final: r.Final, Started: r.Started, Ended: r.Ended, Said: run.said.String()}
	if r.Err != nil {
		out.Err = r.Err.Error()
	} else if err := t.node.checkSize(r.Output); err != nil {
		out.Err = fmt.Sprintf("output of program %s: %v", run.call.Program, err)
	}
	return out
}

// runProgram runs the program that is registered now, if one is.
func (t *processThread) runProgram(ctx context.Context, run *invocation) program.Result {
	entry, ok := t.node.registry().Lookup(run.call.Program)
	if !ok {
		return program.Result{Started: run.started, Ended: run.started, Err: fmt.Errorf(
			"program %s is not registered at %s: add it to `programs` in the node's configuration, reload, and retry", run.call.Program, t.node.name)}
	}
	return entry.Program.Run(ctx, program.Call{
		Process:   t.id().String(),
		Instance:  run.entry.Instance.String(),
		Activity:  string(run.entry.Activity),
		Node:      string(t.node.name),
		Iteration: run.call.Iteration, Attempt: run.call.Attempt,
		Key:   idempotencyKey(run.entry, run.call.Iteration, run.call.Run),
		Input: run.call.Input, OutputType: run.call.Output,
		NoOutput: run.call.NoOutput, RCIsData: run.call.RCIsData, RCContinue: run.call.RCContinue,
		Log: func(line string) {
			run.said.add(line)
			t.log.Info().Stringer("instance", run.entry.Instance).Str("activity", string(run.entry.Activity)).
				Str("program", string(run.call.Program)).Msg(line)
		},
	})
}

// idempotencyKey is the same for every attempt of one execution, and for no other (P1).
func idempotencyKey(e message.Entry, iteration, run int) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{
		e.Instance.String(), string(e.Scope), string(e.Activity), strconv.Itoa(iteration), strconv.Itoa(run),
	}, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// checkSize holds a container to the node's limit, where that is below the language's.
func (n *Node) checkSize(c *container.Struct) error {
	limit := n.limits.Load().Container
	if limit <= 0 || limit >= container.MaxEncoded || c == nil {
		return nil
	}
	encoded, err := container.EncodeCBOR(c)
	if err != nil {
		return err
	}
	if len(encoded) > limit {
		return fmt.Errorf("the container has %d bytes, this node takes %d (limits.container)", len(encoded), limit)
	}
	return nil
}

// decisive reports whether an instance may not run any more after tx.
func decisive(tx *queue.Tx) bool {
	return slices.ContainsFunc(tx.Audit, func(r queue.AuditRecord) bool {
		return r.Event == queue.EventEnded || r.Event == queue.EventStopped || r.Event == queue.EventInError
	})
}

func (n *Node) observe(tx *queue.Tx) {
	if n.options.Observe == nil {
		return
	}
	for i := range tx.Audit {
		n.options.Observe(tx.Audit[i])
	}
}
