package execute

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"fmqm/behaviour"
	"fmqm/message"
	"fmqm/node/logs"
	"fmqm/node/report"
	"fmqm/node/thread"
	"fmqm/processtable"
)

// invocation is one attempt of a program, under way.
type invocation struct {
	token     thread.Token
	entry     message.Entry
	behaviour behaviour.Behaviour
	call      *behaviour.Invoke
	started   time.Time
	end       context.CancelFunc     // ends the program early
	said      stderrTail             // what the program has said last
	lacks     atomic.Pointer[string] // why its program does not run yet; set by its activity thread
	ended     bool                   // the program has; what it gave is being written. executing guards it
}

// executing is what a process thread publishes of the programs that run, each from its begin until
// what came of it is on disk, for whoever asks: the rest of what is known of an activity is in the
// store, and nobody who asks holds up the thread. It is safe for concurrent use.
type executing struct {
	mu  sync.Mutex
	all map[message.Entry]*invocation
}

func newExecuting() *executing { return &executing{all: map[message.Entry]*invocation{}} }

func (x *executing) begin(run *invocation) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.all[run.entry] = run
}

// end: the program has ended.
func (x *executing) end(run *invocation) {
	x.mu.Lock()
	defer x.mu.Unlock()
	run.ended = true
}

// written: what an entry has come to is on disk. If its program had ended, it goes on from there.
func (x *executing) written(e message.Entry) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if run := x.all[e]; run != nil && run.ended {
		delete(x.all, e)
	}
}

// of gives the attempts of an instance.
func (x *executing) of(i message.InstanceID) map[message.Entry]report.Run {
	x.mu.Lock()
	defer x.mu.Unlock()
	found := map[message.Entry]report.Run{}
	for e, run := range x.all {
		if e.Instance == i {
			found[e] = run.told()
		}
	}
	return found
}

// told is what is told of it.
func (a *invocation) told() report.Run {
	r := report.Run{Call: *a.call, Started: a.started, Ended: a.ended, Said: a.said.String()}
	if lacks := a.lacks.Load(); lacks != nil {
		r.Lacks = *lacks
	}
	return r
}

// logs gives what the attempts of an instance have written that run.
func (x *executing) logs(process processtable.ProcessID, i message.InstanceID) (all []logs.Attempt) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for e, run := range x.all {
		if e.Instance == i && !run.ended {
			all = append(all, run.written(process, nil, time.Time{}))
		}
	}
	return all
}

// written is what an attempt has written, and how it ended; result is nil if it runs, or nothing came of it.
func (a *invocation) written(process processtable.ProcessID, result *behaviour.Result, ended time.Time) logs.Attempt {
	out := logs.Attempt{
		Instance: a.entry.Instance, Process: process.String(), Scope: a.entry.Scope, Activity: a.entry.Activity, Program: a.call.Program,
		Iteration: a.call.Iteration, Run: a.call.Run, Attempt: a.call.Attempt, Started: a.started, Ended: ended,
	}
	if result != nil {
		out.RC, out.Error = result.RC, result.Err
	}
	out.Text, out.Skipped = a.said.all()
	return out
}
