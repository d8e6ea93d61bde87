package processtable

import (
	"fmt"
	"slices"

	"fmqm/container"
	"fmqm/internal/cbor"
)

// MaxSearch is how many members of its input a process may declare to be found by.
const MaxSearch = 8

// Searchable says whether instances can be found by members of a kind.
func Searchable(k container.Kind) bool {
	switch k {
	case container.Bool, container.Int, container.String, container.Timestamp:
		return true
	case container.Double, container.Bytes, container.Duration, container.Structure, container.List:
	}
	return false
}

// lastOf writes what a table has last, from format 8 on: what it has of people, and from format 9 on what instances are found by, and whether
// their origin is told of deadlines.
func (e *encoder) lastOf(t *Table) ([]field, error) {
	all, err := e.peopleOf(t)
	switch {
	case err != nil:
		return nil, err
	case len(t.Search) > 0 && t.Format < SearchFormat:
		return nil, fmt.Errorf("format %d has no members that instances are found by", t.Format)
	case t.Deadlines && t.Format < ToldFormat:
		return nil, fmt.Errorf("format %d has no deadlines that the origin is told of", t.Format)
	}
	if len(t.Search) > 0 {
		paths := cbor.AppendArray(nil, len(t.Search))
		for _, member := range t.Search {
			paths = cbor.AppendText(paths, member)
		}
		all = append(all, field{keySearch, paths})
	}
	if t.Deadlines {
		all = append(all, field{keyDeadlines, cbor.AppendBool(nil, true)})
	}
	return all, nil
}

// last reads it.
func (d *decoder) last(key int) {
	t := &d.table
	switch key {
	case keyStarters:
		t.Starters = d.who(1)
	case keyAdministrator:
		t.Administrator = d.who(1)
	case keyPriorities:
		t.Priority = d.priority()
	case keySearch:
		d.since(SearchFormat)
		t.Search = items(d, MaxSearch, func() string { return d.Text(container.MaxMemberPath) })
	case keyDeadlines:
		d.since(ToldFormat)
		t.Deadlines = d.Bool()
	}
}

// search checks what instances are found by.
func (v *validator) search() error {
	switch {
	case len(v.t.Search) == 0:
		return nil
	case len(v.t.Search) > MaxSearch:
		return fmt.Errorf("search: %d members, of %d that there can be", len(v.t.Search), MaxSearch)
	case !v.t.IsStart():
		return fmt.Errorf("search: no instance is started at %s", v.t.Node)
	}
	for i, member := range v.t.Search {
		_, of, err := v.t.Input.Resolve(member)
		switch {
		case err != nil || len(member) > container.MaxMemberPath:
			return fmt.Errorf("search: %.80q is no member of the input", member)
		case !Searchable(of.Kind):
			return fmt.Errorf("search: %s is a %s, by which no instance is found", member, of.Kind)
		case slices.Contains(v.t.Search[:i], member):
			return fmt.Errorf("search: %s occurs twice", member)
		}
	}
	return nil
}
