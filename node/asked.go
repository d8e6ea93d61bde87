package node

import (
	"fmqm/behaviour"
	"fmqm/message"
	"fmqm/node/thread"
	"fmqm/processtable"
)

// What a process thread's machine asks for, and what it is told of configuration.

// load reads what the machine asks for.
func (t *processThread) load(e thread.Load) thread.Event {
	facts := make([]thread.Facts, len(e.Entries))
	for i, key := range e.Entries {
		if err := t.facts(&facts[i], key, e.What); err != nil {
			return thread.Unread{Token: e.Token, Err: err}
		}
	}
	return thread.Loaded{Token: e.Token, Facts: facts}
}

func (t *processThread) facts(f *thread.Facts, key message.Entry, what thread.What) (err error) {
	q := t.node.queue
	if what&thread.Messages != 0 {
		if f.Messages, err = q.Browse(t.id(), key); err != nil {
			return err
		}
	}
	if what&thread.HowEnded != 0 {
		record, ended, err := q.Ended(key)
		switch {
		case err != nil:
			return err
		case ended:
			f.End = &record
		}
	}
	if what&thread.Marker != 0 {
		f.Marker, err = q.Marker(t.id(), key.Instance)
	}
	return err
}

func (t *processThread) list(e thread.List) thread.Event {
	stored, err := t.node.queue.BrowseInstance(t.id(), e.Instance)
	if err != nil {
		return thread.Unread{Token: e.Token, Err: err}
	}
	out := thread.Listed{Token: e.Token}
	seen := map[message.Entry]bool{}
	for i := range stored {
		if key := stored[i].Entry(); key.Activity != "" && !seen[key] {
			seen[key] = true
			out.Entries = append(out.Entries, key)
		}
	}
	return out
}

func (t *processThread) readOn(b thread.Browse) thread.Event {
	entries, more, err := t.node.queue.BrowseFrom(t.id(), b.After, b.Limit)
	if err != nil {
		return thread.Unread{Token: b.Token, Err: err}
	}
	return thread.Browsed{Token: b.Token, Entries: entries, More: more}
}

// askPlace takes a place for an activity, if there is one; else it comes through granted.
// Nil: it is not there yet.
func (t *processThread) askPlace(e thread.Ask) thread.Event {
	switch {
	case t.holds(e):
		return thread.HeldBack{Token: e.Token}
	case t.places.TryAcquire(e.Program):
		return thread.Granted{Token: e.Token}
	}
	t.asked[e.Program] = e
	return nil
}

// granted takes a place that was asked for.
func (t *processThread) granted(program processtable.ProgramID) {
	e, asked := t.asked[program]
	delete(t.asked, program)
	switch {
	case !asked:
		t.places.Release(program)
	case t.holds(e):
		t.places.Release(program)
		t.step(thread.HeldBack{Token: e.Token})
	default:
		t.step(thread.Granted{Token: e.Token})
	}
}

// holds says whether an activity that could run must stay ready, since a transmission
// queue into which it would send is at its quota (S3).
func (t *processThread) holds(e thread.Ask) bool {
	a := t.process.Activity(e.Activity)
	if e.Program == thread.Routing || a == nil {
		return false
	}
	_, held := t.node.pressure.heldBy(a, e.Origin)
	return held
}

// reachOf says which nodes of a process messages have a way to; n.mu is held.
func (n *Node) reachOf(p behaviour.Process) thread.Reach {
	var r thread.Reach
	add := func(node processtable.NodeID) {
		if n.reaches(node) {
			r.Nodes = append(r.Nodes, node)
		}
	}
	for _, place := range p.Table().Roster {
		add(place.Node)
	}
	for _, origin := range p.Table().Starts {
		add(origin)
	}
	return r
}

// lossesNow says which stores were lost.
func (n *Node) lossesNow() thread.Losses {
	return thread.Losses{Any: n.losses.Load(), Anew: n.anew.Load()}
}

// tellReach tells the process threads how peers are reached now.
func (n *Node) tellReach() {
	for _, t := range n.threads() {
		n.mu.Lock()
		reach := n.reachOf(t.process)
		n.mu.Unlock()
		t.tell(reach)
	}
}

// tellLosses tells the process threads that a store was lost.
func (n *Node) tellLosses() {
	for _, t := range n.threads() {
		t.tell(n.lossesNow())
	}
}
