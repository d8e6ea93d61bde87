package node

import (
	"sync"

	"fmqm/message"
	"fmqm/queue"
)

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

// written: a transaction is on disk. An entry whose program had ended goes on from there.
func (x *executing) written(tx *queue.Tx) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for i := range tx.Consume {
		if run := x.all[tx.Consume[i].Entry]; run != nil && run.ended {
			delete(x.all, tx.Consume[i].Entry)
		}
	}
}

// of gives the attempts of an instance.
func (x *executing) of(i message.InstanceID) map[message.Entry]attempt {
	x.mu.Lock()
	defer x.mu.Unlock()
	found := map[message.Entry]attempt{}
	for e, run := range x.all {
		if e.Instance == i {
			found[e] = *run
		}
	}
	return found
}
