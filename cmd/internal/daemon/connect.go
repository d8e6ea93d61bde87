package daemon

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"fmqm/identity"
	"fmqm/internal/text"
	"fmqm/link"
	"fmqm/link/amqp"
	"fmqm/link/https"
	"fmqm/node/config"
	"fmqm/processtable"
)

// Found is what trying a link has shown: one sentence for people.
type Found struct {
	Link   string `json:"link"`  // broker, or the name of a peer
	Route  string `json:"route"` // direct or amqp
	Check  string `json:"check"` // what was tried
	Result Result `json:"result"`
	Text   string `json:"text"` // what was found, and what to do
}

// Result says how a try came out; the words are API.
type Result string

// The results.
const (
	ResultOK     Result = "ok"
	ResultLater  Result = "later" // nothing is wrong here: the other side has its part to do
	ResultFailed Result = "failed"
)

// Connect tries each link of a configuration, all at the same time and for at most limit
// each, and says what it found: the broker first, then the peers by name. The broker may
// get the queue that the daemon would make; else nothing is changed anywhere.
func Connect(ctx context.Context, c *config.Config, limit time.Duration) ([]Found, error) {
	id, err := openIdentity(c)
	if err != nil {
		return nil, err
	}
	tries := []func(context.Context) []Found{}
	if c.AMQP != nil {
		tries = append(tries, func(ctx context.Context) []Found { return tryBroker(ctx, c, id) })
	}
	names := make([]processtable.NodeID, 0, len(c.Peers))
	for name := range c.Peers {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if p := c.Peers[name]; p.Direct() {
			tries = append(tries, func(ctx context.Context) []Found { return []Found{tryPeer(ctx, name, p, id)} })
		}
	}
	found := make([][]Found, len(tries))
	var wg sync.WaitGroup
	for i, try := range tries {
		wg.Go(func() {
			ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %v", limit))
			defer cancel()
			found[i] = try(ctx)
		})
	}
	wg.Wait()
	return slices.Concat(found...), nil
}

// tryBroker tries all that links over the broker need, and looks for the peers there.
func tryBroker(ctx context.Context, c *config.Config, id *identity.Identity) []Found {
	o, err := BrokerOptions(c, id)
	if err != nil {
		return []Found{{Link: "broker", Route: link.RouteAMQP, Check: "options", Result: ResultFailed, Text: err.Error()}}
	}
	var out []Found
	judgeBroker(&o, id, func(text string) {
		out = append(out, Found{Link: "broker", Route: link.RouteAMQP, Check: "certificate", Result: ResultFailed, Text: text})
	})
	var peers []processtable.NodeID
	for name, p := range c.Peers {
		if p.OverAMQP() {
			peers = append(peers, name)
		}
	}
	slices.Sort(peers)
	for _, f := range amqp.Probe(ctx, o, peers...) {
		found := Found{Link: "broker", Route: link.RouteAMQP, Check: f.Check, Result: ResultOK, Text: f.Text}
		switch {
		case f.Later:
			found.Result = ResultLater
		case !f.OK:
			found.Result = ResultFailed
		}
		out = append(out, found)
	}
	return out
}

// expiresSoon is how long before its end a peer's certificate is spoken of.
const expiresSoon = 30 * 24 * time.Hour

// tryPeer calls a peer as a link would.
func tryPeer(ctx context.Context, name processtable.NodeID, p config.Peer, id *identity.Identity) Found {
	f := Found{Link: string(name), Route: link.RouteDirect, Check: "connection", Result: ResultOK}
	if p.Address == "" {
		f.Result, f.Text = ResultLater, fmt.Sprintf("no address is configured: site %s will call", name)
		return f
	}
	found, err := https.Probe(ctx, https.Peer{Address: p.Address, Name: name, Identity: id})
	switch {
	case ctx.Err() != nil:
		f.Result, f.Text = ResultFailed, fmt.Sprintf("%s: %v: it is frozen or overloaded, or a firewall drops what is sent", p.Address, context.Cause(ctx))
	case err != nil:
		f.Result, f.Text = ResultFailed, err.Error()
	case !found.Encrypted:
		f.Text = fmt.Sprintf("a daemon answers at %s in plain text: nothing proves which site it is", p.Address)
	default:
		f.Text = fmt.Sprintf("site %s answers at %s; its certificate is good until %s", name, p.Address, found.Expires.UTC().Format(time.DateOnly))
		if left := time.Until(found.Expires); left < expiresSoon {
			f.Text += ", so for " + text.Counted(int(left/(24*time.Hour)), "day", "days") + " only"
		}
	}
	return f
}

// Failures counts what did not work.
func Failures(found []Found) (n int) {
	for _, f := range found {
		if cmp.Or(f.Result, ResultFailed) == ResultFailed {
			n++
		}
	}
	return n
}
