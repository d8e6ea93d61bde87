package node

import (
	"context"
	"time"

	"fmqm/api"
	"fmqm/processtable"
	"fmqm/queue/record"
)

var _ api.Retirer = (*Node)(nil)

// Retire retires a version that has a table here, or takes that back (N31).
func (n *Node) Retire(ctx context.Context, process string, r api.RetireRequest) (a api.RetireAnswer, err error) {
	id, err := processtable.ParseProcessID(process)
	if err != nil || id.Version == 0 {
		return a, api.Errorf(api.CodeUsage, "write NAME@VERSION", "retire %.80q: which version?", process)
	}
	if a, gone, err := n.tables.Removed(id, r.Undo); gone {
		return told(a, err)
	}
	t, err := n.definedHere(process)
	if err != nil {
		return a, err
	}
	does := n.tables.Retire
	if r.Without != "" {
		does = n.tables.WriteOff
	}
	a, err = does(ctx, t.Process().Table(), r, n.commands.By(ctx))
	return told(a, err)
}

// TurnedRetired: a version begins nothing new from now on, or may again. Schedules go by it.
func (s site) TurnedRetired(id processtable.ProcessID, retired bool) {
	if retired {
		s.log.Info().Stringer("process", id).Msg("process is retired")
	} else {
		s.log.Info().Stringer("process", id).Msg("process is not retired any more")
	}
	s.schedules.Changed()
}

// GaveFinal: this site has given its final word about a version (N31).
func (s site) GaveFinal(id processtable.ProcessID) {
	s.log.Info().Stringer("process", id).Msg("process has ended here, and begins here no more")
}

// WroteOff: the table of a version goes here without a node, or does not any more.
func (s site) WroteOff(o *record.WriteOff) {
	said := s.log.Warn().Stringer("process", o.Process).Str("peer", string(o.Node)).Str("by", o.By).Str("reason", o.Why)
	if o.Undo {
		said.Msg("a site is written off no more: the table of the process waits for it")
		return
	}
	said.Msg("a site is written off: the table of the process goes without it")
}

// LetGo ends the process thread of a version whose table was removed. What has come for it meanwhile lies in the store.
func (s site) LetGo(id processtable.ProcessID) {
	n := s.Node
	n.mu.Lock()
	t, begun := n.processes[id], n.started
	delete(n.processes, id)
	n.mu.Unlock()
	n.log.Info().Stringer("process", id).Msg("process table removed")
	n.schedules.Changed()
	if t == nil {
		return
	}
	if err := t.End(begun); err != nil {
		n.log.Warn().Err(err).Stringer("process", id).Msg("the thread of a process did not end")
	}
}

// Absorbed counts what has come late for a version whose table was removed.
func (s site) Absorbed(id processtable.ProcessID, messages int) {
	s.absorbed.Add(uint64(messages))
	s.log.Debug().Stringer("process", id).Int("messages", messages).Msg("messages dropped: they came late for a process whose table was removed")
}

// Stranded: a peer has removed the table of a version of which instances that were started here have not ended.
func (s site) Stranded(id processtable.ProcessID, peer processtable.NodeID, instances int) {
	s.log.Warn().Stringer("process", id).Str("peer", string(peer)).Int("instances", instances).
		Msg("a site has removed the table of a retired process of which instances here have not ended: they do not go on there; terminate them")
}

// RetiredFor is how long a version has to be retired before this site gives its final word.
func (s site) RetiredFor() time.Duration {
	if d := s.limits.Load().Retired; d != nil {
		return *d
	}
	return RetiredFor
}

// retired refuses what would begin an instance of a version that is retired here.
func (n *Node) retired(id processtable.ProcessID) error {
	if !n.queue.IsRetired(id) {
		return nil
	}
	return api.Errorf(api.CodeRefused, "start another version (fmqm-define list)"+n.orUndo(id), "%s is retired at %s", id, n.name)
}

// allRetired refuses a start by the name alone, where all that is here of it is retired, and there for the caller.
func (n *Node) allRetired(ctx context.Context, name string) error {
	all := n.versions(name)
	if len(all) == 0 {
		return nil
	}
	last := all[len(all)-1]
	if !n.isThere(ctx, last) {
		return nil
	}
	return n.retired(last.ID())
}

// orUndo says how a retired version is taken back, where it still can be.
func (n *Node) orUndo(id processtable.ProcessID) string {
	if n.tables.Closed(id) {
		return ""
	}
	return ", or take that back: fmqm-define retire --undo " + id.String()
}
