package interpret

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fmqm/container"
	"fmqm/definition"
)

// Scope says where inside an instance an activity is: the blocks around it, outermost
// first, each with its iteration, counted from 1: "documents#2", "a#1/b#3" (N10). It is
// empty at the top. What is inside a block that was skipped is in no iteration: "documents".
type Scope string

// Path names an activity in the scope as people read it: "documents#2/check". No two
// executions of an instance have the same path.
func (s Scope) Path(activity string) string {
	if s == "" {
		return activity
	}
	return string(s) + "/" + activity
}

// iteration is the scope inside a block of s.
func (s Scope) iteration(block string, number int) Scope {
	return Scope(s.Path(block) + "#" + strconv.Itoa(number))
}

// iterations gives the iteration of each block of a scope that has begun.
func (s Scope) iterations() []int {
	if s == "" {
		return nil
	}
	parts := strings.Split(string(s), "/")
	numbers := make([]int, len(parts))
	for i, part := range parts {
		numbers[i] = partOf(part).number
	}
	return numbers
}

// part is an activity in a path, as somebody wrote it.
type part struct {
	name   string
	mark   byte // what stands behind the name: # of an iteration, [ of an element, or nothing
	number int  // behind the mark; 0: none, or not one from 1 on
}

func (p part) plain() bool    { return p.mark == 0 }
func (p part) iterates() bool { return p.mark == '#' && p.number > 0 }

func partsOf(path string) []part {
	var parts []part
	for text := range strings.SplitSeq(path, "/") {
		parts = append(parts, partOf(text))
	}
	return parts
}

func partOf(text string) part {
	at := strings.IndexAny(text, "#[")
	if at < 0 {
		return part{name: text}
	}
	p, digits := part{name: text[:at], mark: text[at]}, text[at+1:]
	if p.mark == '[' {
		digits = strings.TrimSuffix(digits, "]")
	}
	if n, err := strconv.Atoi(digits); err == nil && n > 0 && strconv.Itoa(n) == digits {
		p.number = n
	}
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
	early := func(block *definition.Activity) bool {
		return named[block.Name] || block.Deadline != nil || block.Continues
	}
	all := &places{process: p, byName: map[string]place{}, given: given, depth: depth, inside: map[string]*places{}}
	for around, a := range p.All() {
		all.names = append(all.names, a.Name)
		all.byName[a.Name] = place{a, slices.Concat(outer, around), chain, named[a.Name] || slices.ContainsFunc(around, early)}
	}
	return all
}

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

// from gives the iterations from which on a path means the activity: of a name alone the
// first of each block.
func (p place) from(path []part) ([]int, error) {
	own, outer := path[len(path)-1], path[:len(path)-1]
	numbers := make([]int, len(p.around))
	for i, block := range p.around {
		numbers[i] = 1
		for _, o := range outer {
			if o.name == block.Name && o.number > 0 {
				numbers[i] = o.number
			}
		}
	}
	exact := p.inside(outer)
	for i, o := range outer { // a subprocess is mostly once what it is
		exact = exact && (o.iterates() || o.plain() && p.around[i].Child != nil)
	}
	if own.plain() && (exact || len(outer) == 0) {
		return numbers, p.limits(numbers)
	}
	if len(p.around) == 0 {
		return nil, fmt.Errorf("%s is %s: write %s, whose list has an entry for each iteration", own.name, p.where(), own.name)
	}
	if own.number > 0 {
		numbers[len(numbers)-1] = own.number
	}
	return nil, fmt.Errorf("%s is %s, which has iterations: write %s", own.name, p.where(), p.written(numbers))
}

// inside says whether these are the blocks around the place, whatever their iterations.
func (p place) inside(outer []part) bool {
	return slices.EqualFunc(outer, p.around, func(o part, block *definition.Activity) bool { return o.name == block.Name })
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

// written is the path of the place in these iterations, or of all.
func (p place) written(numbers []int) string {
	var scope Scope
	for i, block := range p.around {
		if scope = Scope(scope.Path(block.Name)); numbers != nil {
			scope += Scope("#" + strconv.Itoa(numbers[i]))
		}
	}
	return scope.Path(p.activity.Name)
}

// limits says which of the numbers is above what its block can come to.
func (p place) limits(numbers []int) error {
	for i, block := range p.around {
		if err := limit(block, numbers[i]); err != nil {
			return err
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
