package fleet

import (
	"context"
	"time"
)

// Until asks again and again, until ok is true, err is not nil or ctx ends.
func Until(ctx context.Context, question func() (ok bool, err error)) error {
	pause := time.Millisecond
	for {
		ok, err := question()
		if err != nil || ok {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
		pause = min(2*pause, 100*time.Millisecond)
	}
}
