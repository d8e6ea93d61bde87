package container

import (
	"fmt"
	"strings"
)

// A process, and the activity that begins an instance of it, have containers of one shape: members of
// the same names and types, in the same order, whatever the structures are called and the defaults are
// (N19). Then what is encoded of one can be decoded as the other.

// Misfit says what of have is otherwise than in want, and what to do about it, such as "Job has no
// member line: add it"; empty: they have one shape.
func Misfit(want, have *Type) string {
	what, remedy := Unlike(want, have)
	if what == "" {
		return ""
	}
	return what + ": " + remedy
}

// Unlike is Misfit in its two parts.
func Unlike(want, have *Type) (what, remedy string) {
	return comparison{}.unlike(want, have, have.String())
}

// Shape writes the members of a structure: "{order: string, line: Line}".
func Shape(t *Type) string {
	if len(t.Members) == 0 {
		return "{}"
	}
	members := make([]string, len(t.Members))
	for i, m := range t.Members {
		members[i] = m.Name + ": " + m.Type.String()
	}
	return "{" + strings.Join(members, ", ") + "}"
}

// comparison has the pairs of structures that were found alike, or a type whose members share a
// type many times over would take exponential time.
type comparison map[[2]*Type]bool

// unlike compares two types; have is called name.
func (c comparison) unlike(want, have *Type, name string) (what, remedy string) {
	switch {
	case want == have, c[[2]*Type{want, have}]:
		return "", ""
	case want.Kind != have.Kind:
		return fmt.Sprintf("%s is of type %s", name, have), fmt.Sprintf("make it %s", want)
	case want.Kind == List:
		return c.unlike(want.Elem, have.Elem, "an element of "+name)
	case want.Kind != Structure:
		return "", ""
	}
	for _, m := range want.Members {
		i, ok := have.MemberIndex(m.Name)
		if !ok {
			return fmt.Sprintf("%s has no member %s", name, m.Name), "add it"
		}
		if what, remedy := c.unlike(m.Type, have.Members[i].Type, m.Name+" of "+name); what != "" {
			return what, remedy
		}
	}
	for _, m := range have.Members {
		if _, ok := want.MemberIndex(m.Name); !ok {
			return fmt.Sprintf("%s has the member %s as well", name, m.Name), "remove it"
		}
	}
	for i, m := range want.Members {
		if m.Name != have.Members[i].Name {
			return fmt.Sprintf("member %d of %s is %s and not %s", i+1, name, have.Members[i].Name, m.Name), "write them in the same order"
		}
	}
	c[[2]*Type{want, have}] = true
	return "", ""
}

// Reshape gives the values of s in a structure of the same shape (Misfit). Nothing of them is shared.
func Reshape(s *Struct, to *Type) *Struct {
	shaped := &Struct{Type: to, Fields: make([]Value, len(to.Members))}
	for i, m := range to.Members {
		shaped.Fields[i] = reshape(s.Fields[i], m.Type)
	}
	return shaped
}

func reshape(v Value, to *Type) Value {
	switch v := v.(type) {
	case *Struct:
		return Reshape(v, to)
	case []Value:
		list := make([]Value, len(v))
		for i := range v {
			list[i] = reshape(v[i], to.Elem)
		}
		return list
	}
	return CloneValue(v)
}
