package condition

import (
	"fmt"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"

	"fmqm/container"
)

// MaxTogether bounds what all conditions and expressions that are asked about one result
// of an activity take together, in steps as of MaxCost: some two seconds' work. There may be thousands,
// and each by itself may be within MaxCost.
const MaxTogether = 10_000_000

// Spent is what the conditions and expressions about one result have taken so far. It is for one goroutine;
// its zero value is nothing.
type Spent struct{ steps uint64 }

// take adds the steps of a condition or expression, and says whether they are too many by now.
func (s *Spent) take(steps uint64, f form) error {
	s.steps += steps
	if s.steps > MaxTogether {
		return fmt.Errorf("the %ss of this activity took more than %d steps together: %s", f, MaxTogether, forms[f].cheaper)
	}
	return nil
}

// plainSteps is up to what a condition runs without counting, which takes three to five
// times as long as what is counted.
const plainSteps = 1_000

// plain says what a condition that needs no counting while the texts that it reads are
// short takes at most, by their length.
type plain struct {
	program cel.Program
	parts   uint64  // of the expression
	written int     // bytes of the condition, and so at most of a text in it
	texts   []int   // members that are a string or bytes, by index
	words   []Words // those that are a string
}

// plainOf gives the plain form of an expression that reads texts and single values only,
// and makes no text longer than those.
func plainOf(program cel.Program, e ast.Expr, text string, s Scope) *plain {
	p := &plain{program: program, written: len(text)}
	ast.PostOrderVisit(e, ast.NewExprVisitor(func(ast.Expr) { p.parts++ }))
	reads := readsOf(e)
	for _, word := range s.wordsOf(reads).each() {
		if s.TypeOf(word).Kind == container.String {
			p.words = append(p.words, word)
		}
	}
	for _, name := range reads {
		i, ok := s.Members.MemberIndex(name)
		if !ok {
			continue
		}
		if kind := s.Members.Members[i].Type.Kind; kind == container.String || kind == container.Bytes {
			p.texts = append(p.texts, i)
		}
	}
	return p
}

// most is the most steps that it takes for a container and words: each part goes through
// up to three texts.
func (p *plain) most(out *container.Struct, v *Values) uint64 {
	longest := p.written
	for _, word := range p.words {
		longest = max(longest, len(v.Of(word).(string)))
	}
	for _, i := range p.texts {
		switch v := out.Fields[i].(type) {
		case string:
			longest = max(longest, len(v))
		case []byte:
			longest = max(longest, len(v))
		}
	}
	return p.parts * uint64(1+3*longest/textStep)
}
