package condition

import "fmqm/container"

// MaxText is the longest condition or expression, in bytes.
const MaxText = 4 << 10

// RC is the name of the return code in conditions and mappings. It is an int.
const RC = "_RC"

// Scope is what a condition can see: the members of a structure by their names, the
// return code if RC is set, and the words of the engine that no member hides.
type Scope struct {
	Members *container.Type
	RC      bool
	Words   Words
	Results *container.Type // of one element of _RESULTS; nil: the empty container
}

// Checked is a condition or expression that was checked against its scope, in the form in
// which process tables carry it. Expr is opaque to everybody but Load.
type Checked struct {
	Text    string // as written, for people
	Expr    []byte // the checked expression, without source information
	ReadsRC bool   // _RC occurs in it
	Reads   Words  // the words that occur in it
	Macros  bool   // evaluation can take more than linear time and so needs a cost limit
}

// Problem is one thing wrong with a text. Offset is in bytes from its beginning.
type Problem struct {
	Offset  int
	Message string // what is wrong
	Remedy  string // what to do

	// Found and Want are set where all that is wrong with an expression is its type.
	Found, Want *container.Type
}
