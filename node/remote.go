package node

import (
	"cmp"
	"context"
	"fmt"

	"fmqm/api"
	"fmqm/message"
	"fmqm/processtable"
)

// What an operator asks at one site and another one has to do is that site's to allow: a
// retry is the host's, a termination the origin's, a rebuilding of whoever has sent what was
// lost. The asking site says who its operator is, as its API has proved it; that is its word,
// so what is allowed is allowed to a site, and to operators as far as that is believed.

// RemoteOperator says whose requests a node takes over its links (invariant 11).
type RemoteOperator struct {
	// Site is the name of the asking site, in which * stands for any characters.
	Site string
	// Operators are names as api.ValidOperator has them, with *; nil: whoever asks there, also
	// who has no name.
	Operators []string
}

func (r RemoteOperator) takes(site processtable.NodeID, operator string) bool {
	return allowed([]string{r.Site}, string(site)) && (r.Operators == nil || operator != "" && allowed(r.Operators, operator))
}

// SetRemoteOperators sets whose requests over links are accepted from now on.
func (n *Node) SetRemoteOperators(r []RemoteOperator) { n.remote.Store(&r) }

// takes says whether a request of an operator at a peer is taken. An empty name is nobody's.
func (n *Node) takes(peer processtable.NodeID, operator string) bool {
	for _, r := range *n.remote.Load() {
		if r.takes(peer, operator) {
			return true
		}
	}
	return false
}

// operatorAt says in words who has commanded something.
func operatorAt(operator string, site processtable.NodeID) string {
	return cmp.Or(operator, "an unnamed operator") + " at " + string(site)
}

// commander is who commands at this node, for the history.
func (n *Node) commander(ctx context.Context) string { return operatorAt(api.OperatorOf(ctx), n.name) }

// order is what an operator at a peer wants of this node.
type order struct {
	peer     processtable.NodeID
	operator string
	command  string // such as "retry"
	what     string // of it, such as "activity x of instance y"
}

// by is who it is, for the history.
func (o *order) by() string { return operatorAt(o.operator, o.peer) }

// obey says why an order is not carried out, or nil. What comes of it stands in the log.
func (n *Node) obey(o *order) error {
	if o.operator != "" && !api.ValidOperator(o.operator) {
		return api.Errorf(api.CodeRefused, "ask at "+string(n.name)+" itself", "%s gives its operator a name that cannot be one", o.peer)
	}
	log := n.log.Info()
	taken := n.takes(o.peer, o.operator)
	if !taken {
		log = n.log.Warn()
	}
	log = log.Str("by", o.by()).Str("peer", string(o.peer)).Str("command", o.command).Str("of", o.what)
	if taken {
		log.Msg("operator's command from another site")
		return nil
	}
	log.Msg("operator's command from another site refused: remote_operators does not allow it")
	return n.untaken(o)
}

// untaken says what to do where remote_operators does not take an order.
func (n *Node) untaken(o *order) error {
	if o.operator == "" {
		return api.Errorf(api.CodeRefused, fmt.Sprintf("run it at %s (--to), or ask at %s over its socket or with an operator's certificate; if %s runs an older version, upgrade it", n.name, o.peer, o.peer),
			"%s refuses %s from %s: %s did not say who asks", n.name, o.command, o.peer, o.peer)
	}
	return api.Errorf(api.CodeRefused, fmt.Sprintf("run it at %s (--to), or let its configuration say `remote_operators: [{site: %s, operators: [%q]}]`, and reload it", n.name, o.peer, o.operator),
		"%s refuses %s from %s: its `remote_operators` does not allow it", n.name, o.command, o.by())
}

// usurped says why a marker that a peer has brought is not taken, or nothing. Who ends an
// instance is decided where it was started. From another site a marker comes only where that
// runs an older version, and nobody proves who wanted it.
func (n *Node) usurped(peer processtable.NodeID, m *message.Message) (string, error) {
	if m.Kind != message.KindMarker {
		return "", nil
	}
	if peer != m.Origin && !n.takes(peer, "") {
		return fmt.Sprintf("%s wants to end an instance that was started at %s: terminate it there, or let `remote_operators` here take what %s asks without naming an operator", peer, m.Origin, peer), nil
	}
	v, err := n.queue.ViewInstance(m.Instance, m.Queue.Process, 1)
	if err != nil {
		return "", err
	}
	switch known := begunAt(&v); {
	case known != "" && known != string(m.Origin):
		return fmt.Sprintf("it says that its instance was started at %s, but it was started at %s", m.Origin, known), nil
	case known == "" && m.Origin == n.name:
		return fmt.Sprintf("it says that its instance was started at %s, but %s did not start it", n.name, n.name), nil
	}
	return "", nil
}

// strayNotice says why a notice is not taken, or nothing. It is for an instance that was started
// here, where its record waits at sink; without one it would lie there for ever, and count for
// nobody's quota. A store that is not this node's first may not know an instance yet that its
// client will start again (S4).
func (n *Node) strayNotice(m *message.Message) (string, error) {
	if m.Kind != message.KindNotice || n.anew.Load() {
		return "", nil
	}
	started, found, err := n.queue.Ended(message.Entry{Instance: m.Instance, Activity: processtable.Source})
	if err != nil || found && started.Process == m.Queue.Process {
		return "", err
	}
	return fmt.Sprintf("it tells of an error in an instance of %s that was started at %s, but %s did not start it", m.Queue.Process, n.name, n.name), nil
}

// otherMarker says why a marker is not put in the place of one that names another origin, or
// nothing. Until something else of the instance has come nobody here knows which is right:
// the first is not pushed aside by a guess, and the second is not lost if the first was one.
func (n *Node) otherMarker(m *message.Message) (string, error) {
	there, err := n.queue.Marker(m.Queue.Process, m.Instance)
	if err != nil || there == nil || there.Origin == m.Origin {
		return "", err
	}
	v, err := n.queue.ViewInstance(m.Instance, m.Queue.Process, 1)
	if err != nil || begunAt(&v) == string(m.Origin) {
		return "", err
	}
	return fmt.Sprintf("it says that its instance was started at %s, and a marker that came before says at %s: retry it once something of the instance has come", m.Origin, there.Origin), nil
}
