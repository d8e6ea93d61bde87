package report

import (
	"fmqm/api"
	"fmqm/message"
	"fmqm/queue/record"
)

// joinWork shows a call, and what does its work at another node, as one activity: where that is under way it
// says how the call is.
func (r *reading) joinWork() {
	for name, work := range r.told {
		scope := message.Scope(work.Scope)
		if !isWork(scope, work.Activity) || !r.calls(work.Activity) {
			continue
		}
		outer := api.InScope(string(scope.Leave()), work.Activity)
		delete(r.told, name)
		if work.Kind == api.KindManual { // it is offered there: its home says how it is (N27)
			delete(r.waits, name)
			continue
		}
		call, told := r.told[outer]
		if frames, _ := scope.Frames(); !told || call.Run != ShownRun(frames[len(frames)-1].Run) {
			continue
		}
		if call.At = work.Node; work.Kind != "" {
			call.Kind = work.Kind
		}
		if call.State == api.ActivityRunning && !work.State.Ended() && work.State != api.ActivityInactive {
			call.State, call.Reason, call.Iterations, call.Attempts, call.RC = work.State, work.Reason, work.Iterations, work.Attempts, work.RC
			call.Child, call.Of, call.Output, call.Input, call.Stderr = work.Child, work.Of, work.Output, work.Input, work.Stderr
		}
		r.told[outer] = call
		if w, waits := r.waits[name]; waits {
			w.Scope, w.Activity = call.Scope, call.Activity
			r.waits[outer] = w
			delete(r.waits, name)
		}
	}
}

// calls says whether the work of an activity is done at nodes that its input names.
func (p *places) calls(activity string) bool {
	i, known := p.index[activity]
	return known && len(p.all[i].At) > 0
}

// Work finds what does the work of a call, in a scope of its own and at its node, where that has not ended and the
// call has not erred itself.
func (g *Gathered) Work(scope, activity string) (work, node string, found bool) {
	places := placesOf(g.Roster)
	for at, report := range g.Reports {
		for i := range report.Activities {
			a := &report.Activities[i]
			within := message.Scope(a.Scope)
			if a.Activity == activity && a.State == api.ActivityInError && isWork(within, activity) && string(within.Leave()) == scope && places.hosts(within, activity, at) {
				return a.Scope, at, true
			}
		}
	}
	return "", "", false
}

// isBundle says whether a line is that of a bundle, and not that of one of its elements.
func (p *places) isBundle(a *api.Activity) bool {
	i, known := p.index[a.Activity]
	return known && p.all[i].Each && string(message.Scope(a.Scope).Inside()) != a.Activity
}

// begunAt is the node where the work of a call was begun last, of one that has ended; empty: it is not among the events
// that were read. The record of an end does not say it.
func (f *Facts) begunAt(end *record.AuditRecord) string {
	for i := len(f.View.Events) - 1; i >= 0; i-- {
		e := &f.View.Events[i]
		if e.Event == record.EventBegun && e.Activity == end.Activity && e.Scope == end.Scope && len(e.Sent) > 0 {
			return string(e.Sent[0].Node)
		}
	}
	return ""
}
