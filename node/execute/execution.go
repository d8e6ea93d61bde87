package execute

import (
	"context"
	"runtime"
	"time"

	"github.com/rs/zerolog"

	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/instancetable"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/node/logs"
	"fmqm/node/thread"
	"fmqm/processtable"
	"fmqm/program"
	"fmqm/queue"
	"fmqm/queue/record"
)

// Execution is what the threads of a site have in common. Its methods are safe for concurrent use.
type Execution struct {
	Options
	// Judging has a place for each who evaluates conditions that may take long. Tests take them all.
	Judging *task.Places

	slots  *slots
	cache  *instancetable.Budget
	meters programMeters
}

// Options make an Execution. All are to be set.
type Options struct {
	Self      processtable.NodeID
	Site      Site
	Queue     *queue.Manager
	Scheduler task.Scheduler
	Log       zerolog.Logger
	Logs      Logs

	CacheEntries int    // entries in memory, of all process queues together, beyond those in execution
	CacheBytes   int    // and their bytes
	Seed         uint64 // of a hash of what the process threads have evicted

	Running context.Context // ends when programs are to end
	Begins  context.Context // ends when no program is to begin any more; ends with Running
}

// Site is the node whose threads they are. Its methods do not wait.
type Site interface {
	// Program is what is registered now under a name; false: nothing.
	Program(processtable.ProgramID) (program.Entry, bool)
	// Concurrency is how many attempts of a program may run at once now. It is called under a
	// lock, and must call nothing of this package.
	Concurrency(processtable.ProgramID) int
	// CheckSize holds a container to the node's limit.
	CheckSize(*container.Struct) error
	// HeldBy names a peer whose transmission queue is at its quota, and into which an activity
	// would send, of an instance of that origin (S3).
	HeldBy(to []processtable.NodeID) (processtable.NodeID, bool)

	// Subprocess is the process of which an activity here begins an instance, or why it cannot (N19).
	Subprocess(processtable.Child) (behaviour.Process, error)
	// FullFor names a peer that a process needs, and whose transmission queue is at its quota (S3).
	FullFor(*processtable.Table) (processtable.NodeID, bool)

	// RefusedTaken is told that refused messages were taken out, before the thread is told; Written of
	// a thread's transaction, after it. Both are on disk, and the committer calls.
	RefusedTaken(numbers []uint64)
	Written(tx *record.Tx, of message.InstanceID)
	// Answered is told how a word that lay in an entry was answered, once that is on disk.
	Answered(message.Entry, message.Answer)
	// Inquire asks the node's staff whether people may have a work item of a process (N27), and Show is told how one is now.
	Inquire(behaviour.Process, *thread.Inquire) thread.Found
	Show(behaviour.Process, *thread.Show)
	// People names those who see a notice now, for its program; it may take some milliseconds.
	People(behaviour.Process, message.Entry, *behaviour.Item) string
	// KeepEvents is how long events are kept here, unless who sends one says so (N24).
	KeepEvents() time.Duration
	// Fatal is told of an error that ends the node's work.
	Fatal(error)
}

// Logs keep what programs have written. *logs.Logs is it. Its methods do not wait.
type Logs interface {
	Limit() int // how many bytes of one attempt are kept
	Keep(logs.Attempt)
}

// maxRouting is how many empty activities of all processes are evaluated, or wait for a processor.
const maxRouting = 64

// New makes an Execution, which has no threads yet.
func New(o Options) *Execution {
	return &Execution{
		Options: o,
		Judging: task.NewPlaces(o.Scheduler, max(1, runtime.GOMAXPROCS(0)-1)), // a processor is left for everything else
		cache:   instancetable.NewBudget(o.CacheEntries, o.CacheBytes),
		slots: newSlots(func(id processtable.ProgramID) int {
			switch places := o.Site.Concurrency(id); {
			case id == thread.Routing:
				return maxRouting
			case (id == behaviour.Subprocess || id == behaviour.Begin) && places > 0: // none while room on the disk is low
				return maxSubprocesses
			default:
				return places
			}
		}),
	}
}

// LimitsChanged hands out the places that Concurrency has made free.
func (x *Execution) LimitsChanged() { x.slots.limitsChanged() }

// Close lets no more programs begin: the node is stopping.
func (x *Execution) Close() { x.slots.close() }

// ProgramStats gives what was counted of each program, by name.
func (x *Execution) ProgramStats() []ProgramStats { return x.meters.stats() }

// judge evaluates the conditions of a result. Where that may take long (behaviour.Evaluator) it
// waits for its turn, or for ctx. That is done off the process threads: of a program's result where
// it ran; of an empty activity's in an activity thread of its own, which takes a place as a program
// does; of a retry's where that is asked for, and so of a start's input. The process thread goes on
// meanwhile, and so do health checks, which ask it.
func (x *Execution) judge(ctx context.Context, b behaviour.Behaviour, r *behaviour.Result) (behaviour.Judgement, error) {
	if !b.Slow(r) {
		return b.Judge(r), nil
	}
	if err := x.Judging.Acquire(ctx); err != nil {
		return nil, err
	}
	defer x.Judging.Release()
	return b.Judge(r), nil
}
