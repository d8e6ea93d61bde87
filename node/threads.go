package node

import (
	"fmt"
	"maps"
	"slices"

	"fmqm/behaviour"
	"fmqm/event"
	"fmqm/node/execute"
	"fmqm/node/thread"
	"fmqm/processtable"
)

// loadThreads makes the process threads of all tables of the store.
func (n *Node) loadThreads() error {
	all, err := n.tables.Load()
	if err != nil {
		return fmt.Errorf("open node %s: %w", n.name, err)
	}
	n.events = n.execution.NewThread(event.NewQueue(n.name), thread.Reach{}, n.lossesNow())
	for _, p := range all {
		n.processes[p.Table().Process] = n.newThread(p)
	}
	return nil
}

// newThread makes the process thread of a process; n.mu is held, or the node is not open yet.
func (n *Node) newThread(p behaviour.Process) *execute.Thread {
	return n.execution.NewThread(p, n.reachOf(p), n.lossesNow())
}

// TakeUp starts the process thread of a table that is on disk, unless it has one or the node has
// stopped: then the next start does.
func (s site) TakeUp(p behaviour.Process) {
	n := s.Node
	n.mu.Lock()
	defer n.mu.Unlock()
	id := p.Table().Process
	if n.stopped || n.processes[id] != nil {
		return
	}
	t := n.newThread(p)
	n.processes[id] = t
	if n.started {
		n.launch(t)
		n.meetOf(p)
	}
	n.schedules.Changed()
	n.log.Info().Stringer("process", id).Str("definition", p.Table().Definition.String()[:12]).Msg("process table stored")
}

// launch starts a process thread, and the judging of what has waited for its table; n.mu is
// held.
func (n *Node) launch(t *execute.Thread) {
	n.sched.Go(t.Run)
	n.parking.Go(func() {
		if err := n.admission.Unpark(n.running, t.Process()); err != nil {
			n.fatal(err)
		}
	})
}

// thread gives the process thread of a process, or nil if its table is not here.
func (n *Node) thread(id processtable.ProcessID) *execute.Thread {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.processes[id]
}

// current gives the thread of the highest version of a process that is current here (N19), or nil; and the
// highest that is not, if that is above it.
func (n *Node) current(name string) (current, newer *execute.Thread) {
	for _, t := range n.versions(name) {
		switch {
		case n.queue.IsCurrent(t.ID()):
			current, newer = t, nil
		case n.queue.IsRetired(t.ID()):
		default:
			newer = t
		}
	}
	return current, newer
}

// versions gives the threads of a process, by version.
func (n *Node) versions(name string) (all []*execute.Thread) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for id, t := range n.processes {
		if id.Name == name {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, byID)
	return all
}

// threads gives all process threads by process name and version.
func (n *Node) threads() []*execute.Thread {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.sortedThreads()
}

// allThreads are threads, and that of the event queue.
func (n *Node) allThreads() []*execute.Thread { return append(n.threads(), n.events) }

// sortedThreads is threads; n.mu is held.
func (n *Node) sortedThreads() []*execute.Thread {
	return slices.SortedFunc(maps.Values(n.processes), byID)
}

func byID(a, b *execute.Thread) int { return a.ID().Compare(b.ID()) }

// reachOf says which nodes of a process messages have a way to; n.mu is held.
func (n *Node) reachOf(p behaviour.Process) thread.Reach {
	var r thread.Reach
	add := func(node processtable.NodeID) {
		if n.reaches(node) {
			r.Nodes = append(r.Nodes, node)
		}
	}
	for _, node := range p.Table().Nodes() {
		add(node)
	}
	return r
}

// lossesNow says which stores were lost.
func (n *Node) lossesNow() thread.Losses {
	return thread.Losses{Any: n.rebuilds.StoreLost(), Anew: n.rebuilds.Anew()}
}

// tellReach tells the process threads how peers are reached now.
func (n *Node) tellReach() {
	for _, t := range n.threads() {
		n.mu.Lock()
		reach := n.reachOf(t.Process())
		n.mu.Unlock()
		t.Tell(reach)
	}
}

// tellLosses tells the process threads that a store was lost.
func (n *Node) tellLosses() {
	for _, t := range n.threads() {
		t.Tell(n.lossesNow())
	}
}
