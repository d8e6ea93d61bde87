package node_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fmqm/api"
	"fmqm/container"
	"fmqm/program"
)

// starved is a program that cannot be started until the machine is mended.
type starved struct {
	mended atomic.Bool
	tries  chan int // the number of the attempt, for each try
}

func (s *starved) Run(_ context.Context, c *program.Call) program.Result {
	select {
	case s.tries <- c.Attempt:
	default:
	}
	if !s.mended.Load() {
		return program.Result{Err: fmt.Errorf("%w: %w: raise it", program.ErrShort, unix.EMFILE)}
	}
	return program.Result{Output: container.New(c.OutputType)}
}

// A program that cannot be started because the machine is short of something waits, and
// is no attempt: `retried` has five, an hour apart. Why says it; then it runs.
func TestAShortageMakesAnAttemptWait(t *testing.T) {
	s := &starved{tries: make(chan int, 1)}
	n := nodeOf(t, s)
	upload(t, n, retried)
	id := begin(t, n, "retried")
	for range 3 {
		if attempt := <-s.tries; attempt != 1 {
			t.Fatalf("attempt %d", attempt)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	why, err := n.Why(ctx, id, "")
	if err != nil || len(why.Waits) != 1 || why.Waits[0].State != api.ActivityReady ||
		!strings.Contains(why.Waits[0].For, "program echo cannot start and is tried again: cannot be started now: too many open files: raise it") {
		t.Errorf("why: %+v, %v", why, err)
	}
	s.mended.Store(true)
	if st, err := n.Wait(ctx, id); err != nil || st.State != api.InstanceFinished || st.Activities[0].Attempts > 1 {
		t.Errorf("%v %+v", err, st)
	}
}

// An operator's terminate, and a stop of the node, do not wait for the machine.
func TestWhatWaitsForTheMachineCanBeEnded(t *testing.T) {
	s := &starved{tries: make(chan int, 1)}
	n := nodeOf(t, s)
	upload(t, n, retried)
	id, other := begin(t, n, "retried"), begin(t, n, "retried")
	<-s.tries
	<-s.tries
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if err := n.Terminate(ctx, id, ""); err != nil {
		t.Fatal(err)
	}
	for {
		st, err := n.Status(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		if st.State == api.InstanceTerminated && st.Activities[0].State == api.ActivityTerminated {
			break
		}
	}
	if err := n.Stop(ctx); err != nil {
		t.Errorf("stop, with %s waiting: %v", other, err)
	}
}
