package node

import (
	"context"

	"fmqm/api"
	"fmqm/processtable"
)

var _ api.Retirer = (*Node)(nil)

// Retire retires a version that has a table here, or takes that back (N31).
func (n *Node) Retire(ctx context.Context, process string, r api.RetireRequest) (a api.RetireAnswer, err error) {
	if id, err := processtable.ParseProcessID(process); err != nil || id.Version == 0 {
		return a, api.Errorf(api.CodeUsage, "write NAME@VERSION", "retire %.80q: which version?", process)
	}
	t, err := n.definedHere(process)
	if err != nil {
		return a, err
	}
	a, err = n.tables.Retire(ctx, t.Process().Table(), r, n.commands.By(ctx))
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

// retired refuses what would begin an instance of a version that is retired here.
func (n *Node) retired(id processtable.ProcessID) error {
	if !n.queue.IsRetired(id) {
		return nil
	}
	return api.Errorf(api.CodeRefused, "start another version (fmqm-define list), or take that back: fmqm-define retire --undo "+id.String(),
		"%s is retired at %s", id, n.name)
}
