package node

import (
	"slices"
	"time"

	"fmqm/api"
	"fmqm/processtable"
)

// What is believed of what another node reports (invariant 11): it speaks for the
// activities that it hosts, and for an instance's state where that was started. What it
// hosts is for this node's own table to say. Where that is not here, the table of whoever
// answered first is shown, and nothing is done by it.

// believed gives what of a report of a node counts; false: it has no part in the process
// that it speaks of.
func (n *Node) believed(node processtable.NodeID, r instanceReport) (instanceReport, bool) {
	id, err := processtable.ParseProcessID(r.Process)
	if err != nil || id.Version == 0 {
		return r, false
	}
	if t := n.thread(id); t != nil {
		table := t.process.Table()
		if !table.HasPart(node) {
			return r, false
		}
		r.Roster = rosterOf(table)
		if !table.MayStart(processtable.NodeID(r.Origin)) {
			r.Origin = ""
		}
	}
	name := string(node)
	atOrigin := r.Origin == name
	if !atOrigin {
		r.State, r.Key, r.Output, r.Notices = "", "", nil, nil
		r.Started, r.Ended = time.Time{}, time.Time{}
	}
	hosted := map[string]bool{string(processtable.Source): atOrigin, string(processtable.Sink): atOrigin}
	for _, p := range r.Roster {
		hosted[p.Activity] = p.Node == name
	}
	r.Activities = slices.DeleteFunc(r.Activities, func(a api.Activity) bool { return !hosted[a.Activity] })
	r.Waits = slices.DeleteFunc(r.Waits, func(w waiting) bool { return !hosted[w.Activity] })
	r.Events = slices.DeleteFunc(r.Events, func(e api.HistoryEvent) bool {
		mine, there := hosted[e.Activity]
		return !mine && !(there && e.Event == api.EventPassed) // who passes an activity around is not its host (N6)
	})
	for i := range r.Events {
		r.Events[i].Node = name
	}
	return r, true
}
