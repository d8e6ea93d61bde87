package container

import (
	"slices"
	"strings"
)

// Members says which members of containers are to be overwritten: all, or those that one of the paths names.
// A path such as "person.name" names the member name of each member person, wherever in a container such a
// structure is, also among the elements of a list; "name" names each member of that name. So whoever names too little of
// a path has more overwritten, and never less.
type Members struct {
	All   bool
	Paths []string // as Resolve reads them, but that a step may lead into a list
}

// MaxMembers is how many paths Members have, at most, and MaxMemberPath how many bytes one has.
const (
	MaxMembers    = 100
	MaxMemberPath = 256
)

// Check says what is wrong with the paths, or nil.
func (m *Members) Check() error {
	switch {
	case m.All && len(m.Paths) > 0:
		return fault("name members, or all data", "both all data and members are named")
	case !m.All && len(m.Paths) == 0:
		return fault("name at least one", "no member is named")
	case len(m.Paths) > MaxMembers:
		return fault("name a structure with all that is in it", "%d members are named, and at most %d can be", len(m.Paths), MaxMembers)
	}
	for _, path := range m.Paths {
		if len(path) > MaxMemberPath || slices.Contains(strings.Split(path, "."), "") {
			return fault("write names of members with dots between them, as in person.name", "%.80q names no member", path)
		}
	}
	return nil
}

// Erase gives the value, of type t, with its defaults where m names them, and says whether it has changed. A value
// that changes is a copy.
func (m *Members) Erase(t *Type, v Value) (_ Value, changed bool) {
	if m.All {
		none := Zero(t)
		return none, !Equal(none, v)
	}
	whole := CloneValue(v)
	for _, path := range m.Paths {
		erase(t, whole, strings.Split(path, "."))
	}
	if Equal(whole, v) {
		return v, false
	}
	return whole, true
}

// erase overwrites in a value what a path names, from wherever it begins.
func erase(t *Type, v Value, path []string) {
	switch t.Kind {
	case List:
		for _, e := range v.([]Value) {
			erase(t.Elem, e, path)
		}
	case Structure:
		s := v.(*Struct)
		eraseAt(t, s, path)
		for i, m := range t.Members {
			erase(m.Type, s.Fields[i], path)
		}
	case Bool, Int, Double, String, Bytes, Timestamp, Duration:
	}
}

// eraseAt overwrites what a path names that begins in this very structure.
func eraseAt(t *Type, s *Struct, path []string) {
	i, has := t.index[path[0]]
	if !has {
		return
	}
	if len(path) == 1 {
		s.Fields[i] = t.Members[i].zero()
		return
	}
	of, inside := t.Members[i].Type, []Value{s.Fields[i]}
	for of.Kind == List {
		var elements []Value
		for _, v := range inside {
			elements = append(elements, v.([]Value)...)
		}
		of, inside = of.Elem, elements
	}
	if of.Kind != Structure {
		return
	}
	for _, v := range inside {
		eraseAt(of, v.(*Struct), path[1:])
	}
}

// Names says whether a path names anything in values of a type.
func (t *Type) Names(path string) bool { return t.names(strings.Split(path, ".")) }

func (t *Type) names(path []string) bool {
	switch t.Kind {
	case List:
		return t.Elem.names(path)
	case Structure:
		return t.namesAt(path) || slices.ContainsFunc(t.Members, func(m Member) bool { return m.Type.names(path) })
	case Bool, Int, Double, String, Bytes, Timestamp, Duration:
	}
	return false
}

func (t *Type) namesAt(path []string) bool {
	for t.Kind == List {
		t = t.Elem
	}
	if t.Kind != Structure {
		return false
	}
	i, has := t.index[path[0]]
	return has && (len(path) == 1 || t.Members[i].Type.namesAt(path[1:]))
}
