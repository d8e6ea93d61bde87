package daemon

import (
	"errors"
	"syscall"
	"time"

	"fmqm/api"
	"fmqm/internal/store/badger"
)

// letGo is how long somebody who opens a store or a listener waits for who holds it.
var letGo = 2 * time.Second

// UntilFree opens what another process may hold: a store, a socket, a port. A daemon that
// was killed while it started a program leaves them, for some milliseconds, to the process
// that was about to become that program: between fork and exec it has all that the daemon
// had. Whoever starts the daemon again at once waits for it, at most 2 s.
func UntilFree[T any](open func() (T, error)) (T, error) {
	again := time.NewTicker(10 * time.Millisecond) // nothing says when it is free
	defer again.Stop()
	for end := time.Now().Add(letGo); ; <-again.C {
		v, err := open()
		held := errors.Is(err, badger.ErrLocked) || errors.Is(err, api.ErrAnswered) || errors.Is(err, syscall.EADDRINUSE)
		if !held || time.Now().After(end) {
			return v, err
		}
	}
}
