package command

import (
	"context"
	"io"
	"strings"
	"sync/atomic"

	"github.com/rs/zerolog"

	"fmqm/api"
	"fmqm/behaviour"
	"fmqm/internal/task"
	"fmqm/link"
	"fmqm/message"
	"fmqm/node/question"
	"fmqm/node/report"
	"fmqm/node/thread"
	"fmqm/node/trust"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/record"
)

// Commands are what operators command at a site, and at others of it. Its methods are safe for
// concurrent use.
type Commands struct {
	Options
	// ReadsWords says whether a peer takes operators' words; nil: what its link says. Tests have
	// their own.
	ReadsWords func(peer processtable.NodeID) bool

	remote     atomic.Pointer[trust.Operators]
	waiting    waiting
	putting    putting
	suspending putting // by instance: two at once do not suspend, or lift, twice
	owed       owed
}

// Options make Commands. All but Remote and Random are to be set.
type Options struct {
	Self      processtable.NodeID
	Site      Site
	Tables    Tables
	Queue     *queue.Manager
	Scheduler task.Scheduler
	Log       zerolog.Logger
	Failed    task.Signal     // there once the node cannot go on
	Remote    trust.Operators // whose requests over links are taken; see SetRemote
	Random    io.Reader       // of words' identifiers; nil: crypto/rand
}

// Site is the node that operators command.
type Site interface {
	question.Carrier
	// Process is what the table of a process says; nil: it is not taken up here.
	Process(processtable.ProcessID) behaviour.Process
	// Gather asks the nodes of an instance how it stands: that of a process, if one is named.
	Gather(_ context.Context, _ message.InstanceID, process string) (*report.Gathered, error)
	// Anew says whether others may know instances of this site that its store does not.
	Anew() bool
	// LinkTo says how the link to a peer is; false: there is none.
	LinkTo(peer processtable.NodeID) (link.Status, bool)
	// Quota is that of a transmission queue, in bytes; 0: none.
	Quota() int64
	// Commit submits a transaction, and waits for it, or for ctx.
	Commit(ctx context.Context, tx *record.Tx) error

	// Judge lets the process thread of a process decide about a refused message.
	Judge(context.Context, processtable.ProcessID, thread.Verdict) (thread.Answer, error)
	// Misplaced says why a message that a peer has brought is not for here, or nothing.
	Misplaced(peer processtable.NodeID, m *message.Message) (string, error)
	// JudgeEvent says what becomes of an event that a peer has brought: the message that is put, with its timer; or why
	// it is not taken. With neither it is a repeat.
	JudgeEvent(peer processtable.NodeID, m message.Message) (kept *message.Message, timer record.Timer, reason string, err error)
	// RefusedOf gives the refused messages of an instance that process threads here have set
	// aside, the newest first.
	RefusedOf(message.InstanceID) ([]report.Refused, error)
	// Stored is told of a transaction that is on disk, about an instance: a word was asked of another
	// node, or a refused message is there no more. The committer may call it: it must not block.
	Stored(tx *record.Tx, of message.InstanceID)
}

// Tables are those of the site: *tables.Tables.
type Tables interface {
	// Judge says whether a table may be stored here, or be current at once, and makes it ready.
	Judge(encoded []byte, now bool) (p behaviour.Process, isNew bool, err error)
	// Install takes a table up that is stored.
	Install(behaviour.Process)
	// NowCurrent is told which versions are current that were not.
	NowCurrent(...processtable.ProcessID)
}

// New makes Commands. It reads nothing.
func New(o Options) *Commands {
	c := &Commands{Options: o}
	c.remote.Store(&o.Remote)
	return c
}

// concerns says whether a peer has a part in a process of which the table is here. Who has none
// is told of it what somebody is told where there is no table (invariant 11).
func (c *Commands) concerns(peer processtable.NodeID, id processtable.ProcessID) bool {
	p := c.Site.Process(id)
	return p != nil && p.Table().HasPart(peer)
}

// known gives the process that the nodes say an instance is of, if its table is here: what they
// say of it is held against that. Where there is none nothing is done by their word.
func (c *Commands) known(g *report.Gathered) (processtable.ProcessID, bool) {
	id, err := processtable.ParseProcessID(g.Process)
	return id, err == nil && c.Site.Process(id) != nil
}

// notKnown refuses a command where nobody who answered knows what it needs. Who did not
// answer may: then it is unreachable, else not found.
func (c *Commands) notKnown(g *report.Gathered, what, where string) *api.Error {
	if len(g.Unreachable) == 0 {
		return api.Errorf(api.CodeNotFound, where, "neither %s nor any node that it can ask knows instance %s", c.Self, what)
	}
	silent := make([]string, len(g.Unreachable))
	for i, u := range g.Unreachable {
		silent[i] = u.Node
	}
	return api.Errorf(api.CodeUnreachable, "try again when they are back; or "+where,
		"none of the nodes that answered knows %s; no answer from %s", what, strings.Join(silent, ", "))
}

func (c *Commands) noTable(process string) *api.Error {
	return api.Errorf(api.CodeNotFound, "", "no table of %s at %s", process, c.Self)
}
