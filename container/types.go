package container

// scalars are the shared types of the kinds without parts.
var scalars = [...]*Type{
	Bool:      {Kind: Bool, zero: 1},
	Int:       {Kind: Int, zero: 1},
	Double:    {Kind: Double, zero: 9},
	String:    {Kind: String, zero: 1},
	Bytes:     {Kind: Bytes, zero: 1},
	Timestamp: {Kind: Timestamp, zero: 3},
	Duration:  {Kind: Duration, zero: 1},
}

var kindNames = [...]string{
	Bool: "bool", Int: "int", Double: "double", String: "string", Bytes: "bytes",
	Timestamp: "timestamp", Duration: "duration", Structure: "structure", List: "list",
}

// Empty is the structure without members and without a name: the container of an
// activity whose definition names none.
var Empty = NewStructure("", nil)

// maxZero is where ZeroSize stops counting, so that a structure of structures of
// structures cannot overflow it.
const maxZero = 1 << 40

// NewStructure builds a structure type. It keeps members, which must not change
// afterwards; their types must have been built before. Names must be unique and
// defaults of their members' types: the definition and the codec of tables check it.
func NewStructure(name string, members []Member) *Type {
	t := &Type{
		Kind: Structure, Name: name, Members: members,
		depth: 1, zero: headSize(uint64(len(members))),
		index: make(map[string]int, len(members)),
	}
	for i, m := range members {
		t.index[m.Name] = i
		t.depth = max(t.depth, 1+m.Type.depth)
		t.zero = min(t.zero+m.zeroSize(), maxZero)
	}
	return t
}

// NewList builds the type of lists of elem.
func NewList(elem *Type) *Type {
	return &Type{Kind: List, Elem: elem, depth: 1 + elem.depth, zero: 1}
}

// Scalar gives the type of a kind without parts; one shared instance for each.
// It panics for Structure, List and numbers that are no Kind.
func Scalar(k Kind) *Type {
	if k < Bool || k > Duration {
		panic("container: Scalar of " + k.String() + ": use NewStructure or NewList")
	}
	return scalars[k]
}

// ParseKind gives the kind without parts that a definition calls name, such as "int".
func ParseKind(name string) (Kind, bool) {
	for k := Bool; k <= Duration; k++ {
		if kindNames[k] == name {
			return k, true
		}
	}
	return 0, false
}

// String gives the kind as definitions write it.
func (k Kind) String() string {
	if k < Bool || k > List {
		return "no kind"
	}
	return kindNames[k]
}

// String gives the type as definitions write it: "Order", "[string]", "int"; the
// empty container is "{}".
func (t *Type) String() string {
	switch {
	case t == nil:
		return "no type"
	case t.Kind == List:
		return "[" + t.Elem.String() + "]"
	case t.Kind == Structure && t.Name == "":
		return "{}"
	case t.Kind == Structure:
		return t.Name
	}
	return t.Kind.String()
}

// MemberIndex gives the index of the member with that name.
func (t *Type) MemberIndex(name string) (int, bool) {
	i, ok := t.index[name]
	return i, ok
}

// MemberNames gives the names of a structure's members, in its order.
func (t *Type) MemberNames() []string {
	names := make([]string, len(t.Members))
	for i, m := range t.Members {
		names[i] = m.Name
	}
	return names
}

// Depth says how many structures and lists are inside one another in a value of
// type t: 0 for a scalar, 1 for a structure of scalars. The limit is MaxNesting.
func Depth(t *Type) int { return t.depth }

// ZeroSize is the size in bytes of the all-default value of t, encoded as CBOR: the
// least that such a container can be asked to hold. A definition must keep it within
// MaxEncoded before it calls New, because a few structures that contain one another
// many times can describe more leaves than there is memory.
func ZeroSize(t *Type) int { return t.zero }

func (m Member) zeroSize() int {
	if m.Default != nil {
		return encodedSize(m.Default)
	}
	return m.Type.zero
}

// SameType says whether a and b are the same type: of one kind, and for structures
// with one name and the same members with the same defaults, in the same order.
// Types that were decoded at different nodes are compared with it, never as pointers.
func SameType(a, b *Type) bool { return sameType(a, b, nil) }

// Equal is SameType; comparison libraries look for it.
func (t *Type) Equal(other *Type) bool { return SameType(t, other) }

// sameType skips pairs of structures that were found equal before, or a type whose
// members share a type many times over would take exponential time.
func sameType(a, b *Type, seen map[[2]*Type]bool) bool {
	if a == b {
		return true
	}
	if a == nil || b == nil || a.Kind != b.Kind {
		return false
	}
	switch a.Kind {
	case List:
		return a.depth == b.depth && sameType(a.Elem, b.Elem, seen)
	case Structure:
		if seen[[2]*Type{a, b}] {
			return true
		}
		if seen == nil {
			seen = map[[2]*Type]bool{}
		}
		if !sameMembers(a, b, seen) {
			return false
		}
		seen[[2]*Type{a, b}] = true
	default:
	}
	return true
}

func sameMembers(a, b *Type, seen map[[2]*Type]bool) bool {
	if a.Name != b.Name || len(a.Members) != len(b.Members) || a.depth != b.depth {
		return false
	}
	for i, m := range a.Members {
		n := b.Members[i]
		if m.Name != n.Name || !sameType(m.Type, n.Type, seen) || !sameDefault(m, n) {
			return false
		}
	}
	return true
}

// sameDefault takes a default that is the zero of its type as no default.
func sameDefault(m, n Member) bool {
	if m.Default == nil && n.Default == nil {
		return true
	}
	d, e := m.Default, n.Default
	if d == nil {
		d = Zero(m.Type)
	}
	if e == nil {
		e = Zero(n.Type)
	}
	return Equal(d, e)
}
