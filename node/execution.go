package node

import (
	"context"
	"fmt"
	"slices"
	"time"

	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/message"
	"fmqm/node/execute"
	"fmqm/processtable"
	"fmqm/program"
	"fmqm/queue/record"
)

// What process threads and activity threads (package execute) use of the node.

var _ execute.Site = site{}

// Program is what is registered now under a name.
func (s site) Program(id processtable.ProgramID) (program.Entry, bool) {
	return s.registry().Lookup(id)
}

// Concurrency of a program that is not registered is 1: its attempts fail at once.
// While room on the disk is low nothing is invoked (S3).
func (s site) Concurrency(id processtable.ProgramID) int {
	if s.pressure.low.Load() {
		return 0
	}
	if e, ok := s.registry().Lookup(id); ok {
		return e.Concurrency
	}
	return 1
}

// CheckSize holds a container to the node's limit.
func (s site) CheckSize(c *container.Struct) error { return s.checkSize(c) }

// HeldBy names the first of some nodes whose transmission queue is at its quota.
func (s site) HeldBy(to []processtable.NodeID) (processtable.NodeID, bool) {
	return s.pressure.heldBy(to)
}

// Subprocess finds the process of which an activity here begins an instance: without a version, as a
// client's start does.
func (s site) Subprocess(c processtable.Child) (behaviour.Process, error) {
	id := processtable.ProcessID(c)
	t := s.thread(id)
	if c.Version == 0 {
		t, _ = s.current(c.Name)
	}
	switch {
	case t == nil:
		return nil, fmt.Errorf("no table of %s at %s: %supload it with fmqm-define upload, and retry", id, s.name, s.meant(context.Background(), id))
	case s.queue.IsRetired(t.ID()):
		return nil, fmt.Errorf("%s is retired at %s: name another version in a new one of the process that begins it%s, and retry", t.ID(), s.name, s.orUndo(t.ID()))
	case !t.Process().Table().IsStart():
		return nil, fmt.Errorf("%s may not be started at %s, only at %s: add %s to the `starts` of a new version of %s, and retry",
			t.ID(), s.name, join(t.Process().Table().Starts), s.name, c.Name)
	}
	return t.Process(), nil
}

// FullFor names a peer that a process needs, and whose transmission queue is at its quota.
func (s site) FullFor(t *processtable.Table) (processtable.NodeID, bool) {
	return s.pressure.fullFor(t)
}

// RefusedTaken tells who answers that refused messages are there no more.
func (s site) RefusedTaken(numbers []uint64) { s.answers.Settled(numbers) }

// Written counts what a thread's transaction has put on disk, and tells who observes or waits.
func (s site) Written(tx *record.Tx, of message.InstanceID) {
	s.setAside.Add(uint64(len(tx.Refuse)))
	s.postbox.Written(tx)
	s.retain.Iterated(tx)
	s.observe(tx)
	s.answers.Changed(of, decisive(tx))
}

// Answered tells who waits for a word how it was answered.
func (s site) Answered(e message.Entry, a message.Answer) { s.commands.Answered(e, a) }

// KeepEvents is how long events are kept here.
func (s site) KeepEvents() time.Duration { return s.limits.Load().keepEvents() }

// Fatal ends the node's work.
func (s site) Fatal(err error) { s.fatal(err) }

// checkSize holds a container to the node's limit, where that is below the language's.
func (n *Node) checkSize(c *container.Struct) error {
	limit := n.limits.Load().Container
	if limit <= 0 || limit >= container.MaxEncoded || c == nil {
		return nil
	}
	encoded, err := container.EncodeCBOR(c)
	if err != nil {
		return err
	}
	if len(encoded) > limit {
		return fmt.Errorf("the container has %d bytes, this node takes %d (limits.container)", len(encoded), limit)
	}
	return nil
}

// decisive reports whether an instance may not run any more after tx.
func decisive(tx *record.Tx) bool {
	return slices.ContainsFunc(tx.Audit, func(r record.AuditRecord) bool {
		return r.Event == record.EventEnded || r.Event == record.EventStopped || r.Event == record.EventInError
	})
}

func (n *Node) observe(tx *record.Tx) {
	if n.options.Observe == nil {
		return
	}
	for i := range tx.Audit {
		n.options.Observe(tx.Audit[i])
	}
}
