package link

import (
	"context"
	"errors"
	"fmt"

	"fmqm/queue"
)

// Decision is an operator's word about a stopped link.
type Decision struct {
	// NewStore is the peer's new store, as Status presents it: it is known from now on,
	// and the conversation begins anew with it (Peers.Rebind). Zero: nothing is taken for
	// granted, and the link tries again, as after a restart of the daemon (Link.Retry).
	NewStore queue.Incarnation
}

// ErrNotStopped: there is nothing to decide.
var ErrNotStopped = errors.New("the link is not stopped")

// Decide lets a stopped link go on, without a restart of the daemon; what is still
// wrong stops it again. The peer, if it was refused, is told by the next hello. It
// blocks until the decision is on disk, or ctx ends: then it may still come into
// effect. A decision for a store that the peer did not present is refused.
func (l *Link) Decide(ctx context.Context, d Decision) error {
	done := make(chan error, 1)
	if !l.do(func() { l.decide(d, done) }) {
		return fmt.Errorf("decide about site %s: the link is stopping", l.o.Peer)
	}
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		err = ctx.Err()
	case <-l.ctx.Done():
		err = errors.New("the link is stopping")
	}
	if err != nil {
		return fmt.Errorf("decide about site %s: %w", l.o.Peer, err)
	}
	return nil
}

// Retry lets a stopped link go on, by an operator's word that its cause is gone, and gives
// what has come of it: it is connected, or stopped again for what still holds, or, where
// ctx ends before either, on its way.
func (l *Link) Retry(ctx context.Context) (Status, error) {
	if err := l.Decide(ctx, Decision{}); err != nil {
		return Status{}, err
	}
	for {
		l.mu.Lock()
		state, changed := l.shown.State, l.changed
		l.mu.Unlock()
		if state == StateConnected || state == StateStopped {
			return l.Status(), nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return l.Status(), nil
		case <-l.ctx.Done():
			return l.Status(), nil
		}
	}
}

// decide waits until nothing of the conversation that ended is on its way to the disk.
func (l *Link) decide(d Decision, done chan<- error) {
	if l.core.Busy() || l.deciding {
		l.pending = append(l.pending, func() { l.decide(d, done) })
		return
	}
	presented := l.core.presented
	switch {
	case l.core.stopped == nil && l.core.refusal == nil:
		done <- ErrNotStopped
		return
	case d.NewStore == queue.Incarnation{}:
		done <- l.again()
		return
	case presented == queue.Incarnation{}:
		done <- fmt.Errorf("it is not stopped for a new store of site %s: %s", l.o.Peer, l.reason)
		return
	case presented != d.NewStore:
		done <- fmt.Errorf("site %s presents store %s, not %s", l.o.Peer, presented, d.NewStore)
		return
	}
	l.deciding = true
	l.spawn(func() {
		err := l.o.Peers.Rebind(d.NewStore)
		taken := l.do(func() {
			l.deciding = false
			if err == nil {
				err = l.again()
			}
			done <- err
			l.decidePending()
		})
		if !taken {
			done <- err
		}
	})
}

func (l *Link) decidePending() {
	if l.core.Busy() || l.deciding {
		return
	}
	pending := l.pending
	l.pending = nil
	for _, f := range pending {
		f()
	}
}

// again begins as after a restart, from what the store holds.
func (l *Link) again() error {
	now, err := l.config()
	if err != nil {
		return err
	}
	l.reason = ""
	for _, r := range l.routes {
		r.attempts = 0
		r.wake()
	}
	l.step(Decided{Now: now})
	l.publish() // who decided looks at what has come of it
	return nil
}
