package condition

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"fmqm/container"
)

// explainer turns the checker's errors into problems for people who do not know CEL.
type explainer struct {
	text     string
	words    *vocabulary
	types    *provider
	ast      *ast.AST
	problems []Problem
}

func (x *explainer) add(e ast.Expr, message, remedy string) {
	x.problems = append(x.problems, Problem{Offset: place(x.text, x.ast, e), Message: message, Remedy: remedy})
}

// explain finds the expression that an error is about, and says what is wrong with it
// from the types of its parts.
func (x *explainer) explain(err *common.Error) {
	var e ast.Expr
	ast.PostOrderVisit(x.ast.Expr(), ast.NewExprVisitor(func(found ast.Expr) {
		if found.ID() == err.ExprID {
			e = found
		}
	}))
	if e == nil {
		at := offset(x.text, err.Location.Line(), err.Location.Column())
		x.problems = append(x.problems, Problem{Offset: at, Message: err.Message, Remedy: fmt.Sprintf("correct the %s here", x.words.form)})
		return
	}
	switch {
	case strings.Contains(err.Message, "range of a comprehension"):
		x.add(e, fmt.Sprintf("all, exists, map and filter go over a list, not over %s", x.is(e)), "name a list")
	case e.Kind() == ast.SelectKind:
		x.selection(e)
	case x.ast.GetType(e.ID()).Kind() != types.ErrorKind:
		x.problems = append(x.problems, notBool(x.text, x.ast, e, "this"))
	case e.Kind() == ast.IdentKind && !x.words.start && asksForEnd.MatchString(x.text[:place(x.text, x.ast, e)]):
		// the function around it is what does not belong here
	case e.Kind() == ast.IdentKind:
		message, remedy := x.words.unknown(e.AsIdent())
		x.add(e, message, remedy)
	case e.Kind() == ast.CallKind:
		x.call(e)
	default:
		x.add(e, err.Message, fmt.Sprintf("correct the %s here", x.words.form))
	}
}

// notBool is the problem with something that must be TRUE or FALSE, and is not.
func notBool(text string, a *ast.AST, e ast.Expr, what string) Problem {
	t := a.GetType(e.ID())
	sample := source(e)
	if sample == "" {
		sample = "n"
	}
	remedy := map[types.Kind]string{
		types.IntKind:    fmt.Sprintf("compare it with something, as in %s > 0", sample),
		types.DoubleKind: fmt.Sprintf("compare it with something, as in %s > 0", sample),
		types.StringKind: fmt.Sprintf(`compare it with something, as in %s == "x"`, sample),
		types.BytesKind:  fmt.Sprintf("compare it with something, as in size(%s) > 0", sample),
		types.ListKind:   fmt.Sprintf("compare it with something, as in size(%s) > 0", sample),
	}[t.Kind()]
	if remedy == "" {
		remedy = "compare it with something"
	}
	return Problem{
		Offset:  place(text, a, e),
		Message: fmt.Sprintf("%s must be TRUE or FALSE, not %s", what, typeName(t)),
		Remedy:  remedy,
	}
}

// selection explains operand.member.
func (x *explainer) selection(e ast.Expr) {
	sel := e.AsSelect()
	t := x.ast.GetType(sel.Operand().ID())
	if t.Kind() != types.StructKind {
		remedy := "remove ." + sel.FieldName()
		if list := source(sel.Operand()); t.Kind() == types.ListKind && list != "" {
			remedy = fmt.Sprintf("take an element, as in %s[0].%s, or ask all, as in %s.exists(x, x.%s == ...)", list, sel.FieldName(), list, sel.FieldName())
		}
		x.add(e, fmt.Sprintf("%s has no members", x.is(sel.Operand())), remedy)
		return
	}
	names, _ := x.types.FindStructFieldNames(t.TypeName())
	remedy := "use one of them"
	if near, ok := container.Nearest(sel.FieldName(), names); ok {
		remedy = "did you mean " + near
	}
	x.add(e, fmt.Sprintf("%s has no member %s; it has %s", t.TypeName(), sel.FieldName(), few(names)), remedy)
}

// asksForEnd ends before what is asked how it has ended.
var asksForEnd = regexp.MustCompile(`\b(?:ran|skipped|failed)\s*\(\s*$`)

// call explains an operator or function that does not exist or cannot take what it
// is given.
func (x *explainer) call(e ast.Expr) {
	call := e.AsCall()
	name := call.FunctionName()
	args := children(e)
	if op, ok := operators.FindReverse(name); ok {
		x.operator(e, name, op, args)
		return
	}
	switch {
	case x.words.start && ends[name] != 0:
		x.problems = append(x.problems, endProblem(name, x.words.names(), place(x.text, x.ast, e)))
		return
	case ends[name] != 0:
		x.add(e, fmt.Sprintf("%s asks how an activity has ended, and that only a start condition can", name),
			fmt.Sprintf("write `start: %s(ACTIVITY)` at the activity that the connector leads to", name))
		return
	}
	if message, remedy, ok := unknownFunction(name, x.words); ok {
		x.add(e, message, remedy)
		return
	}
	given := make([]string, len(args))
	for i, arg := range args {
		given[i] = typeName(x.ast.GetType(arg.ID()))
	}
	remedy := "use it as in " + functions[name]
	if name == "contains" && len(args) == 2 && x.ast.GetType(args[0].ID()).Kind() == types.ListKind && source(args[0]) != "" && source(args[1]) != "" {
		remedy = fmt.Sprintf("write %s in %s", source(args[1]), source(args[0]))
	}
	if len(args) == 1 && !call.IsMemberFunction() && name == "duration" && x.ast.GetType(args[0].ID()).Kind() == types.IntKind && source(args[0]) != "" {
		remedy = fmt.Sprintf(`write duration(string(%s) + "s")`, source(args[0]))
	}
	switch {
	case len(args) == 0:
		x.add(e, name+" takes an argument", remedy)
	case call.IsMemberFunction():
		x.add(e, fmt.Sprintf("%s.%s(%s) does not exist", given[0], name, strings.Join(given[1:], ", ")), remedy)
	default:
		x.add(e, fmt.Sprintf("%s(%s) does not exist", name, strings.Join(given, ", ")), remedy)
	}
}

// functions are those of the language, each with its use.
var functions = map[string]string{
	"size": "size(list) or size(string)", "contains": `name.contains("x")`,
	"startsWith": `name.startsWith("x")`, "endsWith": `name.endsWith("x")`, "matches": `name.matches("^x+$")`,
	"int": "int(double), int(string), int(timestamp)", "double": "double(int), double(string)",
	"string": "string(int), string(double), string(bytes)", "bool": `bool("true")`, "bytes": `bytes("x")`,
	"duration": `duration("1h30m")`, "timestamp": `timestamp("2024-05-01T12:00:00Z")`,
	"getFullYear": "due.getFullYear()", "getMonth": "due.getMonth(), from 0",
	"getDayOfMonth": "due.getDayOfMonth(), from 0", "getDate": "due.getDate(), from 1",
	"getDayOfWeek": "due.getDayOfWeek(), Sunday is 0", "getDayOfYear": "due.getDayOfYear(), from 0",
	"getHours": "due.getHours()", "getMinutes": "due.getMinutes()", "getSeconds": "due.getSeconds()",
	"getMilliseconds": "due.getMilliseconds()",
	"all":             `lines.all(x, x != "")`, "exists": `lines.exists(x, x == "a")`,
	"exists_one": `lines.exists_one(x, x == "a")`, "map": "lines.map(x, size(x))", "filter": `lines.filter(x, x != "")`,
}

var macros = map[string]bool{"all": true, "exists": true, "exists_one": true, "map": true, "filter": true}

// unknownFunction explains a function that is not there; ok is FALSE for one that is.
func unknownFunction(name string, v *vocabulary) (message, remedy string, ok bool) {
	switch name {
	case "has":
		return "has() is not needed: every member has a value, its default if nothing was assigned",
			`compare with the default, as in name != ""`, true
	case "dyn", "type":
		return name + "() is not in this language: every member has one type", "remove it", true
	case "uint":
		return "uint() is not in this language", "use int()", true
	case "now", "date", "today", "time":
		return fmt.Sprintf("%s() does not exist: %s must give the same result whenever it is evaluated", name, forms[v.form].any),
			"let the program put the time into a member", true
	case "len", "length", "count":
		return name + "() does not exist", "write size(...)", true
	case "not":
		return "there is no function not", "write !(...)", true
	}
	if _, known := functions[name]; known {
		return "", "", false
	}
	remedy = "functions are size, contains, startsWith, endsWith, matches, int, double, string, duration, timestamp, all, exists, filter, map"
	if v.start {
		remedy = "a start condition names predecessors, and asks ran(X), skipped(X), failed(X)"
	} else if near, found := container.Nearest(name, slices.Sorted(maps.Keys(functions))); found {
		remedy = "did you mean " + near
	}
	return fmt.Sprintf("there is no function %s", name), remedy, true
}

// operator explains an operator between values that it cannot take.
func (x *explainer) operator(e ast.Expr, name, op string, args []ast.Expr) {
	switch name {
	case operators.Conditional:
		x.conditional(e, args)
		return
	case operators.LogicalNot:
		x.problems = append(x.problems, notBool(x.text, x.ast, args[0], "this"))
		return
	case operators.Negate:
		x.add(e, fmt.Sprintf("%s cannot be negated", x.is(args[0])), "use - before numbers and durations only")
		return
	case operators.Index:
		x.add(e, fmt.Sprintf("%s cannot be indexed by %s", x.is(args[0]), x.is(args[1])), "index a list by an int")
		return
	case operators.Modulo:
		x.add(e, fmt.Sprintf("%% takes ints, not %s and %s", x.is(args[0]), x.is(args[1])), "convert with int(...)")
		return
	}
	x.mixed(e, op, args[0], args[1])
}

func (x *explainer) conditional(e ast.Expr, args []ast.Expr) {
	if t := x.ast.GetType(args[0].ID()); t.Kind() != types.BoolKind && t.Kind() != types.ErrorKind {
		x.problems = append(x.problems, notBool(x.text, x.ast, args[0], "this"))
		return
	}
	x.mixed(e, ":", args[1], args[2])
}

// mixed explains two values of types that do not go together.
func (x *explainer) mixed(e ast.Expr, op string, a, b ast.Expr) {
	ta, tb := innermost(x.ast.GetType(a.ID())), innermost(x.ast.GetType(b.ID()))
	message := fmt.Sprintf("%s does not take %s and %s", op, x.is(a), x.is(b))
	switch {
	case op == "in" && x.ast.GetType(b.ID()).Kind() != types.ListKind:
		x.add(e, message, "name a list on the right, as in n in [1, 2]")
	case ta == types.IntType && tb == types.DoubleType:
		x.add(e, message, toDoubleRemedy(a, op))
	case ta == types.DoubleType && tb == types.IntType:
		x.add(e, message, toDoubleRemedy(b, op))
	default:
		x.add(e, message, x.oneType(op, a, b, ta, tb))
	}
}

// oneType says how to bring two values to one type.
func (x *explainer) oneType(op string, a, b ast.Expr, ta, tb *types.Type) string {
	either := func(t *types.Type) bool { return ta.IsExactType(t) || tb.IsExactType(t) }
	switch {
	case op == "+" && either(types.StringType):
		return "convert with string(...)"
	case op == "in":
		return "name a list of values of one type on the right"
	case isComparison(a) || isComparison(b):
		return "join two comparisons with &&, as in 1 < n && n < 5"
	case either(types.TimestampType):
		return "write " + functions["timestamp"]
	case either(types.DurationType) && (op == "*" || op == "/"):
		return "use + and - with durations, or map one that is as long as is wanted"
	case either(types.DurationType):
		return "write " + functions["duration"]
	case either(types.BoolType) && (op == "==" || op == "!="):
		return "write the bool alone, or with ! before it"
	}
	for _, side := range []ast.Expr{a, b} {
		if number, ok := quotedNumber(side); ok && (either(types.IntType) || either(types.DoubleType)) {
			return fmt.Sprintf("write %s without quotes", number)
		}
	}
	return "use values of one type"
}

// quotedNumber is the number that a text is.
func quotedNumber(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	s, ok := e.AsLiteral().(types.String)
	if !ok {
		return "", false
	}
	_, err := strconv.ParseFloat(string(s), 64)
	return string(s), err == nil
}

func isComparison(e ast.Expr) bool {
	if e.Kind() != ast.CallKind {
		return false
	}
	switch e.AsCall().FunctionName() {
	case operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals, operators.Equals, operators.NotEquals:
		return true
	}
	return false
}

func toDoubleRemedy(e ast.Expr, op string) string {
	if e.Kind() == ast.LiteralKind {
		return "the number is too large for a double to hold exactly: use a smaller one"
	}
	if e.Kind() == ast.ListKind || op == "in" {
		return "convert the ints with double(...)"
	}
	if s := source(e); s != "" {
		return fmt.Sprintf("write double(%s)", s)
	}
	return "convert the int with double(...)"
}

// is describes an expression: "quantity, an int".
func (x *explainer) is(e ast.Expr) string {
	t := typeName(x.ast.GetType(e.ID()))
	if s := source(e); s != "" {
		return fmt.Sprintf("%s (%s)", s, t)
	}
	return t
}

// source writes names and short literals as they stand in the text.
func source(e ast.Expr) string {
	switch e.Kind() {
	case ast.IdentKind:
		return e.AsIdent()
	case ast.SelectKind:
		if s := source(e.AsSelect().Operand()); s != "" {
			return s + "." + e.AsSelect().FieldName()
		}
	case ast.LiteralKind:
		switch v := e.AsLiteral().(type) {
		case types.Int, types.Double, types.Bool:
			return fmt.Sprint(v)
		case types.String:
			if len(v) < 20 {
				return fmt.Sprintf("%q", string(v))
			}
		}
	default:
	}
	return ""
}

func typeName(t *types.Type) string {
	switch t.Kind() {
	case types.TimestampKind:
		return "timestamp"
	case types.DurationKind:
		return "duration"
	case types.ListKind:
		return "[" + typeName(t.Parameters()[0]) + "]"
	case types.DynKind, types.TypeParamKind, types.ErrorKind:
		return "?"
	default:
		return t.TypeName()
	}
}

// finish checks what the types do not show: lists of one type, and literals that
// would fail whenever they are evaluated.
func (x *explainer) finish() {
	ast.PostOrderVisit(x.ast.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.ListKind:
			x.sameElements(e)
		case ast.CallKind:
			x.literals(e)
		default:
		}
	}))
}

func (x *explainer) sameElements(e ast.Expr) {
	elems := e.AsList().Elements()
	for _, elem := range elems {
		if !x.ast.GetType(elem.ID()).IsExactType(x.ast.GetType(elems[0].ID())) {
			x.mixed(e, "a list", elems[0], elem)
			return
		}
	}
}

// fixedOffset is a time zone that means the same at every site.
var fixedOffset = regexp.MustCompile(`^([+-]?([01]\d|2[0-3]):[0-5]\d|UTC)$`)

func (x *explainer) literals(e ast.Expr) {
	call := e.AsCall()
	name := call.FunctionName()
	if strings.HasPrefix(name, "get") && len(call.Args()) == 1 {
		zone := call.Args()[0]
		if s, ok := literalString(zone); !ok || !fixedOffset.MatchString(s) {
			x.add(zone, "a time zone must be a fixed offset: the sites' time zone data may differ",
				`write it as in `+name+`("+02:00")`)
		}
		return
	}
	args := children(e)
	if len(args) == 0 {
		return
	}
	last := args[len(args)-1]
	s, ok := literalString(last)
	if !ok {
		return
	}
	var to ref.Type
	switch name {
	case "timestamp":
		to = types.TimestampType
	case "duration":
		to = types.DurationType
	case "matches":
		if _, err := regexp.Compile(s); err != nil {
			x.add(last, err.Error(), "correct the regular expression (RE2)")
		}
		return
	default:
		return
	}
	if types.IsError(types.String(s).ConvertToType(to)) {
		x.add(last, fmt.Sprintf("%q is not a valid %s", s, name), "write "+functions[name])
	}
}

func literalString(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	s, ok := e.AsLiteral().(types.String)
	return string(s), ok
}
