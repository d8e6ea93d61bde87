package ending_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"fmqm/internal/ending"
)

var errWorn = errors.New("worn out")

// Whoever stops something is told once it has ended, also where somebody else began.
func TestEveryCallWaitsForTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e ending.Ending
		release, ended := make(chan struct{}), 0
		answers := make(chan error, 3)
		for range 3 {
			go func() {
				answers <- e.Do(context.Background(), func(context.Context) error {
					<-release
					ended++
					return errWorn
				})
			}()
		}
		synctest.Wait()
		if len(answers) > 0 {
			t.Errorf("%d calls have returned before the end", len(answers))
		}
		close(release)
		for range 3 {
			if err := <-answers; !errors.Is(err, errWorn) || ended != 1 {
				t.Errorf("%v, ended %d times", err, ended)
			}
		}
		if err := e.Do(context.Background(), nil); !errors.Is(err, errWorn) {
			t.Errorf("after the end: %v", err)
		}
	})
}

// One who is in a hurry hurries the end that another has begun.
func TestAnyCallerCanBeInAHurry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e ending.Ending
		answers := make(chan error, 2)
		stop := func(ctx context.Context) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		go func() { answers <- e.Do(context.Background(), stop) }()
		synctest.Wait()
		ctx, hurry := context.WithCancelCause(context.Background())
		go func() { answers <- e.Do(ctx, stop) }()
		synctest.Wait()
		if len(answers) > 0 {
			t.Error("it ended, and nobody was in a hurry")
		}
		hurry(errWorn)
		for range 2 {
			if err := <-answers; !errors.Is(err, errWorn) {
				t.Errorf("got %v", err)
			}
		}
	})
}

// Who is in a hurry from the beginning is in a hurry.
func TestHurryFromTheBeginning(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var e ending.Ending
	err := e.Do(ctx, func(ctx context.Context) error { return ctx.Err() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
