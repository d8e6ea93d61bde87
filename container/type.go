package container

// Kind says what sort of value a type describes.
type Kind uint8

// The kinds of the language. The numbers are part of the stored format.
const (
	Bool      Kind = 1 // bool
	Int       Kind = 2 // int64
	Double    Kind = 3 // float64, never NaN or an infinity
	String    Kind = 4 // string, valid UTF-8
	Bytes     Kind = 5 // []byte
	Timestamp Kind = 6 // time.Time in UTC, year 1 to 9999
	Duration  Kind = 7 // time.Duration
	Structure Kind = 8 // *Struct
	List      Kind = 9 // []Value
)

// Limits of the language.
const (
	MaxNesting = 16      // structures and lists inside one another
	MaxList    = 100_000 // elements of one list
	MaxEncoded = 1 << 20 // bytes of one container, encoded as CBOR
	MaxJSON    = 8 << 20 // bytes of one container, written as JSON
)

// Type describes a value. Build structures with NewStructure and lists with
// NewList; the other kinds have no parts: use Scalar. Two structures are the same
// type when they have the same name and members: see SameType.
type Type struct {
	Kind    Kind
	Name    string   // of a structure; empty for the empty container
	Members []Member // of a structure, in the order of the file
	Elem    *Type    // of a list

	depth int            // see Depth
	zero  int            // see ZeroSize
	index map[string]int // of a structure: member name to its index
}

// Member is one named part of a structure. Default is nil where the zero of its
// type is meant.
type Member struct {
	Name    string
	Type    *Type
	Default Value
}

// Value is one of bool, int64, float64, string, []byte, time.Time (UTC),
// time.Duration, []Value and *Struct, according to the Kind of its type.
type Value any

// Struct is a value of a structure type: Fields[i] belongs to Type.Members[i].
type Struct struct {
	Type   *Type
	Fields []Value
}

// Path leads from a structure to one of its members, by member indexes: see
// Resolve. A nil or empty Path is not valid.
type Path []int
