package interpret

import (
	"fmt"
	"iter"
	"slices"

	"fmqm/definition"
)

// All gives every execution that was kept: in file order, a block before what is inside
// it, its iterations one after the other. Their paths are all different.
func (r *Result) All() iter.Seq[*ActivityResult] {
	return func(yield func(*ActivityResult) bool) { all(r.Activities, yield) }
}

func all(activities []ActivityResult, yield func(*ActivityResult) bool) bool {
	for i := range activities {
		a := &activities[i]
		if !yield(a) {
			return false
		}
		for _, inside := range a.Inside {
			if !all(inside, yield) {
				return false
			}
		}
	}
	return true
}

// In gives what is in the scope that a path names: "documents#2"; "documents" is the last
// iteration of that block, and "" the top. It fails if there is no such scope, saying how
// far the block came.
func (r *Result) In(path string) ([]*ActivityResult, error) {
	activities := r.Activities
	if path == "" {
		return pointers(activities), nil
	}
	if err := CheckScope(r.Process, path); err != nil {
		return nil, err
	}
	for _, part := range partsOf(path) {
		i := slices.IndexFunc(activities, func(a ActivityResult) bool { return a.Activity == part.name })
		block := &activities[i]
		at := len(block.Inside) - 1
		if part.number > 0 {
			want := block.Scope.iteration(part.name, part.number)
			at = slices.IndexFunc(block.Inside, func(inside []ActivityResult) bool { return inside[0].Scope == want })
		}
		switch {
		case at >= 0:
			activities = block.Inside[at]
		case len(block.Inside) == 0 || block.Iterations == 0:
			return nil, fmt.Errorf("%s is %s: nothing has begun inside it", block.Path(), block.State)
		default:
			return nil, fmt.Errorf("%s has come to iteration %d: write %s", block.Path(), block.Iterations, block.Scope.iteration(part.name, block.Iterations))
		}
	}
	return pointers(activities), nil
}

func pointers(activities []ActivityResult) []*ActivityResult {
	all := make([]*ActivityResult, len(activities))
	for i := range activities {
		all[i] = &activities[i]
	}
	return all
}

// CheckScope says why a path can be no scope of an instance of p, before one has run.
func CheckScope(p *definition.Process, path string) error {
	parts := partsOf(path)
	last := parts[len(parts)-1].name
	found, err := placesOf(p).find(last)
	switch {
	case err != nil:
		return err
	case found.activity.Child != nil:
		return fmt.Errorf("%s is a subprocess, and what is in its instance is none of this one: --tree shows both", last)
	case found.activity.Block == nil:
		return fmt.Errorf("%s is no block, so nothing is inside it", last)
	case !found.inside(parts[:len(parts)-1]):
		return fmt.Errorf("%s is %s: write %s", last, found.where(), found.written(nil))
	}
	for i, block := range append(slices.Clip(found.around), found.activity) {
		if !parts[i].plain() && !parts[i].iterates() {
			return fmt.Errorf("%s: a block has iterations, which count from 1: write %s#1, or %s for the last", path, block.Name, block.Name)
		}
		if err := limit(block, parts[i].number); err != nil {
			return err
		}
	}
	return nil
}
