package condition

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/parser"

	"fmqm/container"
)

// Limits of a staff expression.
const (
	MaxStaffTerms = 1024 // and, or, not, and what they join
	MaxStaffDepth = 64   // how deep these may be inside of one another
)

// StaffIs says what a term of a staff expression is. The numbers are those of process tables.
type StaffIs uint8

// The terms.
const (
	StaffAnd     StaffIs = iota + 1 // all of Parts
	StaffOr                         // one of Parts
	StaffNot                        // not the one of Parts
	StaffRole                       // has the role Of
	StaffOrg                        // is in the organisation Of
	StaffPerson                     // is the person Of
	StaffDid                        // did Activity
	StaffManages                    // manages who did Activity
	StaffData                       // Of is TRUE, whoever it is
)

// StaffEach says how a term is asked for the texts of a list. The numbers are those of process tables.
type StaffEach uint8

// How a list is asked.
const (
	EachNone StaffEach = iota // it is one text, no list
	EachSome                  // for one of them it holds: list.exists(v, person(v))
	EachAll                   // for all of them it holds: list.all(v, person(v))
)

// Staff is a staff expression, which says who may do something (N27), taken apart: each part that asks for a person is
// a term, and what is between those is data, which a condition gives. So who asks it needs no parser, and knows
// under which negations a person stands.
type Staff struct {
	Is       StaffIs
	Parts    []*Staff // of StaffAnd and StaffOr two or more, of StaffNot one
	Of       *Checked // a text, with Each a list of texts; of StaffData a bool
	Each     StaffEach
	Activity string // of StaffDid and StaffManages
	Offset   int    // in bytes, where it stands
}

// All calls yield for the term and every one inside of it.
func (s *Staff) All(yield func(*Staff)) {
	yield(s)
	for _, p := range s.Parts {
		p.All(yield)
	}
}

// asking are the functions that ask for a person.
var asking = map[string]StaffIs{"role": StaffRole, "org": StaffOrg, "person": StaffPerson, "did": StaffDid, "manages": StaffManages}

// otherAsking are what others call them.
var otherAsking = map[string]string{
	"group": "role", "groups": "role", "roles": "role", "has_role": "role", "hasRole": "role", "in_role": "role", "job": "role", "position": "role",
	"user": "person", "users": "person", "people": "person", "name": "person", "login": "person", "is": "person", "who": "person",
	"unit": "org", "department": "org", "team": "org", "organisation": "org", "organization": "org", "member": "org", "in_org": "org",
	"done": "did", "done_by": "did", "by": "did", "performed": "did", "completed": "did", "did_by": "did",
	"manager": "manages", "manager_of": "manages", "boss": "manages", "leads": "manages", "supervises": "manages",
}

const remedyStaff = `write role("NAME"), org("NAME"), person("NAME"), did(ACTIVITY) or manages(ACTIVITY), joined by && || !`

// unexpanded is the parser of the language that leaves exists and all as they are written.
var unexpanded = sync.OnceValue(func() *parser.Parser {
	p, err := parser.NewParser(parser.EnableIdentEscapeSyntax(false), parser.EnablePrattParser(true), parser.ErrorReportingLimit(1))
	if err != nil {
		panic("condition: " + err.Error())
	}
	return p
})

// CheckStaff takes a staff expression apart. Data in it are of the scope, which has no return code. The same text and scope give
// the same. Which activities there are it does not know.
func CheckStaff(text string, s Scope) (*Staff, []Problem) {
	if problems := notText(text, aStaff); len(problems) > 0 {
		return nil, problems
	}
	a, problems := parseWith(unexpanded(), text, aStaff)
	if len(problems) > 0 {
		return nil, problems
	}
	r := &staffReader{text: text, scope: s, ast: a}
	staff := r.term(a.Expr())
	if len(r.problems) > 0 {
		return nil, r.problems
	}
	terms := 0
	staff.All(func(*Staff) { terms++ })
	if depth := staff.depth(); terms > MaxStaffTerms || depth > MaxStaffDepth {
		return nil, []Problem{{
			Message: fmt.Sprintf("the staff expression has %d terms, %d deep; the limits are %d and %d", terms, depth, MaxStaffTerms, MaxStaffDepth),
			Remedy:  forms[aStaff].shorter,
		}}
	}
	return staff, nil
}

func (s *Staff) depth() int {
	deepest := 0
	for _, p := range s.Parts {
		deepest = max(deepest, p.depth())
	}
	return deepest + 1
}

// staffReader makes terms of an expression.
type staffReader struct {
	text     string
	scope    Scope
	ast      *ast.AST
	problems []Problem
}

func (r *staffReader) fail(e ast.Expr, message, remedy string) *Staff {
	r.problems = append(r.problems, Problem{Offset: r.at(e), Message: message, Remedy: remedy})
	return &Staff{Is: StaffData}
}

// term makes one of an expression that says of a person whether it may.
func (r *staffReader) term(e ast.Expr) *Staff {
	if e.Kind() == ast.CallKind {
		call := e.AsCall()
		is, asks := asking[call.FunctionName()]
		switch {
		case asks && !call.IsMemberFunction():
			return r.asks(e, is)
		case !asksPerson(e):
		case call.FunctionName() == operators.LogicalAnd:
			return r.joined(e, StaffAnd)
		case call.FunctionName() == operators.LogicalOr:
			return r.joined(e, StaffOr)
		case call.FunctionName() == operators.LogicalNot:
			return r.not(e, r.term(call.Args()[0]))
		case call.IsMemberFunction() && (call.FunctionName() == "exists" || call.FunctionName() == "all"):
			return r.each(e)
		case call.FunctionName() == operators.Conditional:
			c, yes, no := r.written(call.Args()[0]), r.written(call.Args()[1]), r.written(call.Args()[2])
			return r.fail(e, "who may do it cannot stand behind ? and :", fmt.Sprintf("write (%s) && %s || !(%s) && %s", c, yes, c, no))
		}
	}
	if asksPerson(e) {
		return r.fail(e, "who may do it can only be joined by && || and !", remedyStaff)
	}
	return r.data(e)
}

// joined flattens what one operator joins.
func (r *staffReader) joined(e ast.Expr, is StaffIs) *Staff {
	s := &Staff{Is: is, Offset: r.start(e)}
	for _, arg := range e.AsCall().Args() {
		if part := r.term(arg); part.Is == is {
			s.Parts = append(s.Parts, part.Parts...)
		} else {
			s.Parts = append(s.Parts, part)
		}
	}
	return s
}

func (r *staffReader) not(e ast.Expr, of *Staff) *Staff {
	if of.Is == StaffNot {
		return of.Parts[0]
	}
	return &Staff{Is: StaffNot, Parts: []*Staff{of}, Offset: r.start(e)}
}

// asks is a function that asks for a person.
func (r *staffReader) asks(e ast.Expr, is StaffIs) *Staff {
	name, args := e.AsCall().FunctionName(), e.AsCall().Args()
	s := &Staff{Is: is, Offset: r.start(e)}
	ofActivity := is == StaffDid || is == StaffManages
	example := `"NAME"`
	if ofActivity {
		example = "ACTIVITY"
	}
	if len(args) != 1 {
		return r.fail(e, fmt.Sprintf("%s takes one thing in parentheses", name), fmt.Sprintf("write %s(%s)", name, example))
	}
	switch arg := args[0]; {
	case ofActivity && arg.Kind() == ast.IdentKind:
		s.Activity = arg.AsIdent()
	case ofActivity:
		remedy := fmt.Sprintf("write %s(ACTIVITY)", name)
		if text, ok := literal(arg); ok && ValidName(text) {
			remedy = fmt.Sprintf("write %s(%s), without quotes", name, text)
		}
		return r.fail(arg, fmt.Sprintf("%s takes the name of an activity, or source", name), remedy)
	default:
		s.Of = r.textOf(name, arg)
		r.constant(is, name, arg)
	}
	return s
}

// textOf checks the text that role, org and person take.
func (r *staffReader) textOf(name string, arg ast.Expr) *Checked {
	if arg.Kind() == ast.IdentKind && !r.known(arg.AsIdent()) {
		r.fail(arg, fmt.Sprintf("%s is no member of %s", arg.AsIdent(), r.members()), fmt.Sprintf("a name stands in quotes: write %s(%q)", name, arg.AsIdent()))
		return nil
	}
	return r.expr(arg, r.written(arg), aString, name)
}

// constant looks at a text that is written out.
func (r *staffReader) constant(is StaffIs, name string, arg ast.Expr) {
	text, ok := literal(arg)
	switch {
	case !ok:
	case text == "":
		r.fail(arg, fmt.Sprintf("%s names nobody", name), fmt.Sprintf("write %s(\"NAME\")", name))
	case is == StaffPerson && !personName(text):
		r.fail(arg, fmt.Sprintf("%q is no name of a person", text), "write a name with letters, digits, _ . and -, at most 64, or NAME@NODE for somebody of another site")
	}
}

// personName says whether a text is a name, or a name and a site.
func personName(text string) bool {
	name, node, sited := strings.Cut(text, "@")
	valid := func(s, more string) bool {
		return s != "" && len(s) <= MaxName && !strings.ContainsFunc(s, func(c rune) bool { return !(c < 0x80 && nameByte(byte(c)) || strings.ContainsRune(more, c)) })
	}
	return valid(name, ".-") && (!sited || valid(node, "-"))
}

// each is list.exists(v, person(v)), or all; with ! before the function it is the other one's opposite.
func (r *staffReader) each(e ast.Expr) *Staff {
	call, remedy := e.AsCall(), "write it as in watchers.exists(w, person(w))"
	if len(call.Args()) != 2 || call.Args()[0].Kind() != ast.IdentKind {
		return r.fail(e, call.FunctionName()+" takes a name and what is asked of each", remedy)
	}
	v, body, each, negated := call.Args()[0].AsIdent(), call.Args()[1], EachSome, false
	for body.Kind() == ast.CallKind && body.AsCall().FunctionName() == operators.LogicalNot {
		body, negated = body.AsCall().Args()[0], !negated
	}
	if (call.FunctionName() == "all") != negated {
		each = EachAll
	}
	is := StaffIs(0)
	if body.Kind() == ast.CallKind && !body.AsCall().IsMemberFunction() && len(body.AsCall().Args()) == 1 {
		is = asking[body.AsCall().FunctionName()]
	}
	if is != StaffRole && is != StaffOrg && is != StaffPerson {
		return r.fail(body, fmt.Sprintf("inside of %s only role(%s), org(%[2]s) or person(%[2]s) can stand, with or without !", call.FunctionName(), v), remedy)
	}
	list := r.written(call.Target())
	if arg := body.AsCall().Args()[0]; arg.Kind() != ast.IdentKind || arg.AsIdent() != v {
		list += ".map(" + v + ", " + r.written(arg) + ")"
	}
	s := &Staff{Is: is, Each: each, Of: r.expr(call.Target(), list, container.NewList(aString), body.AsCall().FunctionName()), Offset: r.start(e)}
	if negated {
		return r.not(e, s)
	}
	return s
}

// data is what says of nobody, but of the data, whether it holds.
func (r *staffReader) data(e ast.Expr) *Staff {
	s := &Staff{Is: StaffData, Offset: r.start(e)}
	if name, meant, ok := r.otherCall(e); ok {
		return r.fail(e, fmt.Sprintf("there is no %s(…) in a staff expression", name), fmt.Sprintf("write %s(…)", meant))
	}
	if e.Kind() == ast.IdentKind && !r.known(e.AsIdent()) {
		name := e.AsIdent()
		return r.fail(e, fmt.Sprintf("%s is no member of %s", name, r.members()), fmt.Sprintf("for a role write role(%q)", name))
	}
	if text, ok := literal(e); ok {
		return r.fail(e, fmt.Sprintf("%q is a text, and says of nobody whether he may do it", text), fmt.Sprintf("for a role write role(%q)", text))
	}
	text := r.written(e)
	c, problems := CheckExpr(text, r.scope, aBool)
	if len(problems) == 1 && problems[0].Found != nil && problems[0].Found.Kind == container.String {
		return r.fail(e, fmt.Sprintf("%s is a text, and says of nobody whether he may do it", text), fmt.Sprintf("for whom it names write person(%s), org(%[1]s) or role(%[1]s)", text))
	}
	r.report(e, text, problems)
	s.Of = canonical(c)
	return s
}

// expr checks a text, or a list of them, that a function takes.
func (r *staffReader) expr(at ast.Expr, text string, want *container.Type, function string) *Checked {
	c, problems := CheckExpr(text, r.scope, want)
	if len(problems) == 1 && problems[0].Found != nil {
		what := "a text"
		if want.Kind == container.List {
			what = "a list of texts"
		}
		r.fail(at, fmt.Sprintf("%s takes %s, and %s is %s", function, what, text, problems[0].Found), "name a member that is one, or write the name in quotes")
		return nil
	}
	r.report(at, text, problems)
	return canonical(c)
}

func canonical(c Checked) *Checked {
	c.Text = Canonical(c.Text)
	return &c
}

// report adds problems of a part, at their places where that is written as it was checked.
func (r *staffReader) report(e ast.Expr, text string, problems []Problem) {
	base := r.start(e)
	for _, p := range problems {
		if !strings.HasPrefix(r.text[base:], text) {
			p.Offset = 0
		}
		p.Offset += base
		r.problems = append(r.problems, p)
	}
}

// start is where the text of an expression begins: an operator stands behind its first part.
func (r *staffReader) start(e ast.Expr) int {
	at := len(r.text)
	ast.PostOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) { at = min(at, r.at(e)) }))
	return at
}

// at is the place of an expression: of a function, that of its name.
func (r *staffReader) at(e ast.Expr) int {
	at := place(r.text, r.ast, e)
	if e.Kind() == ast.CallKind && !e.AsCall().IsMemberFunction() && at < len(r.text) && r.text[at] == '(' {
		name := e.AsCall().FunctionName()
		if before := strings.TrimRight(r.text[:at], " \t\n"); strings.HasSuffix(before, name) {
			return len(before) - len(name)
		}
	}
	return at
}

// written is the text of a part: its own, or one of the same meaning.
func (r *staffReader) written(e ast.Expr) string {
	text, err := parser.Unparse(e, r.ast.SourceInfo(), parser.WrapOnColumn(2*MaxText))
	if err != nil {
		r.fail(e, "not understood", "write it in another way")
	}
	return text
}

func (r *staffReader) known(name string) bool {
	_, member := r.scope.Members.MemberIndex(name)
	return member || r.scope.wordsOf([]string{name}) != 0
}

func (r *staffReader) members() string {
	if len(r.scope.Members.Members) == 0 {
		return "the input, which has none"
	}
	return r.scope.Members.String()
}

// otherCall finds a function of the data that somebody may take for one that asks for a person.
func (r *staffReader) otherCall(e ast.Expr) (name, meant string, found bool) {
	ast.PostOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || e.AsCall().IsMemberFunction() || found {
			return
		}
		name = e.AsCall().FunctionName()
		if meant, found = otherAsking[name]; found {
			return
		}
		if _, operator := operators.FindReverse(name); !operator && functions[name] == "" && !macros[name] {
			meant, found = container.Nearest(name, slices.Sorted(maps.Keys(asking)))
		}
	}))
	return name, meant, found
}

// asksPerson says whether anything in an expression asks for a person.
func asksPerson(e ast.Expr) bool {
	found := false
	ast.PostOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.CallKind && !e.AsCall().IsMemberFunction() && asking[e.AsCall().FunctionName()] != 0 {
			found = true
		}
	}))
	return found
}

// literal is a text that is written out.
func literal(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	s, ok := e.AsLiteral().(types.String)
	return string(s), ok
}
