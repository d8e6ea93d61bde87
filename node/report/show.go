package report

import (
	"slices"
	"strings"

	"fmqm/api"
	"fmqm/container"
	"fmqm/internal/text"
	"fmqm/message"
	"fmqm/processtable"
)

// show adds the activities to a status that a request asks for, of those that were gathered for it.
func (r *reading) show(s *api.Status, q api.StatusRequest) {
	s.Scope, s.Activities, s.Next = q.Scope, []api.Activity{}, ""
	page := Page{States: q.States, After: q.After}
	after := page.after(r.places)
	for _, a := range r.lines {
		switch at := (spot{message.Scope(a.Scope), a.Activity, r.order(message.Scope(a.Scope), a.Activity)}); {
		case !q.Tree && !r.flat && a.Scope != q.Scope, !page.wants(a.State), after != nil && at.compare(after) <= 0:
		case q.Limit > 0 && len(s.Activities) == q.Limit:
			last := s.Activities[q.Limit-1]
			s.Next = api.InScope(last.Scope, last.Activity)
			return
		default:
			s.Activities = append(s.Activities, a)
		}
	}
	if r.end != nil {
		s.Next = r.end.name()
	}
}

// asShown names scopes as people do.
func asShown(s *api.Status) {
	s.Scope = string(message.Scope(s.Scope).Shown())
	for i := range s.Activities {
		s.Activities[i].Scope = string(message.Scope(s.Activities[i].Scope).Shown())
	}
	if scope, activity := api.CutScope(s.Next); scope != "" {
		s.Next = api.InScope(string(message.Scope(scope).Shown()), activity)
	}
}

// Bundle gives the bundle that a PATH names, in its scope; false: it names none.
func (g *Gathered) Bundle(path string) (bundle string, found bool) {
	r := g.read()
	scope, name := api.CutScope(string(message.Scope(path).Full()))
	i, known := r.index[name]
	if !known || !r.all[i].Each || !r.fits(message.Scope(scope)) || r.all[i].Inside != string(message.Scope(scope).Inside()) {
		return "", false
	}
	return api.InScope(scope, name), true
}

// ShowElements adds to a status the executions of a bundle, of those that were gathered.
func (g *Gathered) ShowElements(s *api.Status, bundle string, q api.StatusRequest) {
	r := g.read()
	outer, name := api.CutScope(bundle)
	end := r.end
	r.lines = slices.DeleteFunc(r.lines, func(a api.Activity) bool {
		scope := message.Scope(a.Scope)
		return a.Activity != name || scope.Inside() != processtable.ActivityID(name) || string(scope.Leave()) != outer
	})
	if end != nil && !message.Scope(end.name()).Within(message.Scope(bundle)) && string(end.scope.Leave()) != outer {
		r.end = nil // the page has all of it
	}
	q.Tree = true
	r.show(s, q)
	s.Scope = bundle
	s.More = g.more()
	asShown(s)
}

// Show adds to a status the activities that a request asks for, of those that were gathered for it. The
// scope of the request is one that Enter has given.
func (g *Gathered) Show(s *api.Status, q api.StatusRequest) {
	g.read().show(s, q)
	asShown(s)
	if s.More = g.more(); g.Unreachable != nil {
		s.Unreachable = g.Unreachable
	}
}

// Open gives the scopes, other than those that were asked for, in which something has not ended.
func (g *Gathered) Open() (scopes []string) {
	r := g.read()
	if r.flat {
		return nil
	}
	open := func(scope message.Scope) {
		if s := string(scope); !slices.Contains(g.scopes(), s) && !slices.Contains(scopes, s) {
			scopes = append(scopes, s)
		}
	}
	for _, a := range r.lines {
		if a.State.Ended() || nowhere(a.Scope) {
			continue
		}
		if open(message.Scope(a.Scope)); a.State == api.ActivityRunning && r.block(a.Activity) && !r.isBundle(&a) {
			open(newest(a))
		}
	}
	return scopes
}

// Errors are the activities in error, in all scopes.
func (g *Gathered) Errors() (all []api.Activity) {
	for _, a := range g.read().lines {
		if a.State == api.ActivityInError {
			all = append(all, a)
		}
	}
	return all
}

// UnderWay gives the executions that have begun, or could, and have not ended, as far as that is known.
func (g *Gathered) UnderWay() (all []api.Activity) {
	for _, a := range g.read().lines {
		if !a.State.Ended() && a.State != api.ActivityInactive && !nowhere(a.Scope) {
			all = append(all, a)
		}
	}
	return all
}

// Terminated gives the executions that have run to their end, or were, and are not over, as far as that is known.
func (g *Gathered) Terminated() (all []api.Activity) {
	for _, a := range g.read().lines {
		if a.State == api.ActivityTerminated {
			all = append(all, a)
		}
	}
	return all
}

// newest is the scope of what is inside of a block in the newest iteration that it has begun; without an
// iteration if that is none.
func newest(block api.Activity) message.Scope {
	k, run := block.Iterations, block.Run
	if block.State == api.ActivityReady || block.State == api.ActivityWaiting { // it is to begin that one
		k = max(0, k-1)
	}
	if k == 0 {
		run = 0
	}
	return message.Scope(within(block.Scope, block.Activity, k, run))
}

// Enter finds the scope that a PATH of blocks names: without iteration the newest, also of those around
// a block that is named alone. Where more has to be asked to tell, it names the scopes.
func (g *Gathered) Enter(path string) (scope message.Scope, ask []string, err error) {
	r := g.read()
	frames, err := message.Scope(path).Full().Frames()
	if err != nil {
		return "", nil, noScope(path, err)
	}
	if len(frames) > 0 {
		for i, name := range r.around(string(frames[0].Composite)) {
			frames = slices.Insert(frames, i, message.Frame{Composite: processtable.ActivityID(name), Element: -1})
		}
	}
	frames = r.inElements(frames)
	for i, f := range frames {
		name := string(f.Composite)
		if f.Element >= 0 { // its home says of which run the elements are
			if f.Run == 0 {
				f.Run = max(0, r.at(scope, name).Run-1)
			}
			scope = scope.Enter(f)
			continue
		}
		element := i > 0 && frames[i-1].Element >= 0 && frames[i-1].Composite == f.Composite
		if nowhere(string(scope)) {
			f.Iteration = 0
		}
		switch i, known := r.index[name]; {
		case !known:
			return "", nil, r.NoActivity(name)
		case !r.block(name):
			return "", nil, api.Errorf(api.CodeUsage, "name a block, or leave --scope out", "scope %s: %s is no block: nothing is inside of it", path, name)
		case r.all[i].Inside != string(scope.Inside()) && !element:
			return "", nil, api.Errorf(api.CodeNotFound, "write "+strings.Join(append(r.around(name), name), "/"), "scope %s: %s is not inside of %s", path, name, scope)
		}
		if !slices.Contains(g.scopes(), string(scope)) && !nowhere(string(scope)) {
			return "", append(slices.Clone(g.scopes()), string(scope)), nil
		}
		block := r.at(scope, name)
		last, told := newest(block), block.State != api.ActivityUnknown
		switch {
		case f.Iteration == 0 && !told && !nowhere(string(scope)):
			return "", nil, api.Errorf(api.CodeUnreachable, "name an iteration, such as "+within(string(scope), name, 1, 0), "only %s, where %s is, can say which is the newest, and it does not answer", block.Node, name)
		case f.Iteration == 0:
			scope = message.Scope(within(string(scope), name, 0, 0))
			if told {
				scope = last
			}
		case told && f.Iteration > block.Iterations:
			return "", nil, api.Errorf(api.CodeNotFound, "see fmqm status for how often it has begun", "there is no %s: it has begun %s", scope.Enter(f), text.Counted(block.Iterations, "iteration", "iterations"))
		default:
			if scope = scope.Enter(f); f.Run == 0 && last.Leave() == scope.Leave() && block.Iterations == f.Iteration {
				scope = last // of several runs the last is meant
			}
		}
	}
	all := append(slices.Clone(g.scopes()), string(scope))
	switch {
	case slices.Contains(g.scopes(), string(scope)):
	case nowhere(string(scope)):
		g.Asked.Scopes = all // nobody has anything of it
	default:
		ask = all
	}
	return scope, ask, nil
}

// inElements adds to frames the block that an element is, where only the element is named.
func (r *reading) inElements(frames []message.Frame) (all []message.Frame) {
	for i, f := range frames {
		all = append(all, f)
		next := i+1 < len(frames) && frames[i+1].Composite == f.Composite
		if f.Element >= 0 && !next && r.block(string(f.Composite)) {
			all = append(all, message.Frame{Composite: f.Composite, Element: -1})
		}
	}
	return all
}

// Has says whether a PATH ends with an activity of the process, or an iteration of one.
func (g *Gathered) Has(path string) bool {
	name := string(message.Scope(path).Inside())
	return added(name) || slices.ContainsFunc(g.Roster, func(p api.Place) bool { return p.Activity == name })
}

// Host is the node where an activity lives, or source or sink of a block; false: it cannot be in that scope.
func (g *Gathered) Host(scope, activity string) (string, bool) {
	return placesOf(g.Roster).host(message.Scope(scope), activity)
}

// NoActivity is the error of who names an activity that the process does not have.
func (g *Gathered) NoActivity(name string) *api.Error {
	names := make([]string, len(g.Roster))
	for i, p := range g.Roster {
		names[i] = p.Activity
	}
	name = string(message.Scope(name).Inside())
	remedy := "see fmqm status for its activities"
	if near, ok := container.Nearest(name, names); ok {
		remedy = "did you mean " + near + "? See fmqm status for its activities"
	}
	return api.Errorf(api.CodeNotFound, remedy, "%s has no activity %s", g.Process, name)
}
