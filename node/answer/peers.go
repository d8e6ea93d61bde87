package answer

import (
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fmqm/api"
	"fmqm/internal/text"
	"fmqm/link"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// unconfigured is what to do about messages for a peer that nothing leads to.
const unconfigured = "messages wait for it, and it is not in links.peers: add it to the configuration, then reload"

// Links says how this node sees its links, and the broker that carries some of them.
func (a *Answers) Links() (api.LinksAnswer, error) {
	links, err := a.links()
	return api.LinksAnswer{Broker: a.Site.Broker(), Links: links}, err
}

// Nodes says how this node sees its peers.
func (a *Answers) Nodes() (api.NodesAnswer, error) {
	links, err := a.links()
	self := api.Node{Node: string(a.Self), State: api.NodeSelf, LastHeard: a.Scheduler.Now(), Broker: a.Site.Broker()}
	parked := a.Queue.Parked()
	for _, count := range parked {
		self.Waiting += uint64(count)
	}
	self.Reason = lacksTables(slices.SortedFunc(maps.Keys(parked), processtable.ProcessID.Compare))
	nodes := []api.Node{self}
	for i := range links {
		l := &links[i]
		nodes = append(nodes, api.Node{Node: l.Peer, State: l.State, LastHeard: l.LastHeard, Waiting: l.Waiting, Reason: l.Reason, Link: l})
	}
	return api.NodesAnswer{Nodes: nodes}, err
}

// lackNamed is how many processes are named for whose table messages wait: a peer can let some wait for many.
const lackNamed = 5

// lacksTables says that messages wait for the tables of processes, if they do.
func lacksTables(of []processtable.ProcessID) string {
	switch len(of) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("messages for %s wait here for its table: upload it", of[0])
	}
	var names []string
	for _, process := range of[:min(len(of), lackNamed)] {
		names = append(names, process.String())
	}
	if more := len(of) - len(names); more > 0 {
		names = append(names, text.Counted(more, "other process", "other processes"))
	}
	last := len(names) - 1
	return fmt.Sprintf("messages for %s and %s wait here for their tables: upload them", strings.Join(names[:last], ", "), names[last])
}

// links gives those that there are, and then what waits for peers to which there is none.
func (a *Answers) links() ([]api.Link, error) {
	links, peers := []api.Link{}, a.Site.Peers()
	for _, peer := range peers {
		if s, linked := a.Site.LinkTo(peer); linked { // else a reload has taken it away
			links = append(links, *LinkOf(s))
		}
	}
	for _, peer := range a.Queue.Peers() {
		if slices.Contains(peers, peer) {
			continue
		}
		l, err := a.unlinked(peer)
		if err != nil {
			return nil, err
		}
		links = append(links, *l)
	}
	return links, nil
}

// LinkOf is a link's status as the API tells it.
func LinkOf(s link.Status) *api.Link {
	l := &api.Link{
		Peer: string(s.Peer), State: string(s.State), Reason: s.Reason, LastHeard: s.LastHeard,
		Waiting: s.Waiting, Bytes: s.Bytes, Oldest: s.Oldest, Apart: s.Apart, Lacks: s.Lacks, Transports: []api.Transport{}, Lanes: []api.Lane{},
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
	if s.Presented != (record.Incarnation{}) {
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

// unlinked is what waits for a peer to which there is no link.
func (a *Answers) unlinked(peer processtable.NodeID) (*api.Link, error) {
	stats, err := a.Queue.Transmission(peer).Stats()
	if err != nil {
		return nil, err
	}
	return &api.Link{
		Peer: string(peer), State: string(link.StateUnconfigured), Reason: unconfigured,
		Waiting: stats.Count, Bytes: stats.Bytes, Oldest: stats.Oldest, Apart: stats.Apart, Lacks: stats.Lacks, Transports: []api.Transport{}, Lanes: []api.Lane{},
	}, nil
}
