package report

import (
	"slices"
	"time"

	"fmqm/api"
	"fmqm/message"
	"fmqm/processtable"
)

// What is believed of what another node reports (invariant 11): it speaks for the
// activities that it hosts, in scopes in which they can be, and for an instance's state where that was
// started. What it hosts is for this node's own table to say, but for which of that are bundles: only a host's table
// has that. Where no table is here, that of whoever answered first is shown, and nothing is done by it.

// Believed gives what of a report of a node counts, by this node's table of the process if it
// has one; false: it has no part in the process that it speaks of.
func (r Report) Believed(node processtable.NodeID, table *processtable.Table) (Report, bool) {
	if table != nil {
		if !table.HasPart(node) {
			return r, false
		}
		if !table.MayStart(processtable.NodeID(r.Origin)) {
			r.Origin = ""
		}
		r.Roster = withBundles(RosterOf(table, processtable.NodeID(r.Origin)), map[string]Report{string(node): r})
	} else if !sound(r.Roster) {
		r.Roster = nil
	}
	name := string(node)
	atOrigin := r.Origin == name
	if !atOrigin {
		r.State, r.Key, r.Output, r.Notices, r.Parent, r.StartedBy, r.Priority = "", "", nil, nil, nil, "", nil
		r.Started, r.Ended, r.Erased = time.Time{}, time.Time{}, time.Time{}
	}
	places := placesOf(r.Roster)
	hosts := func(scope, activity string) bool {
		if scope == "" && added(activity) {
			return atOrigin
		}
		return places.hosts(message.Scope(scope), activity, name)
	}
	r.Activities = slices.DeleteFunc(r.Activities, func(a api.Activity) bool { return !hosts(a.Scope, a.Activity) })
	r.Waits = slices.DeleteFunc(r.Waits, func(w Waiting) bool { return !hosts(w.Scope, w.Activity) })
	r.Events = slices.DeleteFunc(r.Events, func(e api.HistoryEvent) bool {
		elsewhere := e.Event == api.EventPassed || e.Event == api.EventAsked || e.Event == api.EventAnswered || e.Event == api.EventErased || // who passes an activity around (N6), is asked, or erases, is not its host
			atOrigin && (e.Event == api.EventSuspended || e.Event == api.EventResumed) // of one activity, too, the origin decides (N29)
		_, there := places.host(message.Scope(e.Scope), e.Activity)
		return !hosts(e.Scope, e.Activity) && !(elsewhere && (there || e.Scope == "" && added(e.Activity)))
	})
	for i := range r.Events {
		r.Events[i].Node = name
	}
	r.Begun = slices.DeleteFunc(r.Begun, func(scope string) bool { return !hosts(scope, string(processtable.Source)) })
	if !hosts(api.CutScope(r.Upto)) {
		r.Upto = ""
	}
	for _, named := range []*[]string{&r.Heard, &r.Notices} {
		*named = slices.DeleteFunc(*named, func(n string) bool {
			scope, activity := api.CutScope(n)
			_, there := places.host(message.Scope(scope), activity)
			return !there
		})
	}
	return r, true
}

// sound says whether a roster that is no table's is one: each activity is there once, behind the block
// that is around it.
func sound(roster []api.Place) bool {
	seen := map[string]bool{"": true}
	for _, p := range roster {
		if seen[p.Activity] || !seen[p.Inside] {
			return false
		}
		seen[p.Activity] = true
	}
	return true
}
