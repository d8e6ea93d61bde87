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

// LogicOp is the operator of a Logic node. The numbers are part of the stored format.
type LogicOp uint8

const (
	LogicVar     LogicOp = 1 // the incoming control connector with index Var is TRUE
	LogicNot     LogicOp = 2 // one argument
	LogicAnd     LogicOp = 3 // all arguments; TRUE without any
	LogicOr      LogicOp = 4 // at least one argument; FALSE without any
	LogicAtLeast LogicOp = 5 // at least N of the arguments
)

// Logic is a start condition as a tree over the incoming control connectors.
type Logic struct {
	Op   LogicOp
	Var  int
	N    int
	Args []Logic
}

// Eval says whether the start condition holds, given the state of each incoming
// control connector.
func (l Logic) Eval(connectors []bool) bool {
	switch l.Op {
	case LogicVar:
		return connectors[l.Var]
	case LogicNot:
		return !l.Args[0].Eval(connectors)
	case LogicAnd:
		for _, a := range l.Args {
			if !a.Eval(connectors) {
				return false
			}
		}
		return true
	case LogicOr:
		for _, a := range l.Args {
			if a.Eval(connectors) {
				return true
			}
		}
		return false
	case LogicAtLeast:
		n := 0
		for _, a := range l.Args {
			if a.Eval(connectors) {
				n++
			}
		}
		return n >= l.N
	}
	return false
}
