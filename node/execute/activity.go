package execute

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fmqm/behaviour"
	"fmqm/internal/failpoint"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/node/thread"
	"fmqm/program"
)

// invoke starts an activity thread (paper §3.3): a task that lives as long as
// the program runs.
func (t *Thread) invoke(e thread.Invoke) {
	if t.closing { // a place that was granted before the node began to stop
		t.places.Release(e.Call.Program)
		return
	}
	ctx, cancel := t.of.Scheduler.WithCancel(t.of.Running)
	run := &invocation{token: e.Token, entry: e.Entry, behaviour: e.Behaviour, call: e.Call, started: t.now, end: cancel, said: stderrTail{limit: t.of.Logs.Limit()}}
	t.runs[e.Token] = run
	if run.call.Program == behaviour.Begin {
		defer cancel()
		t.places.Release(behaviour.Begin)
		t.Tell(thread.Ended{Token: run.token, Entry: run.entry, Result: &behaviour.Result{Begins: true, Started: run.started, Ended: run.started}})
		return
	}
	if run.call.Program == thread.Routing {
		t.programs.Go(func() {
			defer cancel()
			t.echo(ctx, run)
		})
		return
	}
	if run.call.Program == behaviour.Subprocess {
		t.programs.Go(func() {
			defer cancel()
			t.beginning(ctx, run)
		})
		return
	}
	t.shown.begin(run)
	t.meter.attempts.Add(1)
	t.meter.running.Add(1)
	t.programs.Go(func() {
		defer cancel()
		grown()
		failpoint.Hit("program.begin")
		result := t.attempt(ctx, run)
		t.of.Logs.Keep(run.written(t.ID(), result, t.of.Scheduler.Now()))
		if result != nil {
			result.Judged, _ = t.of.judge(t.of.Running, run.behaviour, result) // not if the node is stopping
		}
		failpoint.Hit("program.ended")
		t.meter.running.Add(-1)
		t.places.Release(run.call.Program)
		if t.of.Running.Err() != nil || result == nil {
			return // the node is stopping: this attempt never happened
		}
		t.of.meters.of(run.call.Program).ended(result.RC, result.Err != "", result.Ended.Sub(result.Started))
		t.shown.end(run)
		t.Tell(thread.Ended{Token: run.token, Entry: run.entry, Result: result})
	})
}

// attempt runs the program once. It gives nil if it never ran: the node is stopping, or
// ends, since the program could not be noted where it would be found after a crash (P2).
func (t *Thread) attempt(ctx context.Context, run *invocation) *behaviour.Result {
	r := t.whileShort(ctx, run)
	switch {
	case errors.Is(r.Err, program.ErrLedger):
		t.of.Site.Fatal(r.Err)
		return nil
	case errors.Is(r.Err, program.ErrShort) && t.of.Begins.Err() != nil:
		return nil
	}
	out := &behaviour.Result{RC: r.RC, Output: r.Output, Final: r.Final, Started: r.Started, Ended: r.Ended, Said: run.said.String()}
	if r.Err != nil {
		out.Err = r.Err.Error()
	} else if err := t.of.Site.CheckSize(r.Output); err != nil {
		out.Err = fmt.Sprintf("output of program %s: %v", run.call.Program, err)
	}
	return out
}

// runProgram runs the program that is registered now, if one is.
func (t *Thread) runProgram(ctx context.Context, run *invocation) program.Result {
	entry, ok := t.of.Site.Program(run.call.Program)
	if !ok {
		return program.Result{Started: run.started, Ended: run.started, Err: t.notRegistered(run)}
	}
	key := ""
	if entry.Kind != program.KindBuiltin {
		key = message.ExecutionKey(&run.entry, message.Execution{Iteration: run.call.Iteration, Run: run.call.Run})
	}
	scope := run.entry.Scope.Path(run.entry.Activity) // of a notice its own
	if scope == string(run.entry.Activity) {          // it is at the top, or the work of a call that is
		scope = ""
	}
	people := ""
	if of := run.call.People; of != nil {
		people = t.of.Site.People(t.process, run.entry, of)
	}
	on, about, wrong := toldOf(run.call.Told)
	return entry.Program.Run(ctx, &program.Call{
		Process:   t.ID().String(),
		Instance:  run.entry.Instance.String(),
		Activity:  string(run.entry.Activity),
		Scope:     scope,
		Element:   run.entry.Scope.Element(),
		Node:      string(t.of.Self),
		Iteration: run.call.Iteration, Attempt: run.call.Attempt,
		Key:    key,
		Due:    run.call.Deadline,
		People: people,
		On:     on, About: about, Error: wrong,
		Input: run.call.Input, OutputType: run.call.Output,
		NoOutput: run.call.NoOutput, RCIsData: run.call.RCIsData, RCContinue: run.call.RCContinue,
		Log: func(line string) {
			run.said.add(line)
			t.log.Info().Stringer("instance", run.entry.Instance).Str("activity", string(run.entry.Activity)).
				Str("program", string(run.call.Program)).Msg(line)
		},
	})
}

// notRegistered says what helps: a notice is not repeated by hand.
func (t *Thread) notRegistered(run *invocation) error {
	remedy := "reload, and retry"
	if _, notice := run.entry.Scope.OfNotice(); notice {
		remedy = "and reload, for the notices to come"
	}
	return fmt.Errorf("program %s is not registered at %s: add it to `programs` in the node's configuration, %s", run.call.Program, t.of.Self, remedy)
}

// toldOf is what a program of a notice is told has happened, and to which activity.
func toldOf(t *message.Told) (on, about, wrong string) {
	if t == nil {
		return "", "", ""
	}
	return t.On.String(), t.Path(), t.Line(program.MaxError)
}

// echo is the activity thread of an empty activity. If the node stops it never was.
func (t *Thread) echo(ctx context.Context, run *invocation) {
	r := run.behaviour.Compute(*run.call, run.started)
	var err error
	r.Judged, err = t.of.judge(ctx, run.behaviour, &r)
	t.places.Release(thread.Routing)
	if err == nil || t.of.Running.Err() == nil {
		t.Tell(thread.Ended{Token: run.token, Entry: run.entry, Result: &r})
	}
}

// evaluate evaluates the conditions of what an operator's retry leads to. If the node stops it
// never was.
func (t *Thread) evaluate(e thread.Evaluate) {
	t.programs.Go(func() {
		r := e.Result
		var err error
		if r.Judged, err = t.of.judge(t.of.Running, e.Behaviour, &r); err == nil {
			t.Tell(thread.Evaluated{Token: e.Token, Result: r})
		}
	})
}

// Pauses between tries to start a program on a machine that is short of files, processes
// or memory.
const (
	shortPause    = 250 * time.Millisecond
	shortPauseMax = 30 * time.Second
)

// whileShort runs the program. A try on a machine that is short of what every program
// needs is no attempt: it is repeated, with growing pauses, and the activity is ready
// meanwhile. It keeps its place: the next one would fare no better.
func (t *Thread) whileShort(ctx context.Context, run *invocation) program.Result {
	for pause := shortPause; ; pause = min(2*pause, shortPauseMax) {
		r := t.runProgram(ctx, run)
		if !errors.Is(r.Err, program.ErrShort) {
			run.lacks.Store(nil)
			return r
		}
		if run.lacks.Load() == nil {
			t.log.Warn().Stringer("instance", run.entry.Instance).Str("activity", string(run.entry.Activity)).
				Str("program", string(run.call.Program)).Err(r.Err).Msg("the program cannot start now and is tried again; this does not count as an attempt")
		}
		lacks := "program " + string(run.call.Program) + " cannot start and is tried again: " + r.Err.Error()
		run.lacks.Store(&lacks)
		if !t.of.pause(ctx, pause) {
			return r
		}
	}
}

// pause waits, and says whether there is still something to wait for: the program was
// not ended early, and the node does not stop.
func (x *Execution) pause(ctx context.Context, d time.Duration) bool {
	ctx, cancel := x.Scheduler.WithCancel(ctx)
	defer cancel()
	defer x.Scheduler.AfterEnd(x.Begins, cancel)()
	return task.Sleep(ctx, x.Scheduler, d) == nil
}
