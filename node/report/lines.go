package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"fmqm/api"
	"fmqm/message"
	"fmqm/processtable"
)

// reading is what was told of an instance, put in order.
type reading struct {
	*Gathered
	*places
	told   map[string]api.Activity // by name as by api.InScope, each by its host only
	heard  map[string]string
	waits  map[string]Waiting
	over   bool // the instance has finished
	lines  []api.Activity
	seen   map[string]bool // which of told are among lines
	behind map[string]bool // nodes that do not say of all that has ended that it has

	// Of a page: the scopes in each block, true where its home says that they began; and where it
	// begins and ends.
	begun     map[string]map[message.Scope]bool
	from, end *spot
}

// read puts together what was told: first what was asked for, in order, then what has not ended elsewhere.
func (g *Gathered) read() *reading {
	r := &reading{
		Gathered: g, places: placesOf(g.Roster), heard: g.Heard(), waits: g.Waits(),
		over: g.atOrigin().State == api.InstanceFinished, seen: map[string]bool{}, behind: map[string]bool{},
	}
	r.hear()
	if g.Asked.Tree != nil {
		r.page()
	}
	switch {
	case r.flat:
		r.allScopes()
	case g.Asked.Tree != nil:
		r.in("", "")
		return r
	default:
		for _, scope := range g.scopes() {
			r.in(message.Scope(scope), r.unbegun(message.Scope(scope)))
		}
	}
	var rest []spot
	for name, a := range r.told {
		if scope := message.Scope(a.Scope); !r.seen[name] {
			rest = append(rest, spot{scope, a.Activity, r.order(scope, a.Activity)})
		}
	}
	slices.SortFunc(rest, func(x, y spot) int { return x.compare(&y) })
	for i := range rest {
		r.add(r.told[rest[i].name()])
	}
	return r
}

// scopes are those that were asked for.
func (g *Gathered) scopes() []string {
	if g.Asked.Scopes == nil {
		return []string{""}
	}
	return g.Asked.Scopes
}

// hear takes what the nodes tell of what they host, and of the others what the origin knows by notices.
// A node that says a thing twice is not believed twice.
func (r *reading) hear() {
	r.told = map[string]api.Activity{}
	for node, report := range r.Reports {
		for _, a := range report.Activities {
			name := api.InScope(a.Scope, a.Activity)
			if _, twice := r.told[name]; r.hosts(message.Scope(a.Scope), a.Activity, node) && !twice {
				a.Node = node
				r.told[name] = a
			}
		}
	}
	r.joinWork()
	for _, n := range r.atOrigin().Notices {
		scope, activity := api.CutScope(n)
		host, there := r.host(message.Scope(scope), activity)
		report, answered := r.Reports[host]
		if _, told := r.told[n]; there && !told && !(answered && (report.tells(activity) || !r.flat && len(report.Roster) > 0)) {
			r.told[n] = api.Activity{
				Scope: scope, Activity: activity, Node: host, State: api.ActivityInError,
				Reason: "known only from what it told the node where the instance was started",
			}
		}
	}
}

// tells says whether a report has anything of an activity, in whichever scope.
func (r *Report) tells(activity string) bool {
	return slices.ContainsFunc(r.Activities, func(a api.Activity) bool { return a.Activity == activity })
}

// allScopes has each activity in all scopes of which it is told: the roster does not say in which it can be.
func (r *reading) allScopes() {
	in := map[string][]message.Scope{}
	for _, a := range r.told {
		in[a.Activity] = append(in[a.Activity], message.Scope(a.Scope))
	}
	for _, p := range r.all {
		slices.SortFunc(in[p.Activity], compareScopes)
		for _, scope := range in[p.Activity] {
			r.add(r.told[api.InScope(string(scope), p.Activity)])
		}
		if len(in[p.Activity]) == 0 {
			r.add(r.untold(p, ""))
		}
	}
}

// in has the activities of one scope. Of those in a block that never began is told as is said for all
// of them, in state.
func (r *reading) in(scope message.Scope, state api.ActivityState) {
	if frames, err := scope.Frames(); err == nil && len(frames) > 0 && frames[len(frames)-1].Element >= 0 { // of one execution of a bundle
		if name := string(scope.Inside()); state == "" && r.told[api.InScope(string(scope), name)].State != "" {
			r.add(r.at(scope, name))
		}
		return
	}
	for _, i := range r.inside[string(scope.Inside())] {
		p := r.all[i]
		var a api.Activity
		_, told := r.told[api.InScope(string(scope), p.Activity)]
		switch {
		case state != "":
			a = api.Activity{Scope: string(scope), Activity: p.Activity, Node: p.Node, State: state}
		case !told && r.begun != nil && scope != "" && !r.begun[api.InScope(string(scope.Leave()), string(scope.Inside()))][scope]:
			continue // only others say that it began
		default:
			a = r.at(scope, p.Activity)
		}
		if r.add(a); r.Asked.Tree != nil && (r.block(p.Activity) || len(r.begun[api.InScope(string(scope), p.Activity)]) > 0) && strings.Count(string(scope), "/") < message.MaxNesting {
			r.inner(scope, a)
		}
	}
	for _, name := range []processtable.ActivityID{processtable.Source, processtable.Sink} {
		if a, told := r.told[api.InScope(string(scope), string(name))]; told && scope != "" {
			r.add(a)
		}
	}
}

// page prepares for reading one.
func (r *reading) page() {
	r.from, r.begun = r.Asked.Tree.after(r.places), map[string]map[message.Scope]bool{}
	note := func(scope message.Scope, begun bool) {
		block := api.InScope(string(scope.Leave()), string(scope.Inside()))
		if r.begun[block] == nil {
			r.begun[block] = map[message.Scope]bool{}
		}
		r.begun[block][scope] = r.begun[block][scope] || begun
	}
	for _, a := range r.told {
		for scope := message.Scope(a.Scope); scope != ""; scope = scope.Leave() {
			note(scope, false)
		}
	}
	for _, report := range r.Reports {
		for _, scope := range report.Begun {
			note(message.Scope(scope), true)
		}
		scope, activity := api.CutScope(report.Upto)
		end := spot{message.Scope(scope), activity, r.order(message.Scope(scope), activity)}
		if report.Upto != "" && (r.from == nil || end.compare(r.from) > 0) && (r.end == nil || end.compare(r.end) < 0) {
			r.end = &end
		}
	}
}

// inner has what is inside of a block: in each iteration that began, or as what never began.
func (r *reading) inner(outer message.Scope, block api.Activity) {
	began := r.begun[api.InScope(string(outer), block.Activity)]
	scopes := slices.Collect(maps.Keys(began))
	slices.SortFunc(scopes, func(x, y message.Scope) int { return slices.Compare(r.order(x, ""), r.order(y, "")) })
	for _, scope := range scopes {
		if frames, _ := scope.Frames(); frames[len(frames)-1].Element < 0 {
			r.in(scope, "")
			continue
		}
		element := r.at(scope, block.Activity)
		if r.add(element); r.block(block.Activity) {
			r.inner(scope, element)
		}
	}
	if len(scopes) == 0 && r.block(block.Activity) {
		r.in(outer.Enter(message.Frame{Composite: processtable.ActivityID(block.Activity), Element: -1}), neverBegan(block.State))
	}
}

// unbegun is the state of what is in a scope in which a block has begun nothing; empty: there is none.
func (r *reading) unbegun(scope message.Scope) api.ActivityState {
	if !nowhere(string(scope)) {
		return ""
	}
	for nowhere(string(scope.Leave())) {
		scope = scope.Leave()
	}
	return neverBegan(r.at(scope.Leave(), string(scope.Inside())).State)
}

// at is an activity of the roster in a scope, as its node tells.
func (r *reading) at(scope message.Scope, activity string) api.Activity {
	a, told := r.told[api.InScope(string(scope), activity)]
	if !told {
		a = r.untold(r.all[r.index[activity]], scope)
	}
	return a
}

// neverBegan is the state of what is inside of a block that has begun nothing.
func neverBegan(block api.ActivityState) api.ActivityState {
	switch block {
	case api.ActivitySkipped, api.ActivityCancelled, api.ActivityUnknown:
		return block
	default:
		return api.ActivityInactive
	}
}

// add has a line, if it is of the page.
func (r *reading) add(a api.Activity) {
	at := spot{message.Scope(a.Scope), a.Activity, r.order(message.Scope(a.Scope), a.Activity)}
	if r.from != nil && at.compare(r.from) <= 0 || r.end != nil && at.compare(r.end) > 0 {
		return
	}
	name := at.name()
	if r.seen[name] = true; r.past(&a) {
		r.behind[a.Node] = true
		a = r.outdated(a)
	}
	switch {
	case a.Kind == api.KindProcess, a.Kind == api.KindReceive, a.Kind == api.KindSend, a.Kind == api.KindBundle, a.Kind == api.KindManual:
	case r.flat: // what there is without blocks needs no word for it
		a.Kind = ""
	case r.block(a.Activity):
		a.Kind = api.KindBlock
	case a.Kind != api.KindProgram && a.Kind != api.KindEmpty:
		a.Kind = ""
	}
	r.lines = append(r.lines, a)
}

// untold is an activity of which its node has told nothing.
func (r *reading) untold(p api.Place, scope message.Scope) api.Activity {
	a := api.Activity{Scope: string(scope), Activity: p.Activity, Node: processtable.NodeID(p.Node).Word(), State: api.ActivityUnknown}
	report, answered := r.Reports[p.Node]
	switch {
	case slices.Contains(r.Tableless, p.Node):
		a.Reason = fmt.Sprintf("%s has no table of %s: upload it", p.Node, r.Process)
	case !answered || len(report.Roster) == 0 || r.Asked.Tree == nil && scope == "":
	case !report.Removed.IsZero():
		a.Reason = removedAudit
	default: // a page has what there is, and so has an older node
		a.State = api.ActivityInactive
	}
	return a
}
