package interpret

import (
	"errors"
	"fmt"

	"go.yaml.in/yaml/v4"

	"fmqm/definition"
)

// listens is what programs do that are told how many elements a bundle has, when it begins.
type listens interface {
	counted(a *definition.Activity, elements int)
}

// namedElement is an element of a bundle that a key of the results names.
type namedElement struct {
	key    *yaml.Node
	bundle string // its name behind the subprocesses around it: "pack/count"
	name   string
	number int
}

// elements are those that a list names which begins at these levels.
func (p place) elements(levels []level, key *yaml.Node) (all []namedElement) {
	chain := ""
	for i, l := range levels {
		of := p.activity
		if i < len(p.around) {
			of = p.around[i]
		}
		if l.element >= 0 {
			all = append(all, namedElement{key, chain + of.Name, of.Name, l.element})
		}
		if of.Child != nil {
			chain += of.Name + "/"
		}
	}
	return all
}

func (r *results) counted(a *definition.Activity, elements int) {
	r.counts[r.chain+a.Name] = max(r.counts[r.chain+a.Name], elements)
}

// Unused says which results the last run of programs could not take, with line and column: they name an element
// beyond the list of a bundle that has run. Of one that has not run, or in an iteration that never began, nothing is
// said: other results may lead there.
func Unused(programs Programs) error {
	r, ok := programs.(*results)
	if !ok {
		return nil
	}
	var problems []error
	for _, n := range r.named {
		count, ran := r.counts[n.bundle]
		if !ran || n.number < count {
			continue
		}
		remedy := "remove it, or give the list elements"
		if count > 0 {
			remedy = fmt.Sprintf("the last is %s[%d]", n.name, count-1)
		}
		problems = append(problems, fmt.Errorf("%d:%d: %s: the list of %s had %d, and elements count from 0: %s", n.key.Line, n.key.Column, n.key.Value, n.name, count, remedy))
	}
	clear(r.counts)
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("results: %w", errors.Join(problems...))
}
