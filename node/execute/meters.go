package execute

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"fmqm/node/thread"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// ProcessStats is what was counted of one process at this node.
type ProcessStats struct {
	Process    processtable.ProcessID
	Events     map[record.Event]uint64 // audit records that were committed; without those of Terminated
	Terminated uint64                  // instances that an operator terminated
	Stored     int                     // messages in the process queue
	InError    int                     // activities that wait for an operator; -1: not counted yet
	Absorbed   uint64                  // messages that were taken out since they can change nothing any more
	Entries    int                     // activities in memory
	Ready      int                     // of them, waiting for a free place of their program
	Running    int                     // activity threads
	Waiting    int                     // of them, those that wait for connectors, a pause, an operator: not for a transaction
	Attempts   uint64                  // activity threads that were started
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

// processMeter counts for one process thread. Its methods are safe for concurrent use.
type processMeter struct {
	events     [math.MaxUint8 + 1]atomic.Uint64 // by event: their numbers have gaps
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
func (p *processMeter) committed(tx *record.Tx) {
	for i := range tx.Audit {
		r := &tx.Audit[i]
		switch {
		case r.Event == record.EventStopped && r.Scope == "" && r.Activity == processtable.Sink:
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
	p.waiting.Store(int64(g.Waiting))
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

// programMeters count with a meter for each program: as many as tables name.
type programMeters struct{ all sync.Map } // processtable.ProgramID to *programMeter

func (m *programMeters) of(id processtable.ProgramID) *programMeter {
	if p, ok := m.all.Load(id); ok {
		return p.(*programMeter)
	}
	p, _ := m.all.LoadOrStore(id, &programMeter{})
	return p.(*programMeter)
}

// stats gives the counts of all, by name.
func (m *programMeters) stats() (all []ProgramStats) {
	m.all.Range(func(id, p any) bool {
		all = append(all, p.(*programMeter).stats(id.(processtable.ProgramID)))
		return true
	})
	slices.SortFunc(all, func(a, b ProgramStats) int { return cmp.Compare(a.Program, b.Program) })
	return all
}

func (p *processMeter) stats(id processtable.ProcessID) ProcessStats {
	s := ProcessStats{
		Process: id, Events: map[record.Event]uint64{},
		Terminated: p.terminated.Load(), Attempts: p.attempts.Load(),
		Entries: int(p.entries.Load()), Ready: int(p.ready.Load()), Running: int(p.running.Load()),
		Waiting: int(p.waiting.Load()), InError: int(p.inError.Load()), Absorbed: p.absorbed.Load(),
	}
	for _, e := range record.Events() {
		s.Events[e] = p.events[e].Load()
	}
	return s
}
