package fleet

import (
	"context"
	"strings"
	"syscall"

	"fmqm/api"
)

// Link is how the site sees its link to a peer; empty where it has none, or does not answer.
func (s *Site) Link(ctx context.Context, peer string) api.Link {
	a, err := s.Client.Links(ctx)
	if err != nil {
		return api.Link{}
	}
	for _, l := range a.Links {
		if l.Peer == peer {
			return l
		}
	}
	return api.Link{}
}

// Reload has the site read its configuration again, and waits for that.
func (s *Site) Reload(ctx context.Context) {
	s.t.Helper()
	const done = "configuration taken up"
	before := strings.Count(s.Log(), done)
	s.Signal(syscall.SIGHUP)
	s.fleet.Until(ctx, s.Name+" takes up its configuration", func() bool { return strings.Count(s.Log(), done) > before })
}
