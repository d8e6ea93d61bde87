package container

import "fmt"

// Misfit says where two types have not one shape, or nothing: the same members in the same order,
// of the same kinds, whatever their structures are called and whatever defaults they have. What is
// encoded of one can be decoded as the other.
func Misfit(a, b *Type) string { return misfit("", a, b, map[[2]*Type]bool{}) }

// misfit skips pairs of structures that were looked at before.
func misfit(at string, a, b *Type, seen map[[2]*Type]bool) string {
	switch {
	case a == b || seen[[2]*Type{a, b}]:
		return ""
	case a.Kind != b.Kind:
		return fmt.Sprintf("%s is %s, and there %s", place(at), a, b)
	}
	switch a.Kind {
	case List:
		return misfit(at+"[]", a.Elem, b.Elem, seen)
	case Structure:
		seen[[2]*Type{a, b}] = true
		for i, m := range a.Members {
			name := m.Name
			if at != "" {
				name = at + "." + m.Name
			}
			switch {
			case i >= len(b.Members):
				return fmt.Sprintf("%s is not there", name)
			case m.Name != b.Members[i].Name:
				return fmt.Sprintf("%s is member %d, and there %s is", name, i+1, b.Members[i].Name)
			}
			if wrong := misfit(name, m.Type, b.Members[i].Type, seen); wrong != "" {
				return wrong
			}
		}
		if n := len(a.Members); n < len(b.Members) {
			return fmt.Sprintf("%s has no member %s, and there it has", place(at), b.Members[n].Name)
		}
	default:
	}
	return ""
}

func place(at string) string {
	if at == "" {
		return "it"
	}
	return at
}
