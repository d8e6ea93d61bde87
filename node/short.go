package node

import (
	"context"
	"errors"
	"time"

	"fmqm/internal/task"
	"fmqm/program"
)

// Pauses between tries to start a program on a machine that is short of files, processes
// or memory.
const (
	shortPause    = 250 * time.Millisecond
	shortPauseMax = 30 * time.Second
)

// whileShort runs the program. A try on a machine that is short of what every program
// needs is no attempt: it is repeated, with growing pauses, and the activity is ready
// meanwhile. It keeps its place: the next one would fare no better.
func (t *processThread) whileShort(ctx context.Context, run *invocation) program.Result {
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
		if !t.node.pause(ctx, pause) {
			return r
		}
	}
}

// pause waits, and says whether there is still something to wait for: the program was
// not ended early, and the node does not stop.
func (n *Node) pause(ctx context.Context, d time.Duration) bool {
	ctx, cancel := n.sched.WithCancel(ctx)
	defer cancel()
	defer n.sched.AfterEnd(n.begins, cancel)()
	return task.Sleep(ctx, n.sched, d) == nil
}
