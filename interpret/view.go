package interpret

import (
	"fmt"
	"iter"
	"slices"

	"fmqm/definition"
)

// All gives every execution that was kept: in file order, a bundle before its elements and a block before what is
// inside it, its iterations one after the other. Their paths are all different.
func (r *Result) All() iter.Seq[*ActivityResult] {
	return func(yield func(*ActivityResult) bool) { all(r.Activities, yield) }
}

func all(activities []ActivityResult, yield func(*ActivityResult) bool) bool {
	for i := range activities {
		a := &activities[i]
		if !yield(a) || !all(a.Each, yield) {
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
// iteration of that block, "count" the elements of that bundle, and "" the top. An element of the list that has not begun
// is inactive. It fails if there is no such scope, saying how far the block or bundle came.
func (r *Result) In(path string) ([]*ActivityResult, error) {
	activities := r.Activities
	if path == "" {
		return pointers(activities), nil
	}
	if err := CheckScope(r.Process, path); err != nil {
		return nil, err
	}
	for _, p := range partsOf(path) {
		i := slices.IndexFunc(activities, func(a ActivityResult) bool { return a.Activity == p.name })
		var err error
		if activities, err = activities[i].in(p); err != nil {
			return nil, err
		}
	}
	return pointers(activities), nil
}

// in gives what is inside of an execution, of that element and in that iteration.
func (a *ActivityResult) in(p part) ([]ActivityResult, error) {
	nothing := fmt.Errorf("%s is %s: nothing has begun inside it", a.Path(), a.State)
	if a.Definition.Bundle != nil {
		switch {
		case p.element >= len(a.Each) && (a.Counts == nil || p.element < a.Counts.Count):
			return a.unbegun(p.element), nil
		case len(a.Each) == 0:
			return nil, nothing
		case p.element < 0:
			return a.Each, nil
		case p.element >= len(a.Each):
			return nil, fmt.Errorf("%s has %d elements, the last is %s", a.Path(), len(a.Each), a.Each[len(a.Each)-1].Path())
		case a.Definition.Block == nil:
			return a.Each[p.element : p.element+1], nil
		}
		return a.Each[p.element].in(part{name: p.name, element: -1, number: p.number})
	}
	at := len(a.Inside) - 1
	if p.number > 0 {
		want := a.Scope.iteration(p.name, p.number)
		at = slices.IndexFunc(a.Inside, func(inside []ActivityResult) bool { return inside[0].Scope == want })
	}
	switch {
	case at >= 0:
		return a.Inside[at], nil
	case len(a.Inside) == 0 || a.Iterations == 0:
		return nil, nothing
	}
	return nil, fmt.Errorf("%s has come to iteration %d: write %s", a.Path(), a.Iterations, a.Scope.iteration(p.name, a.Iterations))
}

// unbegun is an element of a bundle that has not begun, as every node tells of it, or what is inside of it.
func (a *ActivityResult) unbegun(element int) []ActivityResult {
	one := *a.Definition
	one.Bundle = nil
	scope := a.Scope.element(a.Activity, element)
	if one.Block == nil {
		return []ActivityResult{{Definition: &one, Scope: scope, Activity: a.Activity, Node: a.Node, State: Inactive}}
	}
	var inside []ActivityResult
	for _, of := range one.Block.Activities {
		inside = append(inside, ActivityResult{Definition: of, Scope: scope, Activity: of.Name, Node: of.Node, State: Inactive})
	}
	return inside
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
	case found.activity.Child != nil && found.activity.Bundle == nil:
		return fmt.Errorf("%s is a subprocess, and what is in its instance is none of this one: --tree shows both", last)
	case found.activity.Block == nil && found.activity.Bundle == nil:
		return fmt.Errorf("%s is no block, so nothing is inside it", last)
	case !found.inside(parts[:len(parts)-1]):
		return fmt.Errorf("%s is %s: write %s", last, found.where(), found.written(nil))
	}
	for i, around := range append(slices.Clip(found.around), found.activity) {
		if err := parts[i].names(path, around, i == len(parts)-1); err != nil {
			return err
		}
	}
	return nil
}

// names says why a part of a path can name nothing of what is around, or nothing.
func (p part) names(path string, around *definition.Activity, last bool) error {
	switch {
	case around.Bundle == nil && (p.odd || p.element >= 0):
		return fmt.Errorf("%s: a block has iterations, which count from 1: write %s#1, or %s for the last", path, around.Name, around.Name)
	case around.Bundle != nil && (p.odd || p.element < 0 && (p.number > 0 || !last)):
		return fmt.Errorf("%s: a bundle has elements, which count from 0: write %s[0]", path, around.Name)
	case p.number > 0 && around.Block == nil:
		return fmt.Errorf("%s: %s is no block, and shows no iterations: write %s", path, around.Name, Scope("").element(around.Name, p.element))
	}
	return limit(around, p.number)
}
