package node

import (
	"fmt"
	"time"

	"fmqm/api"
	"fmqm/instancetable"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue"
)

// A peer speaks of an instance that was started here, as it says (invariant 11). That it was
// is for this node to know: the start is in its audit queue before anything of the instance
// leaves it, and a small record of it stays for ever. So what names this node as the origin
// of an instance that was not started here waits, and nothing follows from it: no program
// runs, nothing is sent. It is not refused, since it may be true: a site that has lost its
// disk hears from its peers of instances that it knows no more, and goes on with them when
// their starts are repeated (N2, S4).

// Bounds of what a process thread remembers of starts; what it does not, the store says.
const (
	startsLimit    = 1 << 14 // instances in each of two generations
	unstartedLimit = 1 << 12
)

// starts are the instances whose start a process thread knows of.
type starts struct {
	young, old map[message.InstanceID]struct{}
	// unstarted are those of which something waits for it. With too many of them each that
	// is started may be one.
	unstarted map[message.InstanceID]struct{}
	many      bool
}

func newStarts() *starts {
	return &starts{young: map[message.InstanceID]struct{}{}, unstarted: map[message.InstanceID]struct{}{}}
}

// note: the instance is being started, or was.
func (s *starts) note(id message.InstanceID) {
	if len(s.young) >= startsLimit {
		s.old, s.young = s.young, map[message.InstanceID]struct{}{}
	}
	s.young[id] = struct{}{}
}

// forget: the start has failed.
func (s *starts) forget(id message.InstanceID) {
	delete(s.young, id)
	delete(s.old, id)
}

// known says that an instance was started, or is being started and nothing has waited for
// that. False says nothing.
func (s *starts) known(id message.InstanceID) bool {
	_, young := s.young[id]
	_, old := s.old[id]
	return (young || old) && !s.awaited(id)
}

// await: something of the instance waits for its start.
func (s *starts) await(id message.InstanceID) {
	if s.many = s.many || len(s.unstarted) >= unstartedLimit; !s.many {
		s.unstarted[id] = struct{}{}
	}
}

// awaited says whether something of an instance may wait for its start.
func (s *starts) awaited(id message.InstanceID) bool {
	_, waits := s.unstarted[id]
	return waits || s.many
}

// browse: all that waits is found again.
func (s *starts) browse() {
	s.unstarted, s.many = map[message.InstanceID]struct{}{}, false
}

// started says whether the instance of an entry was started where its messages say, as far
// as that is for this node to know. An entry that has a message of its own, or is to be
// ended by an operator's word, goes on: whatever let it begin is in the store.
func (c *core) started(e *instancetable.Entry, origin processtable.NodeID) bool {
	id, s := e.Key.Instance, e.State
	if origin != c.self || e.Started || s.Stopped || s.Record != nil || s.Snapshot != nil {
		return true
	}
	if e.Started = c.starts.known(id); e.Started {
		return true
	}
	_, found, err := c.store.Ended(message.Entry{Instance: id, Activity: processtable.Source})
	switch {
	case err != nil:
		c.fail(err)
	case found:
		c.starts.note(id)
		e.Started = true
	default:
		c.starts.await(id)
	}
	return e.Started
}

// goesOn takes up what has waited for an instance's start, which is in the store.
func (c *core) goesOn(instance message.InstanceID, now time.Time) {
	if !c.starts.awaited(instance) {
		return
	}
	delete(c.starts.unstarted, instance)
	stored, err := c.store.BrowseInstance(c.id(), instance)
	if err != nil {
		c.fail(err)
		return
	}
	seen := map[message.Entry]bool{}
	for i := range stored {
		key := stored[i].Entry()
		if key.Activity == "" || seen[key] {
			continue
		}
		seen[key] = true
		if e := c.table.Get(key); e == nil {
			c.arrive(queue.Delivery{Entry: key}, now)
		} else if e.Phase == instancetable.Waiting {
			c.consider(e, now)
		}
	}
}

// refuseUnstarted sets aside what does not fit the table, of an instance that was not
// started: no activity goes in error by it.
func (c *core) refuseUnstarted(e *instancetable.Entry, refused []message.Message, reason string, now time.Time) {
	if e.State.Empty() {
		c.table.Remove(e.Key)
	}
	c.setAside(e.Key, refused, reason, now)
}

// awaitStart shows what core.started says of an activity that would go on.
func (l *live) awaitStart(self processtable.NodeID, ended map[processtable.ActivityID]queue.AuditRecord) {
	if _, started := ended[processtable.Source]; started || l.Origin != self || l.Own {
		return
	}
	if l.State == api.ActivityReady || l.State == api.ActivityExecuted {
		l.State, l.unstarted = api.ActivityReady, true
	}
}

func notStarted(self processtable.NodeID) string {
	return fmt.Sprintf("waiting for its instance to be started: other sites say that it was started at %s, which does not know it. "+
		"If %s has lost its store, repeat the start; else terminate the instance", self, self)
}
