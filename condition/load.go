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
type Condition struct {
	text  string
	words bool                        // it reads some of the engine beside _RC
	plain *plain                      // nil: its steps are always counted
	count func() (cel.Program, error) // the program that counts them; of a plain one, made when it is first needed
}

// Long says whether an evaluation can take up to MaxCost whatever the container is. Any
// other can only where the texts that it reads are long.
func (c *Condition) Long() bool { return c.plain == nil }

// Load makes a condition ready for evaluation over structures of the scope's type.
// It needs no parser: 10 to 200 µs. It fails if c is damaged or was not checked
// against such a scope.
func Load(c Checked, s Scope) (*Condition, error) {
	loaded, err := load(c, s)
	if err != nil {
		return nil, fmt.Errorf("load condition %q: %w: compile and upload the process again", c.Text, err)
	}
	return loaded, nil
}

func load(c Checked, s Scope) (_ *Condition, err error) {
	// The planner trusts the checker's output and may panic on what no checker made.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("damaged: %v", r)
		}
	}()
	e, a, err := decode(c, s)
	if err != nil {
		return nil, err
	}
	if err := verify(a, c, s); err != nil {
		return nil, err
	}
	loaded := &Condition{text: c.Text, words: c.Reads != 0}
	if c.Macros || readsMany(a.NativeRep().Expr(), s) {
		program, err := e.run.Program(a, options(a, true)...)
		loaded.count = func() (cel.Program, error) { return program, nil }
		return loaded, err
	}
	loaded.count = sync.OnceValues(func() (cel.Program, error) {
		e, a, err := decode(c, s) // again: to keep it would take more memory than all else of it
		if err != nil {
			return nil, err
		}
		return e.run.Program(a, options(a, true)...)
	})
	program, err := e.run.Program(a, options(a, false)...)
	loaded.plain = plainOf(program, a.NativeRep().Expr(), c.Text, s)
	return loaded, err
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
func verify(a *cel.Ast, c Checked, s Scope) error {
	if !a.OutputType().IsExactType(types.BoolType) {
		return fmt.Errorf("it does not give TRUE or FALSE")
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

// EvalWithin is Eval as one of several conditions about one result, with all that its
// scope's words say: over MaxTogether it is an error. The same conditions in the same order come to the same at every site.
func (c *Condition) EvalWithin(spent *Spent, out *container.Struct, v *Values) (bool, error) {
	fail := func(err error) (bool, error) {
		return false, fmt.Errorf("evaluate condition %q: %w", c.text, err)
	}
	if err := spent.take(0); err != nil {
		return fail(err)
	}
	result, steps, err := c.run(out, v)
	if err != nil {
		return fail(errors.New(runtimeError(err)))
	}
	if err := spent.take(steps); err != nil {
		return fail(err)
	}
	b, ok := result.(types.Bool)
	if !ok {
		return fail(fmt.Errorf("it gave %v instead of TRUE or FALSE", result))
	}
	return bool(b), nil
}

// run evaluates the condition, and gives what that took.
func (c *Condition) run(out *container.Struct, v *Values) (ref.Val, uint64, error) {
	var program cel.Program
	var steps uint64
	if c.plain != nil {
		steps = c.plain.most(out, v)
		program = c.plain.program
	}
	counts := c.plain == nil || steps > plainSteps
	if counts {
		var err error
		if program, err = c.count(); err != nil {
			return nil, 0, err
		}
	}
	a := activations.Get().(*activation)
	a.members, a.rc = out, v.RC
	if c.words {
		a.values = *v
	}
	result, details, err := program.Eval(a)
	a.members = nil
	if c.words {
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

// runtimeError puts CEL's words into the reader's.
func runtimeError(err error) string {
	text := err.Error()
	switch {
	case strings.Contains(text, "division by zero"), strings.Contains(text, "divide by zero"):
		return "division by zero: check first that the divisor is not 0, as in d != 0 && n / d > 2"
	case strings.Contains(text, "modulus by zero"):
		return "modulus by zero: check first that the divisor is not 0, as in d != 0 && n % d == 1"
	case strings.Contains(text, "index out of bounds"), strings.Contains(text, "out of range"):
		return text + ": check the length first, as in size(lines) > 2 && lines[2] == \"x\""
	case strings.Contains(text, "cost limit"):
		return fmt.Sprintf("it took more than %d steps: %s", MaxCost, remedyCost)
	}
	return text
}

// ReadsOf gives the top-level members of the scope that the condition text reads, in
// the order of their first use, without _RC. It gives none for a text that Check refuses to parse.
func ReadsOf(text string, s Scope) []string {
	a, problems := parse(text)
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
