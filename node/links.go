package node

import (
	"context"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"fmqm/api"
	"fmqm/link"
	"fmqm/processtable"
	"fmqm/queue"
)

// unconfigured is what to do about messages for a peer that nothing leads to.
const unconfigured = "messages wait for it, and it is not in links.peers: add it to the configuration, then reload"

// Links says how this node sees its links, and the broker that carries some of them.
func (n *Node) Links(context.Context) (api.LinksAnswer, error) {
	a := api.LinksAnswer{Broker: n.broker(), Links: []api.Link{}}
	peers := n.peers()
	for _, peer := range peers {
		if l := n.Link(peer); l != nil {
			a.Links = append(a.Links, *linkOf(l.Status()))
		}
	}
	for _, peer := range n.queue.Peers() {
		if slices.Contains(peers, peer) {
			continue
		}
		l, err := n.unlinked(peer)
		if err != nil {
			return api.LinksAnswer{}, asAPI(err)
		}
		a.Links = append(a.Links, *l)
	}
	return a, nil
}

// broker is the access to the broker, nil where there is none.
func (n *Node) broker() *api.Broker {
	if n.options.Broker == nil {
		return nil
	}
	b := n.options.Broker()
	if b.Address == "" {
		return nil
	}
	return &b
}

// linkOf is a link's status as the API tells it.
func linkOf(s link.Status) *api.Link {
	l := &api.Link{
		Peer: string(s.Peer), State: string(s.State), Reason: s.Reason, LastHeard: s.LastHeard,
		Waiting: s.Waiting, Bytes: s.Bytes, Oldest: s.Oldest, Transports: []api.Transport{}, Lanes: []api.Lane{},
	}
	for _, t := range s.Transports {
		l.Transports = append(l.Transports, api.Transport{
			Route: t.Route, State: string(t.State), Since: t.Since, Dialed: t.Dialed, Address: t.Address, Reason: t.Reason,
		})
	}
	slices.SortStableFunc(l.Transports, func(a, b api.Transport) int { return place(a.State) - place(b.State) })
	for i, lane := range s.Lanes {
		l.Lanes = append(l.Lanes, api.Lane{Lane: i, Next: lane.Next, Acknowledged: lane.Acknowledged, Expected: lane.Expected})
	}
	if s.Stop != nil {
		l.Stopped = int(s.Stop.Code)
	}
	if s.Presented != (queue.Incarnation{}) {
		l.Store = hex.EncodeToString(s.Presented[:])
	}
	return l
}

// place is where a way to a peer stands among others: the one that is used is first.
func place(state string) int {
	switch link.State(state) {
	case link.StateConnected:
		return 0
	case link.StateStandby:
		return 1
	case link.StateConnecting, link.StateWaiting, link.StateStopped, link.StateUnconfigured:
	}
	return 2
}

// retryWait is how long an operator waits for the peer of a link that goes on.
const retryWait = 10 * time.Second

// RetryLink lets a stopped link go on, because an operator says that its cause is gone.
func (n *Node) RetryLink(ctx context.Context, name string) (api.Link, error) {
	peer := processtable.NodeID(name)
	l := n.Link(peer)
	switch {
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
	return *linkOf(now), nil
}

// notStoppedAt refuses to let a link go on that does.
func notStoppedAt(s link.Status) error {
	text := ""
	if s.Reason != "" {
		text = ": " + s.Reason
	}
	return api.Errorf(api.CodeRefused, "a link that is not stopped goes on by itself", "the link to %s is not stopped, it is %s%s", s.Peer, s.State, text)
}

// unlinked is what waits for a peer to which there is no link.
func (n *Node) unlinked(peer processtable.NodeID) (*api.Link, error) {
	stats, err := n.queue.Transmission(peer).Stats()
	if err != nil {
		return nil, err
	}
	return &api.Link{
		Peer: string(peer), State: string(link.StateUnconfigured), Reason: unconfigured,
		Waiting: stats.Count, Bytes: stats.Bytes, Oldest: stats.Oldest, Transports: []api.Transport{}, Lanes: []api.Lane{},
	}, nil
}
