package answer

import (
	"time"

	"fmqm/api"
	"fmqm/behaviour"
	"fmqm/internal/task"
	"fmqm/link"
	"fmqm/message"
	"fmqm/node/logs"
	"fmqm/node/question"
	"fmqm/node/report"
	"fmqm/processtable"
	"fmqm/queue"
)

// Answers answers what people and peers ask of a node. Its methods are safe for concurrent use.
type Answers struct {
	Options
	changes  changes
	refusals refusals
}

// Options make Answers. All are to be set.
type Options struct {
	Self      processtable.NodeID
	Site      Site
	Queue     *queue.Manager
	Scheduler task.Scheduler
	// Logs finds what is kept here of what programs have written, and whether there is more.
	Logs func(logs.Query) ([]logs.Attempt, bool)
}

// Site is the node that answers. Its methods read nothing and wait for nothing, but for Query.
type Site interface {
	question.Carrier
	// Process is what the table of a process says; nil: it is not taken up here.
	Process(processtable.ProcessID) behaviour.Process
	Processes() []behaviour.Process // by name and version

	// Running gives the attempts of an instance's programs that are under way here, from their
	// begin until what came of them is on disk.
	Running(message.InstanceID) map[message.Entry]report.Run
	// Anew says whether the store is a new or an older one: what had ended may be missing in it.
	Anew() bool
	// DiskLow says why this node takes on nothing, where room on its disk is low; else nothing.
	DiskLow() string
	// Held says what keeps an activity that could run from running, or nothing.
	Held(row *processtable.Activity, to []processtable.NodeID) string

	Stopping() bool               // its links have ended, or will at once
	Peers() []processtable.NodeID // to which there are links, sorted
	// LinkTo says how the link to a peer is; false: there is none.
	LinkTo(peer processtable.NodeID) (link.Status, bool)
	// Broker tells of the access to the broker; nil: there is none.
	Broker() *api.Broker
}

// New makes Answers. It reads nothing.
func New(o Options) *Answers { return &Answers{Options: o} }

// Changed tells those who wait for an instance that something of it is on disk. Decisive: it may not
// run any more. It waits for nobody: the committer may call it.
func (a *Answers) Changed(id message.InstanceID, decisive bool) { a.changes.tell(id, decisive) }

// Settled: a transaction is on disk that has taken these out of the refused messages. Like Changed it
// waits for nobody.
func (a *Answers) Settled(numbers []uint64) { a.refusals.taken(numbers) }

// RefusedOf gives the refused messages of an instance that process threads here have set aside,
// the newest first, without their bodies.
func (a *Answers) RefusedOf(id message.InstanceID) ([]report.Refused, error) {
	return a.refusals.of(a.Queue, id)
}

// tableOf is the table of a process; nil: it is not here.
func (a *Answers) tableOf(id processtable.ProcessID) *processtable.Table {
	if p := a.Site.Process(id); p != nil {
		return p.Table()
	}
	return nil
}

// concerns says whether a peer has a part in a process of which the table is here.
func (a *Answers) concerns(peer processtable.NodeID, id processtable.ProcessID) bool {
	t := a.tableOf(id)
	return t != nil && t.HasPart(peer)
}

// lastHeard is when a peer was last heard; zero: never, or there is no link to it.
func (a *Answers) lastHeard(peer processtable.NodeID) time.Time {
	s, _ := a.Site.LinkTo(peer)
	return s.LastHeard
}
