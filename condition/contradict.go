package condition

import (
	"math/big"
	"slices"

	"fmqm/internal/sat"
)

// maxContradiction bounds the search for values for which some claims hold. Without an
// answer there may be some.
const maxContradiction = 500

// contradict says that no values make all of the parts TRUE.
func contradict(parts ...*part) bool {
	p := proof{Formula: sat.NewFormula(), bounds: map[string][]bound{}, open: map[string]int{}, scales: map[string]*scale{}}
	for _, part := range parts {
		part.walk(p.gather)
	}
	for _, part := range parts {
		p.Clause(p.literal(part))
	}
	return p.Solve(maxContradiction).Answer == sat.Never
}

// proof is what parts say as clauses.
type proof struct {
	*sat.Formula
	bounds map[string][]bound // by what they are of
	open   map[string]int     // literals of open parts
	scales map[string]*scale
}

// scale is the order of something with the constants that it is compared with: whether it
// is less, and at most, each of them.
type scale struct {
	bounds     []bound // ascending
	less, most []int   // literals
}

func (p *proof) gather(q *part) {
	switch q.op {
	case partLess, partMost, partEqual:
		p.bounds[q.about] = append(p.bounds[q.about], q.bound)
	default:
	}
}

func (p *proof) literal(q *part) int {
	switch q.op {
	case partTrue:
		return p.Yes()
	case partOpen:
		if p.open[q.about] == 0 {
			p.open[q.about] = p.Variable()
		}
		return p.open[q.about]
	case partLess, partMost, partEqual:
		return p.compared(q)
	default:
	}
	// Each arg becomes a literal once, however often it is needed: in a == b == c there would
	// else be twice as many with each one.
	args := make([]int, len(q.args))
	for i, arg := range q.args {
		args[i] = p.literal(arg)
	}
	switch q.op {
	case partNot:
		return -args[0]
	case partAnd:
		return p.And(args...)
	case partOr:
		return p.Or(args...)
	case partSame:
		return p.chosen(args[0], args[1], -args[1])
	default:
		return p.chosen(args[0], args[1], args[2])
	}
}

// chosen is the literal of c ? yes : no.
func (p *proof) chosen(c, yes, no int) int { return p.Or(p.And(c, yes), p.And(-c, no)) }

// compared is the literal of a comparison.
func (p *proof) compared(q *part) int {
	s := p.scale(q)
	i, _ := slices.BinarySearchFunc(s.bounds, q.bound, bound.compare)
	switch q.op {
	case partLess:
		return s.less[i]
	case partMost:
		return s.most[i]
	default:
		return p.And(s.most[i], -s.less[i])
	}
}

// scale gives the scale of what a part is about. What is less than a constant is less
// than all that are greater; between some two constants there is nothing.
func (p *proof) scale(q *part) *scale {
	if s := p.scales[q.about]; s != nil {
		return s
	}
	s := &scale{bounds: p.bounds[q.about]}
	p.scales[q.about] = s
	slices.SortFunc(s.bounds, bound.compare)
	s.bounds = slices.CompactFunc(s.bounds, func(a, b bound) bool { return a.compare(b) == 0 })
	for i, b := range s.bounds {
		less, most := p.Variable(), p.Variable()
		s.less, s.most = append(s.less, less), append(s.most, most)
		p.Clause(-less, most)
		if i > 0 {
			p.Clause(-s.most[i-1], less)
			if q.whole && !wholeBetween(s.bounds[i-1].number, b.number) {
				p.Clause(s.most[i-1], -less)
			}
		}
		if q.whole && !b.number.IsInt() {
			p.Clause(less, -most)
		}
		if q.size && b.number.Sign() <= 0 {
			p.Clause(-less)
		}
	}
	return s
}

// wholeBetween says whether a whole number is greater than a and less than b.
func wholeBetween(a, b *big.Rat) bool {
	next := new(big.Int).Div(a.Num(), a.Denom()) // rounded down
	next.Add(next, big.NewInt(1))
	return new(big.Rat).SetInt(next).Cmp(b) < 0
}
