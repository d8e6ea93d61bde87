package node

import (
	"context"
	"maps"
	"slices"

	"fmqm/behaviour"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// Meet makes the link to a site that the configuration does not list, if Options.Unlisted
// knows how to reach it. The reason is that a table names the site, or that something is
// to be sent there. A call from the site is no reason: everybody with a certificate of
// the authority can call.
func (n *Node) Meet(peer processtable.NodeID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.meet(peer)
}

// meet is Meet; n.mu is held.
func (n *Node) meet(peer processtable.NodeID) {
	if !n.started || n.stopped || peer == n.name || n.links[peer] != nil {
		return
	}
	if p, ok := n.unlisted(peer); ok {
		n.addLink(peer, p)
	}
}

func (n *Node) unlisted(peer processtable.NodeID) (Peer, bool) {
	if n.options.Unlisted == nil {
		return Peer{}, false
	}
	return n.options.Unlisted(peer)
}

// meetAll meets every site that anything here is for; n.mu is held.
func (n *Node) meetAll() {
	for _, peer := range n.queue.Peers() {
		n.meet(peer)
	}
	for _, t := range n.sortedThreads() {
		n.meetOf(t.Process())
	}
}

// meetOf meets the sites of a process; n.mu is held.
func (n *Node) meetOf(p behaviour.Process) {
	for _, node := range p.Table().Nodes() {
		n.meet(node)
	}
}

// Ways says how peers are reached: those that the configuration lists, and others.
type Ways struct {
	Peers map[processtable.NodeID]Peer
	// Unlisted says how a site that is not in Peers is reached, or false; nil: not at all.
	// It must not block.
	Unlisted func(processtable.NodeID) (Peer, bool)
}

// setWays takes up how peers are reached now. Links that stay are told their routes, those
// to sites that cannot be reached any more are given back.
func (n *Node) setWays(w Ways) {
	n.mu.Lock()
	n.options.Peers, n.options.Unlisted = w.Peers, w.Unlisted
	var stay, gone []func()
	for _, peer := range slices.Sorted(maps.Keys(n.links)) {
		l := n.links[peer]
		p, ok := w.Peers[peer]
		if !ok {
			p, ok = n.unlisted(peer)
		}
		if ok {
			stay = append(stay, func() { l.SetRoutes(p.Routes) })
			continue
		}
		gone = append(gone, func() { _ = l.Stop(context.Background()) }) // for as long as it takes
		delete(n.links, peer)
	}
	if n.started && !n.stopped {
		n.addLinks()
	}
	n.mu.Unlock()
	n.tellReach()
	for _, f := range slices.Concat(stay, gone) {
		f()
	}
}

// addLinks makes the links that are missing; n.mu is held.
func (n *Node) addLinks() {
	for _, peer := range slices.Sorted(maps.Keys(n.options.Peers)) {
		if n.links[peer] == nil {
			n.addLink(peer, n.options.Peers[peer])
		}
	}
	n.meetAll()
}

// Reaches says whether what is put for a peer has a way, or will have.
func (s site) Reaches(peer processtable.NodeID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reaches(peer)
}

// reaches is Reaches; n.mu is held.
func (n *Node) reaches(peer processtable.NodeID) bool {
	if _, listed := n.options.Peers[peer]; listed {
		return true
	}
	_, ok := n.unlisted(peer)
	return ok
}

// ReachesAll says whether sites are reached that are not listed.
func (s site) ReachesAll() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.options.Unlisted != nil
}

// peers gives the names of the sites that there are links to, sorted.
func (n *Node) peers() []processtable.NodeID {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := make([]processtable.NodeID, 0, len(n.links))
	for p := range n.links {
		out = append(out, p)
	}
	slices.Sort(out)
	return out
}

// identity is what the store knows of a peer's incarnation (L1).
type identity struct {
	node *Node
	peer processtable.NodeID
}

func (i *identity) Known() (record.Incarnation, bool) { return i.node.queue.KnownIncarnation(i.peer) }

func (i *identity) Bind(inc record.Incarnation) error {
	return i.node.queue.BindIncarnation(i.peer, inc)
}

func (i *identity) Rebind(inc record.Incarnation) error {
	return i.node.queue.ReplaceIncarnation(i.peer, inc)
}

func (i *identity) Began() ([record.Lanes]record.Position, error) { return i.node.queue.Began(i.peer) }

// Begin is called where the peer has let go what another store of this node had confirmed.
func (i *identity) Begin(at [record.Lanes]record.Position) error {
	if err := i.node.rebuilds.MarkAnew(); err != nil {
		return err
	}
	return i.node.queue.BeginAccepted(i.peer, at)
}
