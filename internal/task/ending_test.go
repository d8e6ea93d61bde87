package task_test

import (
	"context"
	"errors"
	"testing"

	"fmqm/internal/task"
)

var errWorn = errors.New("worn out")

// Whoever stops something is told once it has ended, also where somebody else began.
func TestEveryCallWaitsForTheEnd(t *testing.T) {
	both(t, func(t *testing.T, by task.Scheduler) {
		var e task.Ending
		release, ended, returned := by.Gate(), 0, task.NewQueue[error](by, 0)
		begun := by.Gate()
		stop := func(context.Context) error {
			begun.Open()
			_, err := by.Wait(context.Background(), release)
			ended++
			return errors.Join(err, errWorn)
		}
		for range 3 {
			by.Go(func() { returned.TryPut(e.Do(context.Background(), by, stop)) })
		}
		_, _ = by.Wait(context.Background(), begun)
		for range 10 {
			by.Pass()
		}
		if _, ok := returned.TryTake(); ok {
			t.Error("a call has returned before the end")
		}
		release.Open()
		for range 3 {
			if err, _ := returned.Take(context.Background()); !errors.Is(err, errWorn) || ended != 1 {
				t.Errorf("%v, ended %d times", err, ended)
			}
		}
		if err := e.Do(context.Background(), by, nil); !errors.Is(err, errWorn) {
			t.Errorf("after the end: %v", err)
		}
	})
}

// One who is in a hurry hurries the end that another has begun.
func TestAnyCallerCanBeInAHurry(t *testing.T) {
	both(t, func(t *testing.T, by task.Scheduler) {
		var e task.Ending
		begun, hurried, returned := by.Gate(), by.Gate(), task.NewQueue[error](by, 0)
		by.Go(func() {
			returned.TryPut(e.Do(context.Background(), by, func(ctx context.Context) error {
				begun.Open()
				_, err := by.Wait(ctx)
				if !hurried.IsOpen() {
					t.Error("it ended, and nobody was in a hurry")
				}
				return err
			}))
		})
		_, _ = by.Wait(context.Background(), begun)
		ctx, hurry := by.WithCancel(context.Background())
		by.Go(func() { returned.TryPut(e.Do(ctx, by, nil)) })
		for range 10 {
			by.Pass()
		}
		hurried.Open()
		hurry()
		for range 2 {
			if err, _ := returned.Take(context.Background()); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		}
	})
}

// Who is in a hurry from the beginning is in a hurry.
func TestHurryFromTheBeginning(t *testing.T) {
	both(t, func(t *testing.T, by task.Scheduler) {
		ctx, cancel := by.WithCancel(context.Background())
		cancel()
		var e task.Ending
		if err := e.Do(ctx, by, func(ctx context.Context) error { return ctx.Err() }); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}
