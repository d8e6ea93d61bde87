package condition

import "slices"

// LogicOp is the operator of a Logic node. The numbers are part of the stored format.
type LogicOp uint8

const (
	LogicVar     LogicOp = 1 // the incoming control connector with index Var is TRUE
	LogicNot     LogicOp = 2 // one argument
	LogicAnd     LogicOp = 3 // all arguments; TRUE without any
	LogicOr      LogicOp = 4 // at least one argument; FALSE without any
	LogicAtLeast LogicOp = 5 // at least N of the arguments
	LogicRan     LogicOp = 6 // what the connector with index Var comes from has ended by itself
	LogicSkipped LogicOp = 7 // it has not run, or was cancelled
	LogicFailed  LogicOp = 8 // a deadline or an error has ended it
)

// Logic is a start condition as a tree over the incoming control connectors.
type Logic struct {
	Op   LogicOp
	Var  int
	N    int
	Args []Logic
}

// Connector is what has become of an incoming control connector.
type Connector uint8

const (
	ConnectorFalse   Connector = iota // FALSE: its activity ran
	ConnectorTrue                     // TRUE: its activity ran
	ConnectorSkipped                  // FALSE: its activity did not run, or was cancelled
	ConnectorFailed                   // FALSE: its activity failed
	ConnectorCaught                   // TRUE: its activity failed, and this is the path for it
)

// is says whether a leaf of a Logic holds for it.
func (c Connector) is(op LogicOp) bool {
	switch op {
	case LogicVar:
		return c == ConnectorTrue || c == ConnectorCaught
	case LogicRan:
		return c == ConnectorTrue || c == ConnectorFalse
	case LogicSkipped:
		return c == ConnectorSkipped
	case LogicFailed:
		return c == ConnectorFailed || c == ConnectorCaught
	default:
		return false
	}
}

// Eval says whether the start condition holds, given the state of each incoming
// control connector. It must not ask for more: see AsksEnds.
func (l Logic) Eval(connectors []bool) bool {
	return l.eval(func(_ LogicOp, i int) bool { return connectors[i] })
}

// EvalEnds is Eval of one that may ask how activities ended.
func (l Logic) EvalEnds(connectors []Connector) bool {
	return l.eval(func(op LogicOp, i int) bool { return connectors[i].is(op) })
}

// AsksEnds says whether it asks how an activity ended, so that Eval cannot answer.
func (l Logic) AsksEnds() bool {
	return l.Op >= LogicRan && l.Op <= LogicFailed || slices.ContainsFunc(l.Args, Logic.AsksEnds)
}

// Never says whether it holds for none of the states of its only connector.
func (l Logic) Never(states ...Connector) bool {
	return !slices.ContainsFunc(states, func(c Connector) bool { return l.EvalEnds([]Connector{c}) })
}

// Always says whether it holds for all of the states of its only connector.
func (l Logic) Always(states ...Connector) bool {
	return !slices.ContainsFunc(states, func(c Connector) bool { return !l.EvalEnds([]Connector{c}) })
}

func (l *Logic) eval(leaf func(LogicOp, int) bool) bool {
	switch l.Op {
	case LogicVar, LogicRan, LogicSkipped, LogicFailed:
		return leaf(l.Op, l.Var)
	case LogicNot:
		return !l.Args[0].eval(leaf)
	case LogicAnd:
		for i := range l.Args {
			if !l.Args[i].eval(leaf) {
				return false
			}
		}
		return true
	case LogicOr:
		for i := range l.Args {
			if l.Args[i].eval(leaf) {
				return true
			}
		}
		return false
	case LogicAtLeast:
		n := 0
		for i := range l.Args {
			if l.Args[i].eval(leaf) {
				n++
			}
		}
		return n >= l.N
	}
	return false
}
