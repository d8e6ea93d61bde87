package condition

import (
	"fmt"
	"strings"

	"cel.dev/cel-go/common/ast"

	"fmqm/container"
)

// mismatch is the problem with a text that gives something else than is wanted.
func mismatch(text string, a *ast.AST, v *vocabulary, found *container.Type) Problem {
	e := a.Expr()
	if v.want.Kind == container.Bool {
		p := notBool(text, a, e, "the "+v.form.String())
		if v.form == anExpression {
			p.Found, p.Want = found, v.want
		}
		return p
	}
	it := source(e)
	isName := it != "" && e.Kind() != ast.LiteralKind
	if it == "" {
		it = "the expression"
	}
	remedy := converted(found, v.want, Canonical(text))
	number, quoted := quotedNumber(e)
	switch other := indefinite(v.want); {
	case quoted && (v.want.Kind == container.Int || v.want.Kind == container.Double):
		remedy = fmt.Sprintf("write %s without quotes", number)
	case e.Kind() == ast.LiteralKind && v.want.Kind == container.Double && found.Kind == container.Int:
		remedy = toDoubleRemedy(e, "")
	case remedy != "" && isName:
		remedy += ", or make it " + other
	case remedy == "" && isName:
		remedy = fmt.Sprintf("name %s, or make it one", other)
	case remedy == "":
		remedy = "name " + other
	}
	return Problem{
		Offset:  place(text, a, e),
		Message: fmt.Sprintf("%s is %s", it, typeName(a.GetType(e.ID()))), Remedy: remedy,
		Found: found, Want: v.want,
	}
}

// converted is a text as what is wanted, if there is a function that gives that.
func converted(found, want *container.Type, text string) string {
	const most = 60
	if found == nil {
		return ""
	}
	if len(text) > most {
		text = "…"
	}
	switch from, to := found.Kind, want.Kind; {
	case from == container.Int && to == container.Duration:
		return fmt.Sprintf("write `duration(string(%s) + \"s\")`", text)
	case to == container.String && from < container.Structure,
		to < container.Structure && from == container.String,
		to == container.Int && (from == container.Double || from == container.Timestamp),
		to == container.Double && from == container.Int,
		to == container.Timestamp && from == container.Int:
		return fmt.Sprintf("write `%s(%s)`", to, text)
	}
	return ""
}

// indefinite is a type with its article.
func indefinite(t *container.Type) string {
	name := t.String()
	if strings.Contains("aeiouAEIOU", name[:1]) {
		return "an " + name
	}
	return "a " + name
}
