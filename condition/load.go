package condition

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	exprpb "google.golang.org/genproto/googleapis/api/expr/v1alpha1"
	"google.golang.org/protobuf/proto"

	"fmqm/container"
)

// Condition is a loaded condition. Any number of goroutines may evaluate it at once.
type Condition struct{ loaded }

// Expr is a loaded expression that gives a value. Any number of goroutines may evaluate it
// at once.
type Expr struct {
	loaded
	want *container.Type
}

// loaded is what conditions and expressions have in common.
type loaded struct {
	form    form
	text    string
	words   bool                        // it reads some of the engine beside _RC
	ofWords bool                        // it reads some, or _RC, and no member
	plain   *plain                      // nil: its steps are always counted
	count   func() (cel.Program, error) // the program that counts them; of a plain one, made when it is first needed
}

// Long says whether an evaluation can take up to MaxCost whatever the container is. Any
// other can only where the texts that it reads are long.
func (l *loaded) Long() bool { return l.plain == nil }

// OfWords says whether it reads words of the engine, or _RC, and no member: then there is something
// to evaluate it over where an activity has ended without an output.
func (e *Expr) OfWords() bool { return e.ofWords }

// Load makes a condition ready for evaluation over structures of the scope's type.
// It needs no parser: 10 to 200 µs. It fails if c is damaged or was not checked
// against such a scope.
func Load(c Checked, s Scope) (*Condition, error) {
	l, err := load(c, &vocabulary{scope: s, want: aBool})
	if err != nil {
		return nil, err
	}
	return &Condition{*l}, nil
}

// LoadExpr is Load for an expression that CheckExpr was given with the same wanted type.
func LoadExpr(c Checked, s Scope, want *container.Type) (*Expr, error) {
	l, err := load(c, &vocabulary{scope: s, form: anExpression, want: want})
	if err != nil {
		return nil, err
	}
	return &Expr{*l, want}, nil
}

func load(c Checked, v *vocabulary) (*loaded, error) {
	l, err := prepare(c, v)
	if err != nil {
		return nil, fmt.Errorf("load %s %q: %w: compile and upload the process again", v.form, c.Text, err)
	}
	return l, nil
}

func prepare(c Checked, v *vocabulary) (_ *loaded, err error) {
	// The planner trusts the checker's output and may panic on what no checker made.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("damaged: %v", r)
		}
	}()
	s := v.scope
	e, a, err := decode(c, s)
	if err != nil {
		return nil, err
	}
	if err := verify(a, c, v, e.types); err != nil {
		return nil, err
	}
	l := &loaded{form: v.form, text: c.Text, words: c.Reads != 0, ofWords: c.Reads != 0 || c.ReadsRC}
	l.ofWords = l.ofWords && !readsMembers(a.NativeRep().Expr(), s)
	if c.Macros || readsMany(a.NativeRep().Expr(), s) {
		program, err := e.run.Program(a, options(a, true)...)
		l.count = func() (cel.Program, error) { return program, nil }
		return l, err
	}
	l.count = sync.OnceValues(func() (cel.Program, error) {
		e, a, err := decode(c, s) // again: to keep it would take more memory than all else of it
		if err != nil {
			return nil, err
		}
		return e.run.Program(a, options(a, true)...)
	})
	program, err := e.run.Program(a, options(a, false)...)
	l.plain = plainOf(program, a.NativeRep().Expr(), c.Text, s)
	return l, err
}

// decode gives the expression that was shipped.
func decode(c Checked, s Scope) (*environment, *cel.Ast, error) {
	e, err := environmentOf(s)
	if err != nil {
		return nil, nil, err
	}
	var checked exprpb.CheckedExpr
	if err := proto.Unmarshal(c.Expr, &checked); err != nil {
		return nil, nil, errors.New("damaged: its bytes are not a checked condition") // the library's own words differ from build to build
	}
	a, err := cel.CheckedExprToAstWithSource(&checked, nil)
	return e, a, err
}

// options are those of a program that counts its steps or not.
func options(a *cel.Ast, counts bool) []cel.ProgramOption {
	opts := []cel.ProgramOption{cel.OptimizeRegex(constantMatches...)}
	if !asksEmptyList(a.NativeRep().Expr()) {
		opts = append(opts, cel.EvalOptions(cel.OptOptimize))
	}
	if counts {
		opts = append(opts, cel.CostTracking(costs{}), cel.CostLimit(MaxCost))
	}
	return opts
}

// verify holds what was shipped against the scope: the members that it reads are
// there, and what the flags promise is true.
func verify(a *cel.Ast, c Checked, v *vocabulary, p *provider) error {
	s := v.scope
	if found := p.container(a.OutputType()); !fits(found, v.want) {
		if v.want.Kind == container.Bool {
			return fmt.Errorf("it does not give TRUE or FALSE")
		}
		return fmt.Errorf("it gives %s, not %s", found, v.want)
	}
	reads := readsOf(a.NativeRep().Expr())
	for _, name := range reads {
		_, ok := s.Members.MemberIndex(name)
		if !ok && (name != RC || !s.RC) && s.wordsOf([]string{name}) == 0 {
			return fmt.Errorf("it reads %s, which %s does not have", name, s.Members)
		}
	}
	if slices.Contains(reads, RC) != c.ReadsRC {
		return fmt.Errorf("its note of whether it reads %s is wrong", RC)
	}
	if s.wordsOf(reads) != c.Reads {
		return fmt.Errorf("its note of the words that it reads is wrong")
	}
	if hasMacros(a.NativeRep().Expr()) && !c.Macros {
		return fmt.Errorf("it has macros, but its note of them is missing")
	}
	return nil
}

// Eval gives the condition's truth for an output container and return code, with no
// other words of the engine. An error
// (a division by zero, an index out of range, a cost over MaxCost) is neither TRUE
// nor FALSE. out is only read; it must be of the scope's type.
func (c *Condition) Eval(out *container.Struct, rc int64) (bool, error) {
	return c.EvalWithin(&Spent{}, out, &Values{RC: rc})
}

// EvalWithin is Eval as one of several conditions about one result, with what the words of
// its scope say: over MaxTogether it is an error. The same conditions in the same order come
// to the same at every site. v is only read.
func (c *Condition) EvalWithin(spent *Spent, out *container.Struct, v *Values) (bool, error) {
	result, err := c.result(spent, out, v)
	if err != nil {
		return false, err
	}
	b, ok := result.(types.Bool)
	if !ok {
		return false, c.fail(fmt.Errorf("it gave %v instead of TRUE or FALSE", result))
	}
	return bool(b), nil
}

// Eval gives the expression's value over a container and words, as one of several about
// one result, as EvalWithin. What the value has of the container is not copied: it must not
// be changed. An error is that of a condition, or a value that no container can hold (a
// double that is no number, a list over MaxList, more than MaxEncoded bytes).
func (e *Expr) Eval(spent *Spent, in *container.Struct, v *Values) (container.Value, error) {
	before := spent.steps
	result, err := e.result(spent, in, v)
	if err != nil {
		return nil, err
	}
	b := builder{left: MaxCost - min(MaxCost, spent.steps-before)}
	can := b.left
	value, err := b.build(e.want, result)
	if err == nil {
		err = spent.take(can-b.left, e.form)
	}
	if err != nil {
		return nil, e.fail(errors.New(runtimeError(err, e.form)))
	}
	return value, nil
}

func (l *loaded) fail(err error) error { return fmt.Errorf("evaluate %s %q: %w", l.form, l.text, err) }

// result is what it comes to, as CEL has it. What that took is spent.
func (l *loaded) result(spent *Spent, out *container.Struct, v *Values) (ref.Val, error) {
	if err := spent.take(0, l.form); err != nil {
		return nil, l.fail(err)
	}
	result, steps, err := l.run(out, v)
	if err != nil {
		return nil, l.fail(errors.New(runtimeError(err, l.form)))
	}
	if err := spent.take(steps, l.form); err != nil {
		return nil, l.fail(err)
	}
	return result, nil
}

// run evaluates it, and gives what that took.
func (l *loaded) run(out *container.Struct, v *Values) (ref.Val, uint64, error) {
	var program cel.Program
	var steps uint64
	if l.plain != nil {
		steps = l.plain.most(out, v)
		program = l.plain.program
	}
	counts := l.plain == nil || steps > plainSteps
	if counts {
		var err error
		if program, err = l.count(); err != nil {
			return nil, 0, err
		}
	}
	a := activations.Get().(*activation)
	a.members, a.rc = out, v.RC
	if l.words {
		a.values = *v
	}
	result, details, err := program.Eval(a)
	a.members = nil
	if l.words {
		a.values = Values{}
	}
	activations.Put(a)
	if counts && err == nil {
		if cost := details.ActualCost(); cost != nil {
			steps = *cost
		}
	}
	return result, steps, err
}

// plainTypes has the names that the language gives to types.
var plainTypes = strings.NewReplacer("google.protobuf.Duration", "duration", "google.protobuf.Timestamp", "timestamp")

// runtimeError puts CEL's words into the reader's.
func runtimeError(err error, f form) string {
	text := plainTypes.Replace(err.Error())
	switch {
	case strings.Contains(text, "division by zero"), strings.Contains(text, "divide by zero"):
		return "division by zero: check first that the divisor is not 0, as in d != 0 && n / d > 2"
	case strings.Contains(text, "modulus by zero"):
		return "modulus by zero: check first that the divisor is not 0, as in d != 0 && n % d == 1"
	case strings.Contains(text, "index out of bounds"), strings.Contains(text, "out of range"):
		return text + ": check the length first, as in size(lines) > 2 && lines[2] == \"x\""
	case strings.Contains(text, "cost limit"):
		return fmt.Sprintf("it took more than %d steps: %s", MaxCost, forms[f].cheaper)
	}
	return text
}

// ReadsOf gives the top-level members of the scope that a condition or expression reads, in
// the order of their first use, without _RC. It gives none for a text that Check refuses to parse.
func ReadsOf(text string, s Scope) []string {
	a, problems := parse(text, aCondition)
	if len(problems) > 0 {
		return nil
	}
	return slices.DeleteFunc(readsOf(a.Expr()), func(name string) bool {
		_, ok := s.Members.MemberIndex(name)
		return !ok
	})
}

// readsOf gives the names that e uses and does not itself declare, each once.
func readsOf(e ast.Expr) []string {
	w := reader{}
	w.walk(e)
	return w.names
}

type reader struct {
	names []string
	local []string // declared by the macros around
}

func (w *reader) walk(e ast.Expr) {
	switch e.Kind() {
	case ast.IdentKind:
		name := e.AsIdent()
		if !slices.Contains(w.local, name) && !slices.Contains(w.names, name) {
			w.names = append(w.names, name)
		}
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		w.walk(c.IterRange())
		w.walk(c.AccuInit())
		w.local = append(w.local, c.AccuVar())
		w.walk(c.Result())
		w.local = append(w.local, c.IterVar())
		w.walk(c.LoopCondition())
		w.walk(c.LoopStep())
		w.local = w.local[:len(w.local)-2]
	default:
		for _, child := range children(e) {
			w.walk(child)
		}
	}
}

// readsMany says whether e reads a list or a structure of the scope. Comparing two of them
// takes long where they are long. Of what else is in a container each part is gone through
// quickly, and a text has few.
func readsMany(e ast.Expr, s Scope) bool {
	reads := readsOf(e)
	if s.wordsOf(reads)&(WordResults|WordErrors|WordRCs) != 0 {
		return true
	}
	return slices.ContainsFunc(reads, func(name string) bool {
		i, ok := s.Members.MemberIndex(name)
		if !ok {
			return false
		}
		kind := s.Members.Members[i].Type.Kind
		return kind == container.List || kind == container.Structure
	})
}

// readsMembers says whether e reads any member of the scope.
func readsMembers(e ast.Expr, s Scope) bool {
	return slices.ContainsFunc(readsOf(e), func(name string) bool {
		_, is := s.Members.MemberIndex(name)
		return is
	})
}

func hasMacros(e ast.Expr) bool {
	found := false
	ast.PostOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		found = found || e.Kind() == ast.ComprehensionKind
	}))
	return found
}

// asksEmptyList says whether e asks whether something is in []. CEL's optimizer makes that
// FALSE without looking, also where the something is an error.
func asksEmptyList(e ast.Expr) bool {
	found := false
	ast.PostOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.CallKind && e.AsCall().FunctionName() == operators.In {
			list := e.AsCall().Args()[1]
			found = found || list.Kind() == ast.ListKind && len(list.AsList().Elements()) == 0
		}
	}))
	return found
}

// children gives the parts of an expression that is no comprehension.
func children(e ast.Expr) []ast.Expr {
	switch e.Kind() {
	case ast.CallKind:
		if call := e.AsCall(); call.IsMemberFunction() {
			return append([]ast.Expr{call.Target()}, call.Args()...)
		}
		return e.AsCall().Args()
	case ast.SelectKind:
		return []ast.Expr{e.AsSelect().Operand()}
	case ast.ListKind:
		return e.AsList().Elements()
	default:
		return nil
	}
}
