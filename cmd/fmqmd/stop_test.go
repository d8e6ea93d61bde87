package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"fmqm/cmd/internal/cli"
)

// hanging is a daemon whose disk does not answer any more.
type hanging struct {
	asked chan context.Context
	never chan struct{}
}

func (h hanging) Stop(ctx context.Context) error {
	h.asked <- ctx
	<-h.never
	return nil
}

// TestEndsWithoutTheDisk: a daemon that cannot even be closed ends all the same: after a
// failed disk by itself once its time is over, else at a second signal.
func TestEndsWithoutTheDisk(t *testing.T) {
	for _, tc := range []struct {
		name  string
		cause error
		end   func(clock chan time.Time, signals chan os.Signal)
		want  string
	}{
		{"the time is over", errors.New("sync COMMITTED: input/output error"), func(clock chan time.Time, _ chan os.Signal) {
			clock <- time.Time{}
		}, "the disk does not answer: ended without it"},
		{"a signal after a failed disk", errors.New("sync COMMITTED: input/output error"), func(_ chan time.Time, signals chan os.Signal) {
			signals <- syscall.SIGHUP // not this one
			signals <- syscall.SIGTERM
		}, "stopped at once"},
		{"a second signal", nil, func(_ chan time.Time, signals chan os.Signal) {
			signals <- syscall.SIGINT
		}, "stopped at once"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			clock, signals, exited := make(chan time.Time), make(chan os.Signal), make(chan int, 1)
			h := hanging{asked: make(chan context.Context, 1), never: make(chan struct{})}
			defer close(h.never)
			var asked time.Duration
			e := ender{
				after: func(d time.Duration) <-chan time.Time { asked = d; return clock },
				exit:  func(code int) { exited <- code; runtime.Goexit() },
			}
			var text bytes.Buffer
			over := make(chan struct{})
			go func() {
				defer close(over)
				_ = e.stop(h, zerolog.New(&text), signals, tc.cause)
			}()
			ctx := <-h.asked
			if tc.cause != nil && (ctx.Err() == nil || asked != stopTimeout) {
				t.Errorf("a failed disk: stopped with %v, given up after %v", ctx.Err(), asked)
			}
			if tc.cause == nil && (ctx.Err() != nil || asked != 0) {
				t.Errorf("a graceful stop: stopped with %v, given up after %v", ctx.Err(), asked)
			}
			tc.end(clock, signals)
			if code := <-exited; code != cli.ExitFailed {
				t.Errorf("exit code %d", code)
			}
			<-over
			if !strings.Contains(text.String(), tc.want) {
				t.Errorf("log: %s", text.String())
			}
		})
	}
}
