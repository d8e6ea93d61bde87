package condition

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/checker"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/parser"
	"google.golang.org/protobuf/proto"

	"fmqm/container"
)

// Check parses and types a condition, and gives the form that is shipped and loaded.
// With problems the Checked is of no use. The same text and scope give the same bytes.
func Check(text string, s Scope) (Checked, []Problem) {
	return check(text, &vocabulary{scope: s, want: aBool})
}

// CheckExpr is Check for an expression that gives a value: of just the type that is wanted.
// Where that is a double, or a list of such, an int that is written out is one. A problem
// with the type says what was found and wanted.
func CheckExpr(text string, s Scope, want *container.Type) (Checked, []Problem) {
	return check(text, &vocabulary{scope: s, form: anExpression, want: want})
}

func check(text string, v *vocabulary) (Checked, []Problem) {
	s := v.scope
	e, err := environmentOf(s)
	if err != nil {
		return Checked{}, []Problem{{Message: err.Error(), Remedy: "correct the structures"}}
	}
	a, problems := typed(text, e, v)
	if len(problems) > 0 {
		return Checked{}, problems
	}
	if found := e.types.container(a.GetType(a.Expr().ID())); !fits(found, v.want) {
		return Checked{}, []Problem{mismatch(text, a, v, found)}
	}
	c := Checked{Text: text, Macros: costly(a)}
	reads := readsOf(a.Expr())
	c.ReadsRC, c.Reads = slices.Contains(reads, RC), s.wordsOf(reads)
	if c.Expr, err = encode(a); err == nil {
		_, err = prepare(c, v)
	}
	if problems := badConversions(text, a); err != nil && len(problems) > 0 {
		return Checked{}, problems
	}
	if err != nil {
		return Checked{}, []Problem{{Message: err.Error(), Remedy: fmt.Sprintf("make the %s simpler", v.form)}}
	}
	return c, nil
}

// typed gives the text as an expression of which every part has a type.
func typed(text string, e *environment, v *vocabulary) (*ast.AST, []Problem) {
	a, problems := parse(text, v.form)
	if len(problems) > 0 {
		return nil, problems
	}
	src := common.NewTextSource(text)
	x := explainer{text: text, words: v, types: e.types}
	for {
		checked, errs := checker.Check(a, src, e.check)
		x.ast = checked
		if widen(checked) || widenTo(checked, v.want) {
			continue // what was an error may not be one any more
		}
		for _, err := range errs.GetErrors() {
			x.explain(err)
		}
		if len(x.problems) == 0 {
			x.finish()
		}
		return checked, x.problems
	}
}

// parse gives the untyped expression, and refuses what the language does not have.
func parse(text string, f form) (*ast.AST, []Problem) {
	if problems := notText(text, f); len(problems) > 0 {
		return nil, problems
	}
	a, problems := parseWith(shared().parser, text, f)
	if len(problems) > 0 {
		return nil, problems
	}
	if problems := unsupported(text, a, f); len(problems) > 0 {
		return nil, problems
	}
	return a, nil
}

// notText says why a text cannot be parsed at all.
func notText(text string, f form) []Problem {
	switch {
	case strings.TrimSpace(text) == "":
		return []Problem{{Message: fmt.Sprintf("the %s is empty", f), Remedy: forms[f].empty}}
	case len(text) > MaxText:
		return []Problem{{
			Message: fmt.Sprintf("the %s has %d bytes; the limit is %d", f, len(text), MaxText),
			Remedy:  forms[f].shorter,
		}}
	case !utf8.ValidString(text):
		return []Problem{{Message: fmt.Sprintf("the %s is not valid UTF-8", f), Remedy: "save the file as UTF-8"}}
	}
	return foreign(text)
}

// parseWith is what a parser makes of a text.
func parseWith(p *parser.Parser, text string, f form) (*ast.AST, []Problem) {
	a, errs := p.Parse(common.NewTextSource(text))
	if list := errs.GetErrors(); len(list) > 0 {
		return nil, []Problem{syntaxProblem(text, list[0], f)}
	}
	return a, nil
}

// encode writes what loading needs: the expression, the overloads that were chosen,
// and the types of structures that members are selected from.
func encode(a *ast.AST) ([]byte, error) {
	checked, err := ast.ToProto(a)
	if err != nil {
		return nil, err
	}
	checked.SourceInfo = nil
	root := a.Expr().ID()
	for id := range checked.TypeMap {
		if id != root && a.GetType(id).Kind() != types.StructKind {
			delete(checked.TypeMap, id)
		}
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(checked)
}

// costly says whether evaluation can take more than a time linear in text and
// container: macros repeat, regular expressions search, and sums of strings and
// lists copy.
func costly(a *ast.AST) bool {
	found := false
	ast.PostOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.ComprehensionKind:
			found = true
		case ast.CallKind:
			switch e.AsCall().FunctionName() {
			case "matches":
				found = true
			case operators.Add:
				found = found || growing(a.GetType(e.ID()))
			}
		default:
		}
	}))
	return found
}

func growing(t *types.Type) bool {
	switch t.Kind() {
	case types.StringKind, types.BytesKind, types.ListKind:
		return true
	default:
		return false
	}
}

// vocabulary says what a text is about and for, and so how problems name that.
type vocabulary struct {
	scope Scope
	start bool // a start condition: its names are predecessors
	form  form
	want  *container.Type // what it is to give; nil: that is looked at elsewhere
}

func (v *vocabulary) names() []string {
	names := v.scope.Members.MemberNames()
	if v.scope.RC {
		names = append(names, RC)
	}
	return append(names, v.scope.seen().names()...)
}

// container is the key of what a text is about. What an expression reads besides a return
// code is an output.
func (v *vocabulary) container() string {
	if v.form == anExpression && !v.scope.RC {
		return "input"
	}
	return "output"
}

// unknown is the problem with a name that means nothing.
func (v *vocabulary) unknown(name string) (message, remedy string) {
	names := v.names()
	word, isWord := WordNamed(name)
	const useOne = "use one of them"
	remedy = useOne
	if near, ok := container.Nearest(name, names); ok {
		remedy = "did you mean " + near
	} else if lower := strings.ToLower(name); lower == "true" || lower == "false" {
		remedy = "write " + lower
	}
	switch {
	case v.start && len(names) == 0:
		return fmt.Sprintf("%s is not a predecessor; there are none", name), "add a control connector from it"
	case v.start:
		return fmt.Sprintf("%s is not a predecessor; predecessors are %s", name, few(names)), remedy + ", or add a control connector from it"
	case name == RC:
		return RC + " is not known here", "use it in an exit or transition condition, where a program has ended"
	case isWord:
		return fmt.Sprintf("%s is of %s", name, words[word.index()].of), words[word.index()].use
	case len(v.scope.Members.Members) == 0 && v.scope.Words == 0 && remedy == useOne, len(v.scope.Members.Members) == 0 && v.scope.Words == WordInstance:
		key := v.container()
		if v.scope.Words == WordInstance { // also of a process
			return fmt.Sprintf("there is no member %s, because there is no %s", name, key), fmt.Sprintf("write `%s: STRUCTURE`, with a structure that has this member", key)
		}
		return fmt.Sprintf("there is no member %s, because there is no %s", name, key), fmt.Sprintf("write `%s: STRUCTURE` at the activity, with a structure that has this member", key)
	case v.scope.Members.Name == "":
		return fmt.Sprintf("there is no member %s; the container has %s", name, few(names)), remedy
	}
	return fmt.Sprintf("%s has no member %s; it has %s", v.scope.Members.Name, name, few(names)), remedy
}

// few lists names, not all if there are many.
func few(names []string) string {
	const most = 12
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
