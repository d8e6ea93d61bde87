package condition

import (
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// Compared is a text that a word is compared with.
type Compared struct {
	Text   string
	Offset int // in bytes, where it stands
}

// ComparedWith gives the texts, written out, that a word is compared with in a condition or expression that
// Check or CheckExpr accepts: by == and !=, or as elements of a list, by in.
func ComparedWith(text string, s Scope, word Words) []Compared {
	if s.seen()&word == 0 {
		return nil
	}
	a, problems := parse(text, aCondition)
	if len(problems) > 0 {
		return nil
	}
	c := comparisons{AST: a, text: text, word: word.String()}
	ast.PostOrderVisit(a.Expr(), ast.NewExprVisitor(c.visit))
	return c.found
}

type comparisons struct {
	*ast.AST
	text, word string
	found      []Compared
}

func (c *comparisons) visit(e ast.Expr) {
	if e.Kind() != ast.CallKind {
		return
	}
	args := e.AsCall().Args()
	switch e.AsCall().FunctionName() {
	case operators.Equals, operators.NotEquals:
		if c.is(args[0]) {
			c.literal(args[1])
		} else if c.is(args[1]) {
			c.literal(args[0])
		}
	case operators.In:
		if c.is(args[0]) && args[1].Kind() == ast.ListKind {
			for _, element := range args[1].AsList().Elements() {
				c.literal(element)
			}
		}
	}
}

func (c *comparisons) is(e ast.Expr) bool { return e.Kind() == ast.IdentKind && e.AsIdent() == c.word }

func (c *comparisons) literal(e ast.Expr) {
	if e.Kind() != ast.LiteralKind {
		return
	}
	if value, ok := e.AsLiteral().(types.String); ok {
		c.found = append(c.found, Compared{string(value), place(c.text, c.AST, e)})
	}
}
