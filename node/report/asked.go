package report

import (
	"slices"

	"fmqm/api"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/audit"
	"fmqm/queue/record"
)

// An instance of which a block began ten thousand times has tens of thousands of ends. Who asks says
// which he wants: those in some scopes, or a page of all. What has not ended is told in any case: there
// is no more of it than the tables have rows, and it says how the instance is.

// Page asks for a part of all activities, in the order of places.order.
type Page struct {
	States []api.ActivityState `json:"states,omitempty"` // nil: in any
	After  string              `json:"after,omitempty"`  // only those behind this one, by its name as by api.InScope
	Limit  int                 `json:"limit"`
}

// pageLooks bounds how many ends are read for one page.
const pageLooks = 10_000

// wants says whether one in that state is asked for.
func (p *Page) wants(s api.ActivityState) bool {
	return len(p.States) == 0 || slices.Contains(p.States, s)
}

// wantsEnded says whether any that have ended are asked for.
func (p *Page) wantsEnded() bool {
	return p.wants(api.ActivityTerminated) || p.wants(api.ActivitySkipped) || p.wants(api.ActivityCancelled)
}

// fills says whether activities are asked for of which there is nothing.
func (p *Page) fills() bool { return p.wants(api.ActivityInactive) || p.wants(api.ActivityUnknown) }

// full says whether so many iterations have at least as many activities as the page.
func (p *Page) full(begun []string) bool {
	if len(p.States) > 0 {
		return len(begun) > pageLooks
	}
	return len(begun) > p.Limit+message.MaxNesting
}

// asksEnds says whether the ends in a scope are asked for, other than by a page.
func (q *Question) asksEnds(scope string) bool {
	return q.Tree != nil || q.Scopes == nil || slices.Contains(q.Scopes, scope)
}

// scopesOf gives the scopes in which a row has a line, where there is something of it in known: these,
// and those that are asked for. A table that knows no blocks is asked for all; so are those by older
// nodes, and what is nowhere then has a line without a scope.
func (q *Question) scopesOf(t *processtable.Table, a *processtable.Activity, known []message.Scope) []message.Scope {
	switch {
	case a.Added():
	case q.Scopes == nil && q.Tree == nil, t.Format < processtable.BlockFormat:
		if len(known) == 0 {
			return []message.Scope{""}
		}
	default:
		for _, s := range q.Scopes {
			if scope := message.Scope(s); !slices.Contains(known, scope) && scope.Fits(a.Path) == nil {
				known = append(known, scope)
			}
		}
	}
	return known
}

// Part says what of an instance is to be read to answer a question. t is the table of its process, nil
// where it is not known which that is.
func (f *Facts) Part(q Question, t *processtable.Table) audit.Part {
	p := audit.Part{Events: StatusEvents}
	switch {
	case q.History:
		return audit.Part{Events: audit.AllEvents}
	case t != nil && t.Format < processtable.BlockFormat:
	case q.Tree != nil && t != nil && (q.Tree.fills() || q.Tree.wantsEnded()):
		p.Pick = func(ended []message.Entry, end func(message.Entry) (record.AuditRecord, error)) ([]record.AuditRecord, error) {
			f.told = picked{}
			return f.told.pick(t, q.Tree, ended, end)
		}
	case q.Tree != nil:
		p.Scopes = []message.Scope{""}
	case q.Scopes != nil:
		p.Scopes = make([]message.Scope, len(q.Scopes))
		for i, s := range q.Scopes {
			p.Scopes[i] = message.Scope(s)
		}
	}
	return p
}

// spot is an activity in a scope, with where it stands among all.
type spot struct {
	scope    message.Scope
	activity string
	order    []int
}

func (l *spot) compare(m *spot) int { return slices.Compare(l.order, m.order) }

func (l *spot) name() string { return api.InScope(string(l.scope), l.activity) }

// after is the line that a page begins behind; nil: it begins at the beginning.
func (p *Page) after(places *places) *spot {
	if p.After == "" {
		return nil
	}
	scope, activity := api.CutScope(p.After)
	return &spot{message.Scope(scope), activity, places.order(message.Scope(scope), activity)}
}

// picked is what a page has beside its ends.
type picked struct {
	begun []string // iterations of blocks here that began, in the page and around its beginning
	upto  string   // how far it has come; empty: all is told
}

// pick reads the ends of a page.
func (f *picked) pick(t *processtable.Table, page *Page, ended []message.Entry, end func(message.Entry) (record.AuditRecord, error)) (all []record.AuditRecord, err error) {
	places := placesOf(RosterOf(t, ""))
	after := page.after(places)
	lines := make([]spot, len(ended))
	for i, e := range ended {
		lines[i] = spot{e.Scope, string(e.Activity), places.order(e.Scope, string(e.Activity))}
	}
	slices.SortFunc(lines, func(x, y spot) int { return x.compare(&y) })
	looks := 0
	for i := range lines {
		l := &lines[i]
		before := after != nil && l.compare(after) <= 0
		switch {
		case added(l.activity):
			if l.activity == string(processtable.Source) && l.scope != "" && page.fills() && (!before || after.scope.Within(l.scope)) {
				f.begun = append(f.begun, string(l.scope))
			}
			continue
		case before, !page.wantsEnded():
			continue
		case looks == pageLooks, len(all) == page.Limit, page.full(f.begun):
			f.upto = lines[i-1].name()
			return all, nil
		}
		looks++
		a, err := end(message.Entry{Instance: ended[0].Instance, Scope: l.scope, Activity: processtable.ActivityID(l.activity)})
		if err != nil {
			return nil, err
		}
		if a.Process == t.Process && page.wants(endedState(a.Event)) {
			all = append(all, a)
		}
	}
	return all, nil
}

// endedState is the state of what ended so.
func endedState(e record.Event) api.ActivityState {
	if e == record.EventSkipped {
		return api.ActivitySkipped
	}
	if e == record.EventCancelled {
		return api.ActivityCancelled
	}
	return api.ActivityTerminated
}

// kindOf says what a row is in the words of the API.
func kindOf(a *processtable.Activity) string {
	switch {
	case a.Program != "":
		return api.KindProgram
	case a.Kind == processtable.KindEmpty:
		return api.KindEmpty
	case a.Kind == processtable.KindBlock:
		return api.KindBlock
	case a.Kind == processtable.KindWait:
		return api.KindWait
	case a.Kind == processtable.KindProcess:
		return api.KindProcess
	case a.Kind == processtable.KindReceive:
		return api.KindReceive
	case a.Kind == processtable.KindSend:
		return api.KindSend
	case a.Kind == processtable.KindManual:
		return api.KindManual
	case a.Kind == processtable.KindBundle:
		return api.KindBundle
	case a.Kind == processtable.KindCall: // what does its work says more
		return api.KindProgram
	}
	return ""
}
