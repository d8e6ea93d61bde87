package node

import (
	"context"
	"errors"
	"slices"
	"time"

	"fmqm/api"
	"fmqm/link"
	"fmqm/node/answer"
	"fmqm/processtable"
	"fmqm/queue"
)

// retryWait is how long an operator waits for the peer of a link that goes on.
const retryWait = 10 * time.Second

// RetryLink lets a stopped link go on, because an operator says that its cause is gone.
func (n *Node) RetryLink(ctx context.Context, name string) (api.Link, error) {
	peer := processtable.NodeID(name)
	l := n.Link(peer)
	switch {
	case n.isStopped():
		return api.Link{}, asAPI(queue.ErrStopped)
	case l == nil && slices.Contains(n.queue.Peers(), peer):
		return api.Link{}, api.Errorf(api.CodeRefused, "add it to the configuration, then reload", "%s has no way to %s: it is not in links.peers", n.name, name)
	case l == nil:
		return api.Link{}, api.Errorf(api.CodeNotFound, "see fmqm links", "%s has no peer %s", n.name, name)
	}
	before := l.Status()
	ctx, cancel := n.sched.WithTimeout(ctx, retryWait)
	defer cancel()
	now, err := l.Retry(ctx)
	switch {
	case errors.Is(err, link.ErrNotStopped):
		return api.Link{}, notStoppedAt(before)
	case err != nil:
		return api.Link{}, asAPI(err)
	}
	n.log.Info().Str("peer", name).Str("reason", before.Reason).Msg("operator let the stopped link go on")
	if now.State == link.StateStopped {
		return api.Link{}, api.Errorf(api.CodeRefused, "remove the cause, and retry", "the link to %s is stopped again: %s", name, now.Reason)
	}
	return *answer.LinkOf(now), nil
}

// notStoppedAt refuses to let a link go on that does.
func notStoppedAt(s link.Status) error {
	text := ""
	if s.Reason != "" {
		text = ": " + s.Reason
	}
	return api.Errorf(api.CodeRefused, "a link that is not stopped goes on by itself", "the link to %s is not stopped, it is %s%s", s.Peer, s.State, text)
}
