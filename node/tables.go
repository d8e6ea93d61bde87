package node

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"fmqm/behaviour"
	"fmqm/navigator"
	"fmqm/processtable"
	"fmqm/queue"
)

// loadTables prepares every table of the store. A table that cannot be prepared keeps
// its process from running, and the node from starting: it was accepted once.
func (n *Node) loadTables() error {
	for _, id := range slices.SortedFunc(maps.Keys(n.queue.Tables()), processtable.ProcessID.Compare) {
		encoded, _, _, err := n.queue.Table(id)
		if err != nil {
			return fmt.Errorf("open node %s: read the table of %s: %w", n.name, id, err)
		}
		p, err := n.prepare(encoded)
		if err != nil {
			return fmt.Errorf("open node %s: %w", n.name, err)
		}
		n.tables[p.Table().Process] = newThread(n, p)
	}
	return nil
}

// prepare reads a table and makes ready what its process thread needs: it loads every
// condition, so it is done for tables that are stored, or are about to be.
func (n *Node) prepare(encoded []byte) (behaviour.Process, error) {
	t, err := n.readTable(encoded)
	if err != nil {
		return nil, err
	}
	return navigator.Prepare(t)
}

// readTable reads a table and checks that it is for this node.
func (n *Node) readTable(encoded []byte) (*processtable.Table, error) {
	t, err := processtable.Decode(encoded)
	if err != nil {
		return nil, fmt.Errorf("read process table: %w", err)
	}
	if t.Node != n.name {
		return nil, fmt.Errorf("table of %s is for node %s, this is %s", t.Process, t.Node, n.name)
	}
	return t, nil
}

// judgeTable says whether a table may be stored here, and prepares it. New is false if it
// is there already.
func (n *Node) judgeTable(encoded []byte) (p behaviour.Process, isNew bool, err error) {
	if err := n.fitsLimit(encoded); err != nil {
		return nil, false, err
	}
	t, err := n.readTable(encoded)
	if err != nil {
		return nil, false, err
	}
	if isNew, err = n.mayStore(t); err != nil {
		return nil, false, err
	}
	p, err = navigator.Prepare(t)
	return p, isNew && err == nil, err
}

func (n *Node) fitsLimit(encoded []byte) error {
	if limit := n.limits.Load().Table; limit > 0 && len(encoded) > limit {
		return fmt.Errorf("the table has %d bytes, %s takes %d: raise limits.table there, or split the process", len(encoded), n.name, limit)
	}
	return nil
}

// mayStore says whether a table of this node may be stored: name@version is bound to one
// definition for ever (N3), and its definer is one whom this node trusts with it (invariant
// 11). New is false if it is there already. It changes nothing and prepares nothing.
func (n *Node) mayStore(t *processtable.Table) (isNew bool, err error) {
	bound, found := n.queue.Bound(t.Process)
	if found && bound != t.Definition {
		return false, errBound(t.Process, n.name)
	}
	if found {
		return false, nil
	}
	reason := n.untrusted(t.Process, signerOf(t))
	if reason == "" {
		reason = n.overreaches(t)
	}
	if reason != "" {
		return false, errors.New(reason)
	}
	return true, nil
}

func errBound(id processtable.ProcessID, node processtable.NodeID) error {
	return fmt.Errorf("%s has another definition at %s: raise the version", id, node)
}

func record(p behaviour.Process, encoded []byte) queue.TableRecord {
	return queue.TableRecord{Process: p.Table().Process, Definition: p.Table().Definition, Encoded: encoded}
}

// install starts the process thread of a table that is on disk. What waited for the
// table (N3) is found by the thread's browse.
func (n *Node) install(p behaviour.Process) {
	n.mu.Lock()
	defer n.mu.Unlock()
	id := p.Table().Process
	delete(n.refused, id)
	if n.stopped || n.tables[id] != nil {
		return
	}
	t := newThread(n, p)
	n.tables[id] = t
	if n.started {
		n.launch(t)
		n.meetOf(p)
	}
	n.log.Info().Stringer("process", id).Str("definition", p.Table().Definition.String()[:12]).Msg("process table stored")
}

// launch starts a process thread, and the judging of what has waited for its table; n.mu is
// held.
func (n *Node) launch(t *processThread) {
	n.sched.Go(t.run)
	n.parking.Go(func() { n.unpark(t.process) })
}

// thread gives the process thread of a process, or nil if its table is not here.
func (n *Node) thread(id processtable.ProcessID) *processThread {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.tables[id]
}

// newest gives the thread of the highest version of a process, or nil.
func (n *Node) newest(name string) *processThread {
	n.mu.Lock()
	defer n.mu.Unlock()
	var found *processThread
	for id, t := range n.tables {
		if id.Name == name && (found == nil || id.Version > found.id().Version) {
			found = t
		}
	}
	return found
}

// threads gives all process threads by process name and version.
func (n *Node) threads() []*processThread {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.sortedThreads()
}

// sortedThreads is threads; n.mu is held.
func (n *Node) sortedThreads() []*processThread {
	return slices.SortedFunc(maps.Values(n.tables), func(a, b *processThread) int { return a.id().Compare(b.id()) })
}
