package condition

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
)

// Claim is what a condition says about the values that it reads, as far as that can be
// told without them: comparisons of one thing with constants or with another thing, and
// what is put together of them with &&, ||, !, ?: and ==. Everything else in it is open:
// TRUE or FALSE, but the same wherever it is written alike.
//
// A part that fails is neither TRUE nor FALSE. Claims take it for one of the two: that
// can only let a condition hold where it would fail, and never the other way round.
type Claim struct {
	says  *part
	about []string // what its parts are about, sorted
	size  int      // parts
	never bool
}

// ClaimOf gives the claim of a condition that Check accepts. There is none of a condition
// that is not accepted or reads nothing.
func ClaimOf(text string, s Scope) (Claim, bool) {
	e, err := environmentOf(s)
	if err != nil {
		return Claim{}, false
	}
	a, problems := typed(text, e, &vocabulary{scope: s})
	if len(problems) > 0 {
		return Claim{}, false
	}
	r := claims{AST: a}
	c := Claim{says: r.part(a.Expr())}
	c.says.walk(func(p *part) {
		c.size++
		if p.about != "" {
			c.about = append(c.about, p.about)
		}
	})
	slices.Sort(c.about)
	c.about = slices.Compact(c.about)
	c.never = contradict(c.says)
	return c, len(c.about) > 0
}

// Size is how many parts the claim has: what a comparison with others takes grows with it.
func (c Claim) Size() int { return c.size }

// Never says that there are no values for which the condition is TRUE. If it says no there
// may be none all the same.
func (c Claim) Never() bool { return c.never }

// Contradict says that there are no values for which all of some conditions are TRUE and
// all of the others FALSE. If it says no there may be none all the same.
func Contradict(holding, others []Claim) bool {
	var parts []*part
	for _, c := range holding {
		parts = append(parts, c.says)
	}
	for _, c := range others {
		parts = append(parts, negated(c.says))
	}
	return contradict(parts...)
}

// Excludes says that there are no values for which both conditions are TRUE. If it says
// no there may be none all the same.
func (c Claim) Excludes(other Claim) bool {
	return shares(c.about, other.about) && contradict(c.says, other.says)
}

// shares says whether two sorted lists have something in common.
func shares(a, b []string) bool {
	for len(a) > 0 && len(b) > 0 {
		switch strings.Compare(a[0], b[0]) {
		case 0:
			return true
		case -1:
			a = a[1:]
		default:
			b = b[1:]
		}
	}
	return false
}

type partOp uint8

const (
	partTrue  partOp = iota
	partAnd          // all args; also none
	partOr           // one of the args
	partNot          // its one arg not
	partIf           // if the first arg the second, else the third
	partSame         // its two args both or neither
	partOpen         // about, which is TRUE or FALSE
	partLess         // about < bound
	partMost         // about <= bound
	partEqual        // about == bound
)

// part is a part of a condition that is TRUE or FALSE.
type part struct {
	op    partOp
	args  []*part
	about string // key of an expression
	whole bool   // about is a whole number
	size  bool   // about is a size, and not below 0
	bound bound
}

func (p *part) walk(visit func(*part)) {
	visit(p)
	for _, arg := range p.args {
		arg.walk(visit)
	}
}

// bound is a constant that something is compared with: a number or a text.
type bound struct {
	number *big.Rat // nil: text
	text   string
}

func (b bound) compare(other bound) int {
	if b.number != nil && other.number != nil {
		return b.number.Cmp(other.number)
	}
	return cmp.Compare(b.text, other.text)
}

// claims reads the claims of an expression of which every part has a type.
type claims struct{ *ast.AST }

func negated(p *part) *part { return &part{op: partNot, args: []*part{p}} }

func (r claims) part(e ast.Expr) *part {
	switch e.Kind() {
	case ast.LiteralKind:
		if b, ok := e.AsLiteral().(types.Bool); ok {
			if p := (&part{op: partTrue}); bool(b) {
				return p
			} else {
				return negated(p)
			}
		}
	case ast.CallKind:
		if p := r.call(e); p != nil {
			return p
		}
	default:
	}
	return &part{op: partOpen, about: key(e)}
}

// call is the part that an operator makes, or nil if it makes none.
func (r claims) call(e ast.Expr) *part {
	args := e.AsCall().Args()
	switch function := e.AsCall().FunctionName(); function {
	case operators.LogicalNot:
		return negated(r.part(args[0]))
	case operators.LogicalAnd, operators.LogicalOr:
		p := &part{op: partAnd}
		if function == operators.LogicalOr {
			p.op = partOr
		}
		for _, arg := range args {
			p.args = append(p.args, r.part(arg))
		}
		return p
	case operators.Conditional:
		return &part{op: partIf, args: []*part{r.part(args[0]), r.part(args[1]), r.part(args[2])}}
	case operators.Less:
		return r.compare(partLess, args[0], args[1])
	case operators.LessEquals:
		return r.compare(partMost, args[0], args[1])
	case operators.Greater:
		return r.compare(partLess, args[1], args[0])
	case operators.GreaterEquals:
		return r.compare(partMost, args[1], args[0])
	case operators.Equals:
		return r.equal(args[0], args[1])
	case operators.NotEquals:
		return negated(r.equal(args[0], args[1]))
	case operators.In:
		return r.in(args[0], args[1])
	}
	return nil
}

func (r claims) equal(a, b ast.Expr) *part {
	if r.GetType(a.ID()).Kind() == types.BoolKind {
		return &part{op: partSame, args: []*part{r.part(a), r.part(b)}}
	}
	if p := r.compare(partEqual, a, b); p != nil {
		return p
	}
	keys := []string{key(a), key(b)}
	slices.Sort(keys)
	return &part{op: partOpen, about: strings.Join(keys, " == ")}
}

func (r claims) in(e, list ast.Expr) *part {
	if list.Kind() != ast.ListKind {
		return nil
	}
	p := &part{op: partOr}
	for _, elem := range list.AsList().Elements() {
		p.args = append(p.args, r.equal(e, elem))
	}
	return p
}

// compare is what a < b, a <= b or a == b says, or nil where the values have no order of
// which always just one of <, == and > holds.
func (r claims) compare(op partOp, a, b ast.Expr) *part {
	if limit, ok := boundOf(b); ok && r.ordered(a) {
		return r.bounded(op, a, limit)
	}
	if limit, ok := boundOf(a); ok && r.ordered(b) {
		switch op {
		case partLess: // limit < b
			return negated(r.bounded(partMost, b, limit))
		case partMost: // limit <= b
			return negated(r.bounded(partLess, b, limit))
		default:
			return r.bounded(op, b, limit)
		}
	}
	if !r.ordered(a) || !r.ordered(b) {
		return nil
	}
	// Of two things, what is about is their difference.
	zero := bound{number: new(big.Rat)}
	if x, y := key(a), key(b); x <= y {
		return &part{op: op, about: x + " - " + y, bound: zero}
	} else if swapped := y + " - " + x; op == partLess {
		return negated(&part{op: partMost, about: swapped, bound: zero})
	} else if op == partMost {
		return negated(&part{op: partLess, about: swapped, bound: zero})
	} else {
		return &part{op: op, about: swapped, bound: zero}
	}
}

func (r claims) bounded(op partOp, e ast.Expr, limit bound) *part {
	return &part{
		op: op, about: key(e), bound: limit,
		whole: r.GetType(e.ID()).Kind() == types.IntKind,
		size:  e.Kind() == ast.CallKind && e.AsCall().FunctionName() == overloads.Size,
	}
}

// ordered says whether the values of e have an order. What is worked out with doubles may
// be no number; a double of a container is one.
func (r claims) ordered(e ast.Expr) bool {
	switch r.GetType(e.ID()).Kind() {
	case types.IntKind, types.StringKind, types.BytesKind, types.TimestampKind, types.DurationKind:
		return true
	case types.DoubleKind:
		return isMember(e)
	default:
		return false
	}
}

// isMember says whether e is a member, or an element of one.
func isMember(e ast.Expr) bool {
	switch e.Kind() {
	case ast.IdentKind:
		return true
	case ast.SelectKind:
		return isMember(e.AsSelect().Operand())
	case ast.CallKind:
		return e.AsCall().FunctionName() == operators.Index && isMember(e.AsCall().Args()[0])
	default:
		return false
	}
}

// boundOf is the constant that e is.
func boundOf(e ast.Expr) (bound, bool) {
	switch e.Kind() {
	case ast.LiteralKind:
		switch v := e.AsLiteral().(type) {
		case types.Int:
			return bound{number: new(big.Rat).SetInt64(int64(v))}, true
		case types.Double:
			n := new(big.Rat).SetFloat64(float64(v))
			return bound{number: n}, n != nil
		case types.String:
			return bound{text: string(v)}, true
		}
	case ast.CallKind:
		if c := e.AsCall(); c.FunctionName() == operators.Negate {
			b, ok := boundOf(c.Args()[0])
			if ok = ok && b.number != nil; ok {
				b.number.Neg(b.number)
			}
			return b, ok
		}
	default:
	}
	return bound{}, false
}

// key is the same for expressions that are written alike, and for no others.
func key(e ast.Expr) string {
	keys := func(es []ast.Expr) string {
		all := make([]string, len(es))
		for i, e := range es {
			all[i] = key(e)
		}
		return "(" + strings.Join(all, ",") + ")"
	}
	switch e.Kind() {
	case ast.LiteralKind:
		v := e.AsLiteral()
		return fmt.Sprintf("%s %q", v.Type().TypeName(), fmt.Sprint(v.Value()))
	case ast.IdentKind:
		return e.AsIdent()
	case ast.SelectKind:
		return key(e.AsSelect().Operand()) + "." + e.AsSelect().FieldName()
	case ast.CallKind:
		c := e.AsCall()
		args := c.Args()
		if c.IsMemberFunction() {
			args = append([]ast.Expr{c.Target()}, args...)
		}
		return c.FunctionName() + keys(args)
	case ast.ListKind:
		return "list" + keys(e.AsList().Elements())
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		return fmt.Sprintf("for %s,%s%s", c.IterVar(), c.AccuVar(),
			keys([]ast.Expr{c.IterRange(), c.AccuInit(), c.LoopCondition(), c.LoopStep(), c.Result()}))
	default: // the language has no others
		return fmt.Sprintf("expression %d", e.ID())
	}
}
