package fleet

import (
	"context"
	"strings"
	"syscall"
	"testing"

	"fmqm/api"
	"fmqm/internal/faultnet"
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

// EverybodyOperates lets whoever operates one site ask another, through it, for what its own
// operators may ask.
const EverybodyOperates = "remote_operators: [{site: \"*\"}]\n"

// Peers names the peers of a site in its configuration, behind `links:`, and how each is
// reached; nil: by its address, over HTTP. A site that is alone has none.
func (f *Fleet) Peers(site string, how func(peer *Site) string) string {
	if len(f.o.Sites) == 1 {
		return "  peers: {}\n"
	}
	if how == nil {
		how = func(peer *Site) string { return "http://" + peer.Listen }
	}
	text := "  peers:\n"
	for _, peer := range f.o.Sites {
		if peer != site {
			text += "    " + peer + ": " + how(f.Sites[peer]) + "\n"
		}
	}
	return text
}

// DialAll has all sites dial each other directly; see Options.Links.
func DialAll(f *Fleet, site string) string {
	return EverybodyOperates + "links:\n" + f.Peers(site, nil)
}

// OverBroker says of a peer that it is reached over the broker; see [Fleet.Peers].
func OverBroker(*Site) string { return "{via: amqp}" }

// OverTLS says of a peer that it is reached by its address, over HTTPS; see [Fleet.Peers].
func OverTLS(peer *Site) string { return "https://" + peer.Listen }

// Wire puts a proxy before an address, on which all goes wrong that the test wants; it ends
// with the test.
func Wire(t *testing.T, to string) *faultnet.Proxy {
	t.Helper()
	wire, err := faultnet.Listen(to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = wire.Close() })
	return wire
}
