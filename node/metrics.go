package node

import (
	"slices"
	"time"

	"fmqm/link"
	"fmqm/node/execute"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/lane"
)

// Stats is what a node counts, for metrics. Counters begin at 0 with each start of the
// daemon. Counting costs the engine atomic additions only.
type Stats struct {
	Queue     queue.Stats
	Congested bool   // links do not accept: too much waits to be folded
	SpaceLow  bool   // room on the disk is low: no work is taken on (S3)
	SetAside  uint64 // messages set aside
	Absorbed  uint64 // messages dropped that came late for processes whose tables were removed
	Aside     int    // of them and earlier ones, what is there now
	Counted   bool   // what the store had at open is counted: Aside and Stored hold
	Processes []ProcessStats
	Programs  []ProgramStats
	Peers     []PeerStats
	Parked    map[processtable.ProcessID]int // messages that wait for their process's table
	Offered   int                            // work items, and notices, of this node's worklists that nobody has
	Claimed   int                            // those that somebody has
}

// What was counted of one process, and of one program, at this node.
type (
	ProcessStats = execute.ProcessStats
	ProgramStats = execute.ProgramStats
)

// PeerStats is what waits for one peer, and the state of its link.
type PeerStats struct {
	Peer      processtable.NodeID
	State     link.State
	LastHeard time.Time // zero: never since the start
	Connects  uint64    // times that the link became connected
	Repeats   uint64    // messages, or parts of one, that came and had come before
	Waiting   lane.Stats
	Full      bool // so much waits that nothing more is begun that sends there (S3)
}

// Stats gives what was counted since the start, and how much waits now. It reads the
// oldest message of each transmission queue, and waits for no thread.
func (n *Node) Stats() (Stats, error) {
	s := Stats{
		Queue: n.queue.Stats(), Congested: n.queue.Congested(), SpaceLow: n.pressure.low.Load(),
		SetAside: n.setAside.Load(), Absorbed: n.absorbed.Load(), Parked: n.queue.Parked(),
	}
	s.Aside, s.Counted = n.queue.RefusedCount()
	items, offered := n.desk.Counts()
	s.Offered, s.Claimed = offered, items-offered
	for _, t := range n.threads() {
		p := t.Stats()
		p.Stored, _ = n.queue.Depth(p.Process)
		s.Processes = append(s.Processes, p)
	}
	s.Programs = n.execution.ProgramStats()
	peers := n.peers()
	for _, peer := range n.queue.Peers() {
		if !slices.Contains(peers, peer) {
			peers = append(peers, peer)
		}
	}
	for _, peer := range peers {
		waiting, err := n.queue.Transmission(peer).Stats()
		if err != nil {
			return Stats{}, err
		}
		p := PeerStats{Peer: peer, State: link.StateUnconfigured, Waiting: waiting, Full: n.pressure.isFull(peer)}
		if l := n.Link(peer); l != nil {
			status := l.Status()
			p.State, p.LastHeard = status.State, status.LastHeard
			p.Connects, p.Repeats = status.Connects, status.Repeats
		}
		s.Peers = append(s.Peers, p)
	}
	return s, nil
}

// isFull says whether a transmission queue was found at its quota, and is still full.
func (p *pressure) isFull(peer processtable.NodeID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.full[peer]
}
