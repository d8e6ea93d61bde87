package admission

import (
	"context"

	"github.com/rs/zerolog"

	"fmqm/behaviour"
	"fmqm/internal/task"
	"fmqm/link"
	"fmqm/message"
	"fmqm/node/command"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/record"
)

// Admission judges what the peers of a site send. Its methods are safe for concurrent use.
type Admission struct {
	Options
	arrivals arrivals
}

// Options make an Admission. All are to be set.
type Options struct {
	Self      processtable.NodeID
	Site      Site
	Tables    Tables
	Commands  Commands
	Events    Events
	Queue     *queue.Manager
	Scheduler task.Scheduler
	Log       zerolog.Logger
}

// Site is the node that the messages come to.
type Site interface {
	// Process is what the table of a process says; nil: it is not taken up here.
	Process(processtable.ProcessID) behaviour.Process
	// Commit submits a transaction, and waits for it, or for ctx.
	Commit(ctx context.Context, tx *record.Tx) error

	// WaitRoom blocks while room on the disk is low, or until ctx ends, and tells paused why.
	WaitRoom(ctx context.Context, paused func(reason string)) error
	// PeerQuota is that of what one peer has sent that nothing here takes up, in bytes; 0: none.
	PeerQuota() int64
	// Anew says whether others may know instances of this site that its store does not.
	Anew() bool
	// Absorbed is told how many messages were dropped that came late for a version whose table was removed. The committer
	// may call it.
	Absorbed(_ processtable.ProcessID, messages int)
	// Taken is told of each transaction once it is on disk. The committer may call it: it must
	// not block.
	Taken(tx *record.Tx)
}

// Tables says which process tables the site takes. *tables.Tables does.
type Tables interface {
	// Judge says whether a table may be stored, or be current at once, and makes it ready; isNew is false if it
	// is here.
	Judge(encoded []byte, now bool) (p behaviour.Process, isNew bool, err error)
	// Refused remembers why a table was not taken.
	Refused(id processtable.ProcessID, table []byte, why error)
	// Install takes up a table that is on disk. The committer may call it.
	Install(p behaviour.Process)
	// NowCurrent is told which versions are current that were not. The committer may call it.
	NowCurrent(...processtable.ProcessID)
}

// Commands are what operators of other sites command. *command.Commands are.
type Commands interface {
	// Takes says whether commands of a peer's operator are carried out here; without a name:
	// those of anybody there.
	Takes(peer processtable.NodeID, operator string) bool
	// Rule says what becomes of a word, or of the answer to one, that a peer has brought.
	Rule(peer processtable.NodeID, m *message.Message, beside int, claim func() (again bool, err error)) (command.Ruling, error)
}

// Events are what the site does with events. *events.Events are.
type Events interface {
	// JudgeEvent says what becomes of an event that a peer has brought: the message that is put, with its timer; or why it
	// is not taken. With neither it is a repeat.
	JudgeEvent(peer processtable.NodeID, m message.Message) (kept *message.Message, timer record.Timer, reason string, err error)
	// EventsFull says whether as many events are kept here as may be.
	EventsFull() bool
}

// New makes an Admission.
func New(o Options) *Admission { return &Admission{Options: o} }

// Inbox takes what the link to a peer brings.
func (a *Admission) Inbox(peer processtable.NodeID) link.Inbox {
	return &inbox{Admission: a, peer: peer}
}
