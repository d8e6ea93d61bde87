package node

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"fmqm/link"
	"fmqm/node/thread"
	"fmqm/processtable"
	"fmqm/queue"
)

// Stats is what a node counts, for metrics. Counters begin at 0 with each start of the
// daemon. Counting costs the engine atomic additions only.
type Stats struct {
	Queue     queue.Stats
	Congested bool   // links do not accept: too much waits to be folded
	SpaceLow  bool   // room on the disk is low: no work is taken on (S3)
	SetAside  uint64 // messages set aside
	Aside     int    // of them and earlier ones, what is there now
	Counted   bool   // what the store had at open is counted: Aside and Stored hold
	Processes []ProcessStats
	Programs  []ProgramStats
	Peers     []PeerStats
	Parked    map[processtable.ProcessID]int // messages that wait for their process's table
}

// ProcessStats is what was counted of one process at this node.
type ProcessStats struct {
	Process    processtable.ProcessID
	Events     map[queue.Event]uint64 // audit records that were committed; without those of Terminated
	Terminated uint64                 // instances that an operator terminated
	Stored     int                    // messages in the process queue
	InError    int                    // activities that wait for an operator; -1: not counted yet
	Absorbed   uint64                 // messages that were taken out since they can change nothing any more
	Entries    int                    // activities in memory
	Ready      int                    // of them, waiting for a free place of their program
	Running    int                    // activity threads
	Waiting    int                    // of those in memory the others: they wait for connectors, a pause, an operator
	Attempts   uint64                 // activity threads that were started
}

// ProgramStats is what was counted of one program at this node.
type ProgramStats struct {
	Program   processtable.ProgramID
	Succeeded uint64 // attempts with return code 0
	Nonzero   uint64 // attempts with another one
	Failed    uint64 // attempts without one: not started, killed, over time, no container
	Seconds   float64
	Buckets   map[float64]uint64 // attempts that took at most so many seconds
}

// PeerStats is what waits for one peer, and the state of its link.
type PeerStats struct {
	Peer      processtable.NodeID
	State     link.State
	LastHeard time.Time // zero: never since the start
	Connects  uint64    // times that the link became connected
	Repeats   uint64    // messages, or parts of one, that came and had come before
	Waiting   queue.TransmissionStats
	Full      bool // so much waits that nothing more is begun that sends there (S3)
}

// processMeter counts for one process thread. Its methods are safe for concurrent use.
type processMeter struct {
	events     [queue.EventDropped + 1]atomic.Uint64
	terminated atomic.Uint64
	attempts   atomic.Uint64
	running    atomic.Int64
	entries    atomic.Int64
	ready      atomic.Int64
	waiting    atomic.Int64
	inError    atomic.Int64
	absorbed   atomic.Uint64
}

// committed counts what a transaction of the thread has made history.
func (p *processMeter) committed(tx *queue.Tx) {
	for i := range tx.Audit {
		r := &tx.Audit[i]
		switch {
		case r.Event == queue.EventStopped && r.Activity == processtable.Sink:
			p.terminated.Add(1)
		case int(r.Event) < len(p.events):
			p.events[r.Event].Add(1)
		}
	}
}

// note takes down how much the machine holds, after each turn of its thread.
func (p *processMeter) note(g thread.Gauges) {
	p.ready.Store(int64(g.Ready))
	p.entries.Store(int64(g.Entries))
	p.waiting.Store(int64(max(0, g.Entries-g.Ready-g.Running)))
	p.inError.Store(int64(g.InError))
	p.absorbed.Store(g.Absorbed)
}

// programBuckets are the upper bounds, in seconds, into which attempts are sorted.
var programBuckets = [...]float64{0.001, 0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 300, 1800}

// programMeter counts the attempts of one program.
type programMeter struct {
	succeeded, nonzero, failed atomic.Uint64
	nanoseconds                atomic.Int64
	buckets                    [len(programBuckets) + 1]atomic.Uint64
}

// ended counts an attempt that took so long.
func (p *programMeter) ended(rc int64, failed bool, took time.Duration) {
	switch {
	case failed:
		p.failed.Add(1)
	case rc != 0:
		p.nonzero.Add(1)
	default:
		p.succeeded.Add(1)
	}
	took = max(took, 0) // the clock may have been set back
	p.nanoseconds.Add(int64(took))
	at, _ := slices.BinarySearch(programBuckets[:], took.Seconds())
	p.buckets[at].Add(1)
}

// stats gives the counts, buckets cumulated.
func (p *programMeter) stats(id processtable.ProgramID) ProgramStats {
	s := ProgramStats{
		Program: id, Succeeded: p.succeeded.Load(), Nonzero: p.nonzero.Load(), Failed: p.failed.Load(),
		Seconds: time.Duration(p.nanoseconds.Load()).Seconds(), Buckets: map[float64]uint64{},
	}
	var sum uint64
	for i, bound := range programBuckets {
		sum += p.buckets[i].Load()
		s.Buckets[bound] = sum
	}
	s.Buckets[math.Inf(1)] = sum + p.buckets[len(programBuckets)].Load()
	return s
}

// meters is what a node counts with.
type meters struct {
	setAside atomic.Uint64
	programs sync.Map // processtable.ProgramID to *programMeter: as many as tables name
}

func (m *meters) program(id processtable.ProgramID) *programMeter {
	if p, ok := m.programs.Load(id); ok {
		return p.(*programMeter)
	}
	p, _ := m.programs.LoadOrStore(id, &programMeter{})
	return p.(*programMeter)
}

// Stats gives what was counted since the start, and how much waits now. It reads the
// oldest message of each transmission queue, and waits for no thread.
func (n *Node) Stats() (Stats, error) {
	s := Stats{
		Queue: n.queue.Stats(), Congested: n.queue.Congested(), SpaceLow: n.pressure.low.Load(),
		SetAside: n.meters.setAside.Load(), Parked: n.queue.Parked(),
	}
	s.Aside, s.Counted = n.queue.AsideCount()
	for _, t := range n.threads() {
		p := t.meter.stats(t.id())
		p.Stored, _ = n.queue.Stored(p.Process)
		s.Processes = append(s.Processes, p)
	}
	n.meters.programs.Range(func(id, p any) bool {
		s.Programs = append(s.Programs, p.(*programMeter).stats(id.(processtable.ProgramID)))
		return true
	})
	slices.SortFunc(s.Programs, func(a, b ProgramStats) int { return cmp.Compare(a.Program, b.Program) })
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

func (p *processMeter) stats(id processtable.ProcessID) ProcessStats {
	s := ProcessStats{
		Process: id, Events: map[queue.Event]uint64{},
		Terminated: p.terminated.Load(), Attempts: p.attempts.Load(),
		Entries: int(p.entries.Load()), Ready: int(p.ready.Load()), Running: int(p.running.Load()),
		Waiting: int(p.waiting.Load()), InError: int(p.inError.Load()), Absorbed: p.absorbed.Load(),
	}
	for e := queue.EventStarted; e <= queue.EventDropped; e++ {
		s.Events[e] = p.events[e].Load()
	}
	return s
}

// isFull says whether a transmission queue was found at its quota, and is still full.
func (p *pressure) isFull(peer processtable.NodeID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.full[peer]
}
