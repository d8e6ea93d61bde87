package task_test

import (
	"context"
	"testing"

	"fmqm/internal/task"
)

// One who waits in a loop, as the tasks on the way of every message do, allocates nothing.
func TestWaitingAllocatesNothing(t *testing.T) {
	var by task.Scheduler = task.Goroutines{}
	ctx, cancel := by.WithCancel(context.Background())
	defer cancel()
	first, second := by.Bell(), by.Bell()
	wakes := []task.Signal{first, second}
	if n := testing.AllocsPerRun(1000, func() {
		second.Ring()
		_, _ = by.Wait(ctx, wakes...)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
