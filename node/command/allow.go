package command

import (
	"context"
	"fmt"

	"fmqm/api"
	"fmqm/message"
	"fmqm/node/trust"
	"fmqm/processtable"
)

// What an operator asks at one site and another one has to do is that site's to allow: a
// retry is the host's, a termination the origin's, a rebuilding of whoever has sent what was
// lost. The asking site says who its operator is, as its API has proved it; that is its word,
// so what is allowed is allowed to a site, and to operators as far as that is believed.

// SetRemote sets whose requests over links are taken from now on.
func (c *Commands) SetRemote(o trust.Operators) { c.remote.Store(&o) }

// Takes says whether requests of a peer's operator are taken; without a name, those of nobody in
// particular.
func (c *Commands) Takes(peer processtable.NodeID, operator string) bool {
	return c.remote.Load().Take(peer, operator)
}

// By says who commands at this node, for the history.
func (c *Commands) By(ctx context.Context) string {
	return message.OperatorAt(api.OperatorOf(ctx), c.Self)
}

// Order is what an operator at a peer wants of this node.
type Order struct {
	Peer     processtable.NodeID
	Operator string // as the peer has proved it; empty: it has not
	Command  string // such as "retry"
	What     string // of it, such as "activity x of instance y"
}

// By says who it is, for the history.
func (o *Order) By() string { return message.OperatorAt(o.Operator, o.Peer) }

// Allow says why an order is not carried out, or nil. What comes of it stands in the log.
func (c *Commands) Allow(o *Order) *api.Error {
	if o.Operator != "" && !api.ValidOperator(o.Operator) {
		return api.Errorf(api.CodeRefused, "ask at "+string(c.Self)+" itself", "%s gives its operator a name that cannot be one", o.Peer)
	}
	log := c.Log.Info()
	taken := c.Takes(o.Peer, o.Operator)
	if !taken {
		log = c.Log.Warn()
	}
	log = log.Str("by", o.By()).Str("peer", string(o.Peer)).Str("command", o.Command).Str("of", o.What)
	if taken {
		log.Msg("operator's command from another site")
		return nil
	}
	log.Msg("operator's command from another site refused: remote_operators does not allow it")
	return c.untaken(o)
}

// untaken says what to do where remote_operators does not take an order.
func (c *Commands) untaken(o *Order) *api.Error {
	if o.Operator == "" {
		return api.Errorf(api.CodeRefused, fmt.Sprintf("run it at %s (--to), or ask at %s over its socket or with an operator's certificate; if %s runs an older version, upgrade it", c.Self, o.Peer, o.Peer),
			"%s refuses %s from %s: %s did not say who asks", c.Self, o.Command, o.Peer, o.Peer)
	}
	return api.Errorf(api.CodeRefused, fmt.Sprintf("run it at %s (--to), or let its configuration say `remote_operators: [{site: %s, operators: [%q]}]`, and reload it", c.Self, o.Peer, o.Operator),
		"%s refuses %s from %s: its `remote_operators` does not allow it", c.Self, o.Command, o.By())
}
