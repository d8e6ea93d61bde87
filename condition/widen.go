package condition

import (
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"fmqm/container"
)

// widen turns int literals beside doubles into doubles: in ==, !=, arithmetic, in,
// the branches of ?: and the elements of lists. It says whether it changed anything;
// then the types must be found anew, because more may follow.
//
// Order comparisons are left alone: CEL compares int with double exactly.
func widen(a *ast.AST) bool {
	changed := false
	ast.PostOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		for _, group := range alike(a, e) {
			changed = widenGroup(a, group) || changed
		}
	}))
	return changed
}

// alike gives the parts of e that must be of one type.
func alike(a *ast.AST, e ast.Expr) [][]ast.Expr {
	switch e.Kind() {
	case ast.ListKind:
		return [][]ast.Expr{e.AsList().Elements()}
	case ast.CallKind:
		args := e.AsCall().Args()
		switch e.AsCall().FunctionName() {
		case operators.Equals, operators.NotEquals, operators.Add, operators.Subtract,
			operators.Multiply, operators.Divide:
			return [][]ast.Expr{args}
		case operators.Conditional:
			return [][]ast.Expr{args[1:]}
		case operators.In:
			if list := args[1]; list.Kind() == ast.ListKind {
				return [][]ast.Expr{append([]ast.Expr{args[0]}, list.AsList().Elements()...)}
			}
			if a.GetType(args[1].ID()).Kind() == types.ListKind {
				return [][]ast.Expr{args}
			}
		}
	default:
	}
	return nil
}

func widenGroup(a *ast.AST, group []ast.Expr) bool {
	double := false
	for _, e := range group {
		double = double || innermost(a.GetType(e.ID())) == types.DoubleType
	}
	changed := false
	for _, e := range group {
		if double && innermost(a.GetType(e.ID())) == types.IntType && isLiteral(e) {
			toDouble(e)
			changed = true
		}
	}
	return changed
}

// widenTo turns int literals into doubles where what e gives is wanted to be doubles.
func widenTo(a *ast.AST, want *container.Type) bool {
	for want != nil && want.Kind == container.List {
		want = want.Elem
	}
	e := a.Expr()
	if want == nil || want.Kind != container.Double || innermost(a.GetType(e.ID())) != types.IntType || !isLiteral(e) {
		return false
	}
	toDouble(e)
	return true
}

// innermost gives the type of the elements of the elements of a list.
func innermost(t *types.Type) *types.Type {
	for t.Kind() == types.ListKind {
		t = t.Parameters()[0]
	}
	return t
}

// isLiteral says whether e is an int written out, with a sign or in a list or chosen
// by ?: at most, such that a double can hold it exactly.
func isLiteral(e ast.Expr) bool {
	switch e.Kind() {
	case ast.LiteralKind:
		n, ok := e.AsLiteral().(types.Int)
		return ok && exact(n)
	case ast.ListKind:
		return all(e.AsList().Elements(), isLiteral)
	case ast.CallKind:
		args := e.AsCall().Args()
		switch e.AsCall().FunctionName() {
		case operators.Negate:
			return isLiteral(args[0])
		case operators.Conditional:
			return all(args[1:], isLiteral)
		}
	default:
	}
	return false
}

func all(es []ast.Expr, holds func(ast.Expr) bool) bool {
	for _, e := range es {
		if !holds(e) {
			return false
		}
	}
	return true
}

// exact says whether a double can hold n.
func exact(n types.Int) bool {
	f := float64(n)
	return f < 1<<63 && types.Int(f) == n
}

func toDouble(e ast.Expr) {
	switch e.Kind() {
	case ast.LiteralKind:
		n := e.AsLiteral().(types.Int)
		e.SetKindCase(ast.NewExprFactory().NewLiteral(e.ID(), types.Double(n)))
	case ast.ListKind:
		for _, elem := range e.AsList().Elements() {
			toDouble(elem)
		}
	case ast.CallKind:
		args := e.AsCall().Args()
		if e.AsCall().FunctionName() == operators.Conditional {
			args = args[1:]
		}
		for _, arg := range args {
			toDouble(arg)
		}
	default:
	}
}
