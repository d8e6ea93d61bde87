package lane

import (
	"slices"
	"strings"
	"sync"

	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/commit"
	"fmqm/queue/prepare"
	"fmqm/queue/read"
	"fmqm/queue/record"
)

// Committer commits for the lanes. No method but Commit waits for the disk.
type Committer interface {
	// Empty gives a transaction with nothing in it.
	Empty() *prepare.Changes
	// Commit submits a transaction that Empty has given, and returns once it is on disk, or why
	// it is not.
	Commit(*prepare.Changes) error
	// Submit is Commit for who does not wait.
	Submit(*prepare.Changes)
	// Reads is recorded with the next commit, which it is a reason for.
	Reads(commit.Reads)
	// Trim goes with the next commit, or after a second (L4).
	Trim(commit.Trim)
}

// Config is what lanes need of the store that they are in.
type Config struct {
	Records    read.Records
	Scheduler  task.Scheduler
	Background *task.Group // of what reads beside the commits
	Committer  Committer
}

// Lanes are the lanes of one store. The methods are safe for concurrent use.
type Lanes struct {
	records    read.Records
	by         task.Scheduler
	background *task.Group
	committer  Committer

	registry struct {
		sync.RWMutex
		transmissions map[processtable.NodeID]*Transmission
	}

	// durable is what was accepted, and of whom, as far as it is on disk.
	durable struct {
		sync.Mutex
		accepted map[record.LaneKey]record.AcceptedAt
		incoming map[record.LaneKey]record.Incoming
		peers    map[processtable.NodeID]record.Incarnation
	}
}

// Keeper is Lanes for the manager, who loads them and tells them what is on disk.
type Keeper struct{ *Lanes }

// New gives lanes of which nothing is known yet.
func New(c Config) Keeper {
	l := &Lanes{records: c.Records, by: c.Scheduler, background: c.Background, committer: c.Committer}
	l.registry.transmissions = map[processtable.NodeID]*Transmission{}
	l.durable.accepted = map[record.LaneKey]record.AcceptedAt{}
	l.durable.incoming = map[record.LaneKey]record.Incoming{}
	l.durable.peers = map[processtable.NodeID]record.Incarnation{}
	return Keeper{l}
}

// Transmission gives the transmission queue for peer, also if nothing was ever sent there.
func (l *Lanes) Transmission(peer processtable.NodeID) *Transmission {
	l.registry.RLock()
	t := l.registry.transmissions[peer]
	l.registry.RUnlock()
	if t != nil {
		return t
	}
	l.registry.Lock()
	defer l.registry.Unlock()
	if t = l.registry.transmissions[peer]; t == nil {
		t = &Transmission{of: l, peer: peer, wake: l.by.Bell(), reads: message.Before()}
		l.registry.transmissions[peer] = t
	}
	return t
}

// Peers gives the nodes whose transmission queue is not empty, by name.
func (l *Lanes) Peers() []processtable.NodeID {
	l.registry.RLock()
	defer l.registry.RUnlock()
	var peers []processtable.NodeID
	for peer, t := range l.registry.transmissions {
		if count, _ := t.Size(); count > 0 {
			peers = append(peers, peer)
		}
	}
	slices.SortFunc(peers, func(a, b processtable.NodeID) int { return strings.Compare(string(a), string(b)) })
	return peers
}

// Publish shows what is on disk now, before anybody is told.
func (k Keeper) Publish(f *commit.Facts) {
	for i := range f.Lanes {
		lane := &f.Lanes[i]
		t := k.Transmission(lane.Peer)
		t.mu.Lock()
		t.ends, t.apart, t.reads = lane.Ends, lane.Apart, lane.Reads
		t.mu.Unlock()
	}
	if len(f.Accepted)+len(f.Peers) == 0 {
		return
	}
	k.durable.Lock()
	defer k.durable.Unlock()
	for i := range f.Accepted {
		a := &f.Accepted[i]
		k.durable.accepted[a.LaneKey] = a.At
		if a.Incoming != nil {
			k.durable.incoming[a.LaneKey] = *a.Incoming
		}
	}
	for _, b := range f.Peers {
		k.durable.peers[b.Peer] = b.Incarnation
	}
}

// Report wakes the readers of lanes that have changed, and begins what is to be moved next.
func (k Keeper) Report(f *commit.Facts) {
	for i := range f.Lanes {
		k.Transmission(f.Lanes[i].Peer).wake.Ring()
	}
	for _, m := range f.Moves {
		k.move(m)
	}
}
