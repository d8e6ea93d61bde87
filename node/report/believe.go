package report

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

// Believed gives what of a report of a node counts, by this node's table of the process if it
// has one; false: it has no part in the process that it speaks of.
func (r Report) Believed(node processtable.NodeID, table *processtable.Table) (Report, bool) {
	if table != nil {
		if !table.HasPart(node) {
			return r, false
		}
		r.Roster = RosterOf(table)
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
	r.Waits = slices.DeleteFunc(r.Waits, func(w Waiting) bool { return !hosted[w.Activity] })
	r.Events = slices.DeleteFunc(r.Events, func(e api.HistoryEvent) bool {
		mine, there := hosted[e.Activity]
		elsewhere := e.Event == api.EventPassed || e.Event == api.EventAsked || e.Event == api.EventAnswered // who passes an activity around (N6), or is asked, is not its host
		return !mine && !(there && elsewhere)
	})
	for i := range r.Events {
		r.Events[i].Node = name
	}
	return r, true
}
