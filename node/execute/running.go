package execute

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"fmqm/behaviour"
	"fmqm/message"
	"fmqm/node/report"
	"fmqm/node/thread"
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
}

// executing is what a process thread publishes of the programs that run, for whoever asks:
// the rest of what is known of an activity is in the store, and nobody who asks holds up
// the thread. It is safe for concurrent use.
type executing struct {
	mu  sync.Mutex
	all map[message.Entry]*attempt
}

// attempt is one of a program, from its begin until what came of it is on disk.
type attempt struct {
	*invocation
	ended bool // the program has; what it gave is being written
}

func newExecuting() *executing { return &executing{all: map[message.Entry]*attempt{}} }

func (x *executing) begin(run *invocation) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.all[run.entry] = &attempt{invocation: run}
}

// end: the program has ended.
func (x *executing) end(e message.Entry) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if run := x.all[e]; run != nil {
		run.ended = true
	}
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

// told is what is told of an attempt.
func (a *attempt) told() report.Run {
	r := report.Run{Call: *a.call, Started: a.started, Ended: a.ended, Said: a.said.String()}
	if lacks := a.lacks.Load(); lacks != nil {
		r.Lacks = *lacks
	}
	return r
}
