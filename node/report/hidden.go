package report

import (
	"slices"
	"strings"

	"fmqm/api"
	"fmqm/message"
	"fmqm/processtable"
)

// hidden gives the line of what a PATH names inside of a composite that is unknown, as where its home does not answer: nobody tells
// then how far it is, and that there is no line of what is inside says nothing. False: it is not inside of that, or others tell of it.
func (r *reading) hidden(path string, around api.Activity) (inside api.Activity, hides bool) {
	if path == "" || around.State != api.ActivityUnknown {
		return inside, false
	}
	full := message.Scope(path).Full()
	outer, last := api.CutScope(string(full))
	name := string(message.Scope(last).Inside())
	i, known := r.index[name]
	if !known {
		return inside, false
	}
	scope := message.Scope(outer)
	if anywhere := string(full) == name; anywhere {
		scope = r.notBegun(name, around)
		hides = scope != "" && !r.hasLine(path, around, func(a api.Activity) bool { return !a.State.Ended() }) // another iteration may be under way
	} else {
		rest, is := strings.CutPrefix(string(full), api.InScope(around.Scope, around.Activity))
		hides = is && rest != "" && strings.ContainsAny(rest[:1], "[~#/") && !r.hasLine(path, around, func(api.Activity) bool { return true })
	}
	inside = around
	inside.Scope, inside.Activity, inside.Node = string(scope), name, processtable.NodeID(r.all[i].Node).Word()
	return inside, hides
}

// notBegun is the scope of an activity in a composite of which no iteration is known; empty: it is not inside of that.
func (r *reading) notBegun(activity string, around api.Activity) message.Scope {
	composites := r.around(activity)
	at := slices.Index(composites, around.Activity)
	if at < 0 {
		return ""
	}
	scope := message.Scope(around.Scope)
	for _, c := range composites[at:] {
		scope = scope.Enter(message.Frame{Composite: processtable.ActivityID(c), Element: -1})
	}
	return scope
}

// hasLine says whether something that a PATH names has such a line inside of a composite.
func (r *reading) hasLine(path string, around api.Activity, such func(api.Activity) bool) bool {
	composite := api.InScope(around.Scope, around.Activity)
	return slices.ContainsFunc(r.lines, func(a api.Activity) bool {
		return a.Scope != around.Scope && InPath(path, a.Scope, a.Activity) && InPath(composite, a.Scope, a.Activity) && such(a)
	})
}
