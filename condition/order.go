package condition

import (
	"math"
	"math/big"

	"cel.dev/cel-go/common/decls"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// orders says for each order comparison which results of comparing two values it holds for.
var orders = map[string]func(order int) bool{
	operators.Less:          func(order int) bool { return order < 0 },
	operators.LessEquals:    func(order int) bool { return order <= 0 },
	operators.Greater:       func(order int) bool { return order > 0 },
	operators.GreaterEquals: func(order int) bool { return order >= 0 },
}

// ordering is an order comparison of CEL that compares an int with a double as the numbers
// that they are. CEL's own rounds the int: 9007199254740993 > 9007199254740992.0 is FALSE
// there.
func ordering(f *decls.FunctionDecl, holds func(order int) bool) (*decls.FunctionDecl, error) {
	opts := []decls.FunctionOpt{decls.SingletonBinaryBinding(func(lhs, rhs ref.Val) ref.Val {
		return ordered(lhs, rhs, holds)
	}, traits.ComparerType)}
	for _, o := range f.OverloadDecls() {
		opts = append(opts, decls.Overload(o.ID(), o.ArgTypes(), o.ResultType()))
	}
	return decls.NewFunction(f.Name(), opts...)
}

func ordered(lhs, rhs ref.Val, holds func(order int) bool) ref.Val {
	if n, ok := lhs.(types.Int); ok {
		if d, ok := rhs.(types.Double); ok {
			return mixed(n, d, holds)
		}
	}
	if d, ok := lhs.(types.Double); ok {
		if n, ok := rhs.(types.Int); ok {
			return mixed(n, d, func(order int) bool { return holds(-order) })
		}
	}
	order := lhs.(traits.Comparer).Compare(rhs)
	n, ok := order.(types.Int)
	if !ok {
		return order // an error
	}
	return types.Bool(holds(int(n)))
}

// mixed compares n with d.
func mixed(n types.Int, d types.Double, holds func(order int) bool) ref.Val {
	f := float64(d)
	switch {
	case math.IsNaN(f):
		return types.NewErr("NaN values cannot be ordered") // as CEL says of two doubles
	case math.IsInf(f, 0):
		return types.Bool(holds(map[bool]int{true: -1, false: 1}[f > 0]))
	}
	return types.Bool(holds(new(big.Float).SetInt64(int64(n)).Cmp(big.NewFloat(f))))
}
