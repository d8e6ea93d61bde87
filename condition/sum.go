package condition

import (
	"cel.dev/cel-go/common/decls"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// adding is CEL's +, but that the sum of two lists is a list. CEL's own keeps the two, and
// of a sum of many goes through all of them to each element.
func adding(f *decls.FunctionDecl) (*decls.FunctionDecl, error) {
	opts := []decls.FunctionOpt{decls.SingletonBinaryBinding(sum, traits.AdderType)}
	for _, o := range f.OverloadDecls() {
		opts = append(opts, decls.Overload(o.ID(), o.ArgTypes(), o.ResultType()))
	}
	return decls.NewFunction(f.Name(), opts...)
}

func sum(lhs, rhs ref.Val) ref.Val {
	a, ok := lhs.(traits.Lister)
	b, alike := rhs.(traits.Lister)
	if !ok || !alike || grows(a) {
		return lhs.(traits.Adder).Add(rhs)
	}
	n, m := length(a), length(b)
	switch {
	case n == 0:
		return b
	case m == 0:
		return a
	case n+m > MaxCost:
		return types.NewErr("cost limit: the sum of two lists has %d elements", n+m)
	}
	all := make([]ref.Val, 0, n+m)
	for _, l := range []traits.Lister{a, b} {
		for i := range length(l) {
			all = append(all, l.Get(i))
		}
	}
	return types.NewRefValList(adapter{}, all)
}

// grows says whether a list is what a macro is making, which takes one more in place.
func grows(l traits.Lister) bool {
	_, ok := l.(traits.MutableLister)
	return ok
}

func length(l traits.Lister) types.Int {
	n, _ := l.Size().(types.Int)
	return n
}
