package report

import (
	"slices"
	"strings"

	"fmqm/api"
	"fmqm/message"
	"fmqm/processtable"
)

// places is a roster, to be looked up: which activities are inside of which block, and where they live.
type places struct {
	flat   bool // it does not say what is inside of what: no block is in it
	all    []api.Place
	index  map[string]int
	inside map[string][]int
}

func placesOf(roster []api.Place) *places {
	p := &places{flat: true, all: roster, index: make(map[string]int, len(roster)), inside: map[string][]int{}}
	for i, at := range roster {
		p.index[at.Activity] = i
		p.inside[at.Inside] = append(p.inside[at.Inside], i)
		p.flat = p.flat && at.Inside == "" && !at.Each && len(at.At) == 0
	}
	return p
}

// block says whether something is inside of an activity.
func (p *places) block(activity string) bool { return activity != "" && len(p.inside[activity]) > 0 }

// fits says whether something can be in the scope, as far as a roster tells: it has the blocks that
// are around one another there, each in an iteration. How many iterations it may have only the tables
// say that are inside.
func (p *places) fits(scope message.Scope) bool {
	frames, err := scope.Frames()
	if err != nil || p.flat {
		return err == nil
	}
	inside, element := "", false
	for _, f := range frames {
		name := string(f.Composite)
		i, known := p.index[name]
		switch {
		case !known, p.all[i].Inside != inside && !(element && inside == name):
			return false
		case f.Element >= 0 && (f.Iteration > 0 || inside == name),
			f.Element < 0 && (f.Iteration == 0 || !p.block(name) && len(p.all[i].At) == 0):
			return false
		}
		inside, element = name, f.Element >= 0
	}
	return true
}

// hosts says whether a node has what an activity is in a scope: also what a bundle, or a call, has begun
// there, of the same name.
func (p *places) hosts(scope message.Scope, activity, node string) bool {
	if i, known := p.index[activity]; known && isWork(scope, activity) {
		return p.fits(scope) && slices.Contains(p.all[i].At, node)
	}
	host, there := p.host(scope, activity)
	return there && host == node
}

// isWork says whether an activity in a scope is what does the work of a call.
func isWork(scope message.Scope, activity string) bool {
	if string(scope.Inside()) != activity {
		return false
	}
	frames, err := scope.Frames()
	return err == nil && frames[len(frames)-1].Element < 0
}

// ShownScope is the scope of an activity as people are shown it: what does the work of a call is the call.
func ShownScope(scope message.Scope, activity string) string {
	if scope == "" {
		return ""
	}
	if isWork(scope, activity) {
		scope = scope.Leave()
	}
	return string(scope.Shown())
}

// host is the node where an activity lives, or, in a block, its source or sink; false: it cannot be in
// that scope, or is the process's source or sink.
func (p *places) host(scope message.Scope, activity string) (string, bool) {
	name, inside := activity, string(scope.Inside())
	if added(activity) {
		if name = inside; p.flat || inside == "" {
			return "", false
		}
	}
	i, known := p.index[name]
	if !known || !p.fits(scope) || !p.flat && name == activity && p.all[i].Inside != inside && inside != name {
		return "", false
	}
	return p.all[i].Node, true
}

// added: the compiler has added the activity.
func added(activity string) bool {
	return activity == string(processtable.Source) || activity == string(processtable.Sink)
}

// around gives the blocks around an activity, outermost first.
func (p *places) around(activity string) (names []string) {
	for i, known := p.index[activity]; known && p.all[i].Inside != "" && len(names) < message.MaxNesting; i, known = p.index[p.all[i].Inside] {
		names = append(names, p.all[i].Inside)
	}
	slices.Reverse(names)
	return names
}

// order says where a line stands among all others: in the file's order, a block before what is inside
// of it, and that by its iterations. Two are compared with slices.Compare.
func (p *places) order(scope message.Scope, activity string) []int {
	frames, _ := scope.Frames()
	at := make([]int, 0, 4*len(frames)+1)
	for _, f := range frames {
		at = append(at, p.rank(string(f.Composite)), f.Element, f.Iteration, f.Run)
	}
	return append(at, p.rank(activity))
}

// rank is where an activity stands in its block.
func (p *places) rank(activity string) int {
	i, known := p.index[activity]
	switch {
	case known:
		return i
	case activity == string(processtable.Source):
		return -1
	}
	return len(p.all)
}

// InPath says whether an activity in a scope is what a PATH names, or inside of it: "documents" is the
// block in all its iterations, "documents#2" one of these, "check" an activity wherever it is.
func InPath(path, scope, activity string) bool {
	path = string(message.Scope(path).Full())
	outer, last := api.CutScope(path)
	if strings.ContainsAny(last, "[~#") {
		return message.Scope(scope).Within(message.Scope(path))
	}
	if activity == last && (scope == outer || outer == "" && !added(last)) {
		return true
	}
	frames, _ := message.Scope(scope).Frames()
	around := message.Scope("")
	for _, f := range frames {
		if string(f.Composite) == last && (outer == "" || string(around) == outer) {
			return true
		}
		around = around.Enter(f)
	}
	return false
}
