package interpret

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"fmqm/container"
	"fmqm/definition"
)

// Scope says where inside an instance an activity is: the blocks and bundles around it, outermost
// first, each with its element, counted from 0, and its iteration, counted from 1: "documents#2", "a#1/b#3",
// "line[3]#2" (N10). It is empty at the top; that of one execution of a bundle is its element, "count[3]". What is
// inside a block that was skipped is in no iteration: "documents".
type Scope string

// Path names an activity in the scope as people read it: "documents#2/check", "count[3]". No two
// executions of an instance have the same path.
func (s Scope) Path(activity string) string {
	switch {
	case s == "":
		return activity
	case s.isElementOf(activity):
		return string(s)
	}
	return string(s) + "/" + activity
}

// Element is the number of the innermost element around what is in the scope; empty: there is none.
func (s Scope) Element() string {
	from := strings.LastIndexByte(string(s), '[')
	number, _, _ := strings.Cut(string(s[from+1:]), "]")
	if from < 0 {
		return ""
	}
	return number
}

// isElementOf says whether the scope is an element of a bundle.
func (s Scope) isElementOf(bundle string) bool {
	last := string(s[strings.LastIndexByte(string(s), '/')+1:])
	return strings.HasPrefix(last, bundle+"[") && strings.HasSuffix(last, "]")
}

// iteration is the scope inside a block of s.
func (s Scope) iteration(block string, number int) Scope {
	return Scope(s.Path(block) + "#" + strconv.Itoa(number))
}

// element is the scope of one execution of a bundle of s.
func (s Scope) element(bundle string, number int) Scope {
	return Scope(s.Path(bundle) + "[" + strconv.Itoa(number) + "]")
}

// listing is the scope of which the executions in s are shown together: the elements of a bundle are.
func (s Scope) listing(activity string) Scope {
	if s.isElementOf(activity) {
		return s[:strings.LastIndexByte(string(s), '[')]
	}
	return s
}

// level is where an execution is in one of the activities around it, or, of a bundle, in itself.
type level struct {
	element   int // from 0; -1: none, or in a list of results any
	iteration int // from 1; 0: none
}

// levels gives one for each activity of a scope.
func (s Scope) levels() []level {
	if s == "" {
		return nil
	}
	parts := partsOf(string(s))
	levels := make([]level, len(parts))
	for i, p := range parts {
		levels[i] = level{p.element, p.number}
	}
	return levels
}

// part is an activity in a path, as somebody wrote it.
type part struct {
	name    string
	element int  // -1: none
	number  int  // of the iteration; 0: none
	odd     bool // what stands behind the name is neither
}

func partsOf(path string) []part {
	var parts []part
	for text := range strings.SplitSeq(path, "/") {
		parts = append(parts, partOf(text))
	}
	return parts
}

var pathPart = regexp.MustCompile(`^([^#\[]*)(?:\[(0|[1-9][0-9]{0,8})\])?(?:#([1-9][0-9]{0,8}))?$`)

func partOf(text string) part {
	found := pathPart.FindStringSubmatch(text)
	if found == nil {
		return part{name: text[:strings.IndexAny(text, "#[")], element: -1, odd: true}
	}
	p := part{name: found[1], element: -1}
	if found[2] != "" {
		p.element, _ = strconv.Atoi(found[2])
	}
	p.number, _ = strconv.Atoi(found[3])
	return p
}

// place is where a definition has an activity.
type place struct {
	activity *definition.Activity
	around   []*definition.Activity // the blocks that it is in, and the subprocesses, outermost first
	chain    string                 // the subprocesses around it: "pack/"
	// cancelled: another activity can cancel it, or a block around it can end before what is inside.
	cancelled bool
}

// places are those of all activities of a process, inside blocks too.
type places struct {
	process *definition.Process
	names   []string // in file order
	byName  map[string]place
	given   definition.Children
	depth   int                // how many subprocesses are around
	inside  map[string]*places // of a subprocess that is run, by its name; see child
}

func placesOf(p *definition.Process) *places { return placesIn(p, nil) }

// placesIn are the places of a process where the subprocesses of some processes are run.
func placesIn(p *definition.Process, given []*definition.Process) *places {
	return placesInside(p, definition.ChildrenOf(given), nil, "", 0)
}

func placesInside(p *definition.Process, given definition.Children, outer []*definition.Activity, chain string, depth int) *places {
	named := map[string]bool{} // as what another activity cancels
	for _, a := range p.All() {
		for _, name := range a.Cancels {
			named[name] = true
		}
	}
	early := func(around *definition.Activity) bool {
		return named[around.Name] || around.Deadline != nil || around.Continues || ends(around)
	}
	all := &places{process: p, byName: map[string]place{}, given: given, depth: depth, inside: map[string]*places{}}
	for around, a := range p.All() {
		all.names = append(all.names, a.Name)
		all.byName[a.Name] = place{a, slices.Concat(outer, around), chain, named[a.Name] || ends(a) || slices.ContainsFunc(around, early)}
	}
	return all
}

// ends says whether an activity is a bundle that may end before its elements.
func ends(a *definition.Activity) bool { return a.Bundle != nil && a.Bundle.Until != nil }

// runs says whether an activity is a subprocess that is run, and so takes no results.
func (p *places) runs(a *definition.Activity) bool { return a.Child != nil && p.given.Of(a) != nil }

// child gives the places inside of a subprocess that is run; nil: it is none, or too deep.
func (p *places) child(name string) *places {
	at, ok := p.byName[name]
	if !ok || !p.runs(at.activity) || p.depth >= maxDepth {
		return nil
	}
	if p.inside[name] == nil {
		p.inside[name] = placesInside(p.given.Of(at.activity), p.given, append(slices.Clip(at.around), at.activity), at.chain+name+"/", p.depth+1)
	}
	return p.inside[name]
}

// lookUp gives the places that a path means: one, where it names what is around an activity; a name alone
// that is none of the process's own means the activity in each subprocess that has it. Home is where it was found.
func (p *places) lookUp(path []part) (found []place, home *places, err error) {
	home = p
	for _, outer := range path[:len(path)-1] {
		if inner := home.child(outer.name); inner != nil {
			home = inner
		}
	}
	name := path[len(path)-1].name
	at, err := home.find(name)
	switch {
	case err == nil:
		return []place{at}, home, nil
	case home == p && len(path) == 1:
		if found = p.everywhere(name, map[*definition.Process]bool{p.process: true}); len(found) > 0 {
			return found, p, nil
		}
	}
	return nil, nil, err
}

// everywhere gives the places of a name in subprocesses, in none of which a process is inside of itself.
func (p *places) everywhere(name string, around map[*definition.Process]bool) (found []place) {
	for _, own := range p.names {
		inner := p.child(own)
		if inner == nil || around[inner.process] {
			continue
		}
		if at, ok := inner.byName[name]; ok {
			found = append(found, at)
			continue
		}
		around[inner.process] = true
		found = append(found, inner.everywhere(name, around)...)
		delete(around, inner.process)
	}
	return found
}

// find gives the place of the activity that a path leads to.
func (p *places) find(name string) (place, error) {
	if found, ok := p.byName[name]; ok {
		return found, nil
	}
	if near, ok := container.Nearest(name, p.names); ok {
		return place{}, fmt.Errorf("unknown activity %s: did you mean %s?", name, near)
	}
	return place{}, fmt.Errorf("unknown activity %s: the process has %s", name, strings.Join(p.names, ", "))
}

// from gives where a path means the activity from then on: of a name alone the first iteration of each block, and
// every element of each bundle.
func (p place) from(path []part) ([]level, error) {
	own, outer := path[len(path)-1], path[:len(path)-1]
	levels := p.first()
	for i, around := range p.around {
		for _, o := range outer {
			if o.name == around.Name {
				levels[i] = level{o.element, max(1, o.number)}
				if around.Bundle == nil { // then an iteration is meant
					levels[i] = level{-1, max(1, o.number, o.element)}
				}
			}
		}
	}
	exact := p.inside(outer)
	for i, o := range outer {
		exact = exact && o.within(p.around[i])
	}
	isBundle := p.activity.Bundle != nil
	switch {
	case (exact || len(outer) == 0) && !own.odd && own.number == 0 && (own.element < 0 || isBundle):
		if isBundle {
			levels[len(levels)-1].element = own.element
		}
		return levels, p.limits(levels)
	case own.element >= 0 && !isBundle && len(p.around) == 0:
		return nil, fmt.Errorf("%s has no for_each, and so no elements: write %s, whose list has an entry for each iteration", own.name, own.name)
	case isBundle && (own.number > 0 || own.odd) && p.activity.Block == nil:
		return nil, fmt.Errorf("%s has elements, which count from 0: write %s", own.name, Scope(p.scope(levels)).element(own.name, max(0, own.number)))
	case len(p.around) == 0:
		return nil, fmt.Errorf("%s is %s: write %s, whose list has an entry for each iteration", own.name, p.where(), own.name)
	}
	if at := &levels[len(p.around)-1]; own.number > 0 {
		at.iteration = own.number
	} else if own.element > 0 && !isBundle {
		at.iteration = own.element
	}
	return nil, fmt.Errorf("%s is %s, which has iterations: write %s", own.name, p.where(), p.written(levels))
}

// first are the levels of the activity in the first iteration of each block, and any element.
func (p place) first() []level {
	levels := make([]level, len(p.around), len(p.around)+1)
	for i := range levels {
		levels[i] = level{-1, 1}
	}
	if p.activity.Bundle != nil {
		levels = append(levels, level{-1, 0})
	}
	return levels
}

// within says whether a part of a path names one iteration of what is around: of a subprocess, which is mostly
// once what it is, and of an element that is not repeated, none has to be named.
func (p part) within(around *definition.Activity) bool {
	once := around.Child != nil || p.element >= 0 && around.Exit == nil
	return !p.odd && (p.element < 0 || around.Bundle != nil) && (p.number > 0 || once)
}

// inside says whether these are what is around the place, whatever their iterations.
func (p place) inside(outer []part) bool {
	return slices.EqualFunc(outer, p.around, func(o part, around *definition.Activity) bool { return o.name == around.Name })
}

func (p place) where() string {
	if len(p.around) == 0 {
		return "in no block"
	}
	if around := p.around[len(p.around)-1]; around.Child != nil {
		return "in the subprocess " + around.Name
	}
	return "in the block " + p.around[len(p.around)-1].Name
}

// written is the path of the place there, or of all.
func (p place) written(levels []level) string {
	path := Scope(p.scope(levels)).Path(p.activity.Name)
	if n := len(p.around); n < len(levels) && levels[n].element >= 0 {
		path += "[" + strconv.Itoa(levels[n].element) + "]"
	}
	return path
}

// scope is that of the place there.
func (p place) scope(levels []level) string {
	var scope Scope
	for i, around := range p.around {
		if scope = Scope(scope.Path(around.Name)); levels == nil {
			continue
		}
		if levels[i].element >= 0 {
			scope += Scope("[" + strconv.Itoa(levels[i].element) + "]")
		}
		scope += Scope("#" + strconv.Itoa(levels[i].iteration))
	}
	return string(scope)
}

// limits says which of the numbers is above what there can be.
func (p place) limits(levels []level) error {
	for i, l := range levels {
		of := p.activity
		if i < len(p.around) {
			of = p.around[i]
			if err := limit(of, l.iteration); err != nil {
				return err
			}
		}
		if l.element >= container.MaxList {
			return fmt.Errorf("%s[%d]: a list has at most %d elements, which count from 0", of.Name, l.element, container.MaxList)
		}
	}
	return nil
}

func limit(block *definition.Activity, number int) error {
	switch {
	case block.Exit == nil && number > 1:
		return fmt.Errorf("%s#%d: %s has no exit condition, and so one iteration", block.Name, number, block.Name)
	case block.Exit != nil && number > block.MaxIterations:
		return fmt.Errorf("%s#%d: %s has at most %d iterations (max_iterations)", block.Name, number, block.Name, block.MaxIterations)
	}
	return nil
}
