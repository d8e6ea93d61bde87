package condition

import (
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/decls"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"fmqm/container"
)

// maxLogic bounds the nodes of a Logic: == and ?: write their parts twice.
const maxLogic = 10_000

// CheckStart reads a start condition: a boolean expression over the names of an
// activity's predecessors, and how these ended: ran(X), skipped(X), failed(X), with && || ! == !=
// ?: true false and parentheses. The variables of the Logic are indexes into names.
func CheckStart(text string, names []string) (Logic, []Problem) {
	return checkStart(text, &vocabulary{start: true}, names)
}

// ends are the functions that ask how a predecessor ended.
var ends = map[string]LogicOp{"ran": LogicRan, "skipped": LogicSkipped, "failed": LogicFailed}

// declareEnds makes them known to the checker.
func declareEnds(e *environment) error {
	for name := range ends {
		f, err := decls.NewFunction(name, decls.Overload(name, []*types.Type{types.BoolType}, types.BoolType))
		if err != nil {
			return err
		}
		if err := e.check.AddFunctions(f); err != nil {
			return err
		}
	}
	return nil
}

func checkStart(text string, v *vocabulary, names []string) (Logic, []Problem) {
	members := make([]container.Member, len(names))
	for i, name := range names {
		members[i] = container.Member{Name: name, Type: container.Scalar(container.Bool)}
	}
	v.scope.Members = container.NewStructure("", members)
	e, err := newEnvironment(v.scope)
	if err == nil {
		err = declareEnds(e)
	}
	if err != nil {
		return Logic{}, []Problem{{Message: err.Error(), Remedy: "correct the names of the predecessors"}}
	}
	a, problems := typed(text, e, v)
	if len(problems) > 0 {
		return Logic{}, problems
	}
	t := translator{text: text, ast: a, names: names}
	if kind := a.GetType(a.Expr().ID()); !kind.IsExactType(types.BoolType) {
		return Logic{}, []Problem{{
			Offset:  place(text, a, a.Expr()),
			Message: "the start condition must be TRUE or FALSE, not " + typeName(kind),
			Remedy:  "name predecessors, as in " + sample(names),
		}}
	}
	n := t.count(a.Expr())
	switch {
	case len(t.problems) > 0:
		return Logic{}, t.problems[:1]
	case n > maxLogic:
		return Logic{}, []Problem{{
			Message: "the start condition nests == and ?: too deep",
			Remedy:  "write it with && and ||",
		}}
	}
	return t.logic(a.Expr()), nil
}

func sample(names []string) string {
	return strings.Join(names[:min(len(names), 2)], " && ")
}

// endProblem is the problem with a function that asks something else than how a
// predecessor ended.
func endProblem(name string, names []string, at int) Problem {
	example := "X"
	if len(names) > 0 {
		example = names[0]
	}
	return Problem{Offset: at, Message: name + " takes the name of one predecessor", Remedy: fmt.Sprintf("write %s(%s)", name, example)}
}

type translator struct {
	text     string
	ast      *ast.AST
	names    []string
	problems []Problem
}

func (t *translator) refuse(e ast.Expr) int {
	t.problems = append(t.problems, Problem{
		Offset:  place(t.text, t.ast, e),
		Message: "a start condition only joins predecessors",
		Remedy:  "use their names with && || ! and parentheses; test data in the transition conditions",
	})
	return 0
}

// count gives the nodes that e will have, at most a little over maxLogic, and refuses
// what has no translation.
func (t *translator) count(e ast.Expr) int {
	switch e.Kind() {
	case ast.IdentKind:
		return 1
	case ast.LiteralKind:
		if _, ok := e.AsLiteral().(types.Bool); ok {
			return 1
		}
	case ast.CallKind:
		factor := 0
		switch name := e.AsCall().FunctionName(); name {
		case "ran", "skipped", "failed":
			if e.AsCall().Args()[0].Kind() != ast.IdentKind {
				t.problems = append(t.problems, endProblem(name, t.names, place(t.text, t.ast, e)))
			}
			return 1
		case operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot:
			factor = 1
		case operators.Equals, operators.NotEquals, operators.Conditional:
			factor = 2
		default:
			return t.refuse(e)
		}
		n := 5
		for _, arg := range e.AsCall().Args() {
			n += factor * t.count(arg)
		}
		return min(n, maxLogic+1)
	default:
	}
	return t.refuse(e)
}

func (t *translator) logic(e ast.Expr) Logic {
	switch e.Kind() {
	case ast.IdentKind:
		return Logic{Op: LogicVar, Var: slices.Index(t.names, e.AsIdent())}
	case ast.LiteralKind:
		if e.AsLiteral() == types.True {
			return Logic{Op: LogicAnd}
		}
		return Logic{Op: LogicOr}
	case ast.CallKind:
		if op := ends[e.AsCall().FunctionName()]; op != 0 {
			return Logic{Op: op, Var: slices.Index(t.names, e.AsCall().Args()[0].AsIdent())}
		}
	default:
	}
	var args []Logic
	for _, arg := range e.AsCall().Args() {
		args = append(args, t.logic(arg))
	}
	switch e.AsCall().FunctionName() {
	case operators.LogicalAnd:
		return join(LogicAnd, args...)
	case operators.LogicalOr:
		return join(LogicOr, args...)
	case operators.LogicalNot:
		return not(args[0])
	case operators.Equals:
		return either(args[0], args[1], not(args[1]))
	case operators.NotEquals:
		return either(args[0], not(args[1]), args[1])
	case operators.Conditional:
		return either(args[0], args[1], args[2])
	}
	panic(fmt.Sprintf("condition: count let %s pass", e.AsCall().FunctionName()))
}

// either is c ? then : otherwise.
func either(c, then, otherwise Logic) Logic {
	return join(LogicOr, join(LogicAnd, c, then), join(LogicAnd, not(c), otherwise))
}

func not(l Logic) Logic {
	if l.Op == LogicNot {
		return l.Args[0]
	}
	return Logic{Op: LogicNot, Args: []Logic{l}}
}

// join flattens a && b && c into one node. A join of nothing stays as it is: it is a
// constant.
func join(op LogicOp, args ...Logic) Logic {
	l := Logic{Op: op}
	for _, a := range args {
		if a.Op == op && len(a.Args) > 0 {
			l.Args = append(l.Args, a.Args...)
		} else {
			l.Args = append(l.Args, a)
		}
	}
	return l
}
