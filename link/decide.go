package link

import (
	"context"
	"errors"
	"fmt"

	"fmqm/internal/task"
	"fmqm/link/core"
	"fmqm/queue/record"
)

// Decision is an operator's decision about a stopped link.
type Decision struct {
	// NewStore is the peer's new store, as Status presents it: it is known from now on,
	// and the conversation begins anew with it (Peers.Rebind). Zero: nothing is taken for
	// granted, and the link tries again, as after a restart of the daemon (Link.Retry).
	NewStore record.Incarnation
}

// ErrNotStopped: there is nothing to decide.
var ErrNotStopped = core.ErrNotStopped

// Decide lets a stopped link go on, without a restart of the daemon; what is still
// wrong stops it again. The peer, if it was refused, is told by the next hello. It
// blocks until the decision is on disk, or ctx ends: then it may still come into
// effect. A decision for a store that the peer did not present is refused.
func (l *Link) Decide(ctx context.Context, d Decision) error {
	done := task.NewAnswer[error](l.sched)
	l.do(func() { l.decide(d, done) })
	err, which, ended := done.Wait(ctx, l.quit)
	switch {
	case ended != nil:
		err = ended
	case which == 0:
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
		if which, err := l.sched.Wait(ctx, changed, l.quit); which != 0 || err != nil {
			return l.Status(), nil
		}
	}
}

// decide gives the core a decision; done hears what comes of it.
func (l *Link) decide(d Decision, done *task.Answer[error]) {
	l.lastDecision++
	l.deciders[l.lastDecision] = done
	l.step(core.Decide{ID: l.lastDecision, NewStore: d.NewStore})
}

// decided tells who decided. It looks at what has come of it.
func (l *Link) decided(e core.Decided) {
	l.publish()
	l.deciders[e.ID].Give(e.Err)
	delete(l.deciders, e.ID)
}

// resumed: a stopped link goes on, and is dialed as after a restart.
func (l *Link) resumed() {
	l.reason = ""
	for _, r := range l.routes {
		r.attempts, r.reason = 0, ""
		r.wake()
	}
}
