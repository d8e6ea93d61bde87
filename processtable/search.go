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

// writeSearch writes what tables have from format 9 on.
func writeSearch(m *cbor.Map, t *Table) error {
	if len(t.Search) > 0 && t.Format < SearchFormat {
		return fmt.Errorf("format %d has no members that instances are found by", t.Format)
	}
	list(m, keySearch, t.Search, appendName[string])
	return nil
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
