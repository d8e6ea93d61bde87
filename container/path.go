package container

import (
	"fmt"
	"slices"
	"strings"
)

// Resolve finds the member that path names, such as "order.quantity", in structure
// t, and gives its Path and type. A path cannot lead into a list: a list is one leaf
// (N8). The error names the member that is missing, or is no structure, and what
// there is.
func (t *Type) Resolve(path string) (Path, *Type, error) {
	if path == "" {
		return nil, nil, fault("write the name of a member of "+t.String(), "the path names no member")
	}
	steps := strings.Split(path, ".")
	p := make(Path, 0, len(steps))
	at := t
	for i, name := range steps {
		if at.Kind != Structure {
			owner := strings.Join(steps[:i], ".")
			return nil, nil, inMember(path, fault("name "+owner+" itself",
				"%s is a %s (%s) and has no members that a path can name", owner, at.Kind, at))
		}
		m, ok := at.index[name]
		if !ok {
			return nil, nil, nested(steps[:i], unknownMember(at, name))
		}
		p, at = append(p, m), at.Members[m].Type
	}
	return p, at, nil
}

func nested(outer []string, err error) error {
	for _, name := range slices.Backward(outer) {
		err = inMember(name, err)
	}
	return err
}

// PathString gives a path of t as Resolve reads it.
func (t *Type) PathString(p Path) string {
	names := make([]string, len(p))
	for i, m := range p {
		names[i] = t.Members[m].Name
		t = t.Members[m].Type
	}
	return strings.Join(names, ".")
}

// TypeAt gives the type of the member that p leads to. It says so if p is not a path
// of t, as a table from elsewhere could have it.
func (t *Type) TypeAt(p Path) (*Type, error) {
	if len(p) == 0 {
		return nil, fault("", "an empty path")
	}
	for _, m := range p {
		if t.Kind != Structure || m < 0 || m >= len(t.Members) {
			return nil, fault("", "path %s: %s has no member number %d", fmt.Sprint([]int(p)), t, m)
		}
		t = t.Members[m].Type
	}
	return t, nil
}

// Get gives the value that p leads to. It is not a copy: it must not be changed. p
// must be a path of the structure's type.
func (s *Struct) Get(p Path) Value {
	for _, m := range p[:len(p)-1] {
		s = s.Fields[m].(*Struct)
	}
	return s.Fields[p[len(p)-1]]
}

// Assign gives the member that p leads to the value v, which must be of its type. A
// structure is assigned leaf by leaf, a list is one leaf (N8). What is mutable is
// copied, so v stays the caller's.
func (s *Struct) Assign(p Path, v Value) { s.set(p, v, CloneValue) }

// Share is Assign of a value that nobody changes any more: lists and bytes of it are the same ones in both,
// so that a list of a hundred thousand structures is not there twice.
func (s *Struct) Share(p Path, v Value) { s.set(p, v, func(v Value) Value { return v }) }

func (s *Struct) set(p Path, v Value, leaf func(Value) Value) {
	for _, m := range p[:len(p)-1] {
		s = s.Fields[m].(*Struct)
	}
	s.assign(p[len(p)-1], v, leaf)
}

// Append adds v, which must be of its elements' type, to the end of the list that p leads to. What is
// mutable is copied, so v stays the caller's, and so does the list as it was. It fails at MaxList.
func (s *Struct) Append(p Path, v Value) error {
	list, _ := s.Get(p).([]Value)
	if err := checkLength(len(list) + 1); err != nil {
		return err
	}
	for _, m := range p[:len(p)-1] {
		s = s.Fields[m].(*Struct)
	}
	s.Fields[p[len(p)-1]] = append(slices.Clip(list), CloneValue(v))
	return nil
}

// assign keeps nested structures in place and so their own *Type, which may be
// another instance than that of v.
func (s *Struct) assign(i int, v Value, leaf func(Value) Value) {
	from, ok := v.(*Struct)
	if !ok {
		s.Fields[i] = leaf(v)
		return
	}
	to := s.Fields[i].(*Struct)
	for j := range to.Fields {
		to.assign(j, from.Fields[j], leaf)
	}
}
