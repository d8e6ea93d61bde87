package condition

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"sync"

	"cel.dev/cel-go/common/decls"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"

	"fmqm/container"
)

// MaxCost bounds an evaluation, in steps of some ten nanoseconds: it takes less than half
// a second's work, whatever the condition and the container are. It is reckoned and not
// measured, so that a condition gives the same at every site.
const MaxCost = 2_000_000

const (
	textStep   = 64 // bytes of a text that are searched or compared in a step
	regexpStep = 4  // instructions of a regular expression, times bytes, in a step
)

// costs reckons what a call takes. CEL's own reckoning counts a call as one where it goes
// through a long text or a list.
type costs struct{}

// CallCost implements cost.ActualCostEstimator. It is asked after the call; what a single
// call may take is bounded by the size of containers, and for regular expressions in search.
func (costs) CallCost(function, _ string, args []ref.Val, result ref.Val) *uint64 {
	steps := uint64(1)
	switch function {
	case operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals:
		steps += min(weight(args[0]), weight(args[1]))
	case operators.In:
		steps += weight(args[1])
	case operators.Add:
		steps += textWeight(result)
		if l, ok := result.(traits.Lister); ok && !grows(l) {
			steps += uint64(length(l))
		}
	case overloads.Matches:
		steps += matchWeight(args)
	default:
		for _, a := range args {
			steps += textWeight(a)
		}
	}
	return &steps
}

// weight is what it takes to go through a value.
func weight(v ref.Val) uint64 {
	switch v := v.(type) {
	case structValue:
		return weightOf(v.Struct)
	case traits.Lister:
		if elements, ok := v.Value().([]container.Value); ok {
			return weightOf(elements)
		}
		return uint64(length(v))
	}
	return textWeight(v)
}

func weightOf(v container.Value) uint64 {
	steps := uint64(1)
	switch v := v.(type) {
	case string:
		steps += uint64(len(v) / textStep)
	case []byte:
		steps += uint64(len(v) / textStep)
	case []container.Value:
		for _, e := range v {
			steps += weightOf(e)
		}
	case *container.Struct:
		for _, f := range v.Fields {
			steps += weightOf(f)
		}
	}
	return steps
}

func textWeight(v ref.Val) uint64 {
	switch v := v.(type) {
	case types.String:
		return uint64(len(v) / textStep)
	case types.Bytes:
		return uint64(len(v) / textStep)
	}
	return 0
}

func matchWeight(args []ref.Val) uint64 {
	text, isText := args[0].(types.String)
	pattern, isPattern := args[1].(types.String)
	if !isText || !isPattern {
		return 0
	}
	e, err := compiled(string(pattern))
	if err != nil {
		return uint64(len(pattern))
	}
	return e.steps(len(text))
}

// expression is a regular expression, and how many instructions it has.
type expression struct {
	*regexp.Regexp
	size int
}

// steps is what it takes to search so many bytes.
func (e *expression) steps(bytes int) uint64 { return uint64(bytes) * uint64(e.size) / regexpStep }

// search says whether the text has a match. A search that alone would take more than an
// evaluation may is not begun.
func (e *expression) search(text string) ref.Val {
	if e.steps(len(text)) > MaxCost {
		return types.NewErr("cost limit: the regular expression has %d instructions, the text %d bytes", e.size, len(text))
	}
	return types.Bool(e.MatchString(text))
}

// expressions keeps those used last. It is emptied when full.
var expressions struct {
	sync.Mutex
	of map[string]*expression
}

const maxExpressions = 256

// compiled gives a regular expression of at most maxRegexp instructions.
func compiled(pattern string) (*expression, error) {
	c := &expressions
	c.Lock()
	defer c.Unlock()
	if e := c.of[pattern]; e != nil {
		return e, nil
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}
	if n := len(program.Inst); n > maxRegexp {
		return nil, fmt.Errorf("regex program size %d exceeds limit of %d", n, maxRegexp)
	}
	r, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	if c.of == nil || len(c.of) >= maxExpressions {
		c.of = map[string]*expression{}
	}
	e := &expression{r, len(program.Inst)}
	c.of[pattern] = e
	return e, nil
}

// matches is the function of that name where the pattern is not written in the condition.
func matches(text, pattern ref.Val) ref.Val {
	s, isText := text.(types.String)
	p, isPattern := pattern.(types.String)
	if !isText || !isPattern {
		return types.MaybeNoSuchOverloadErr(pattern)
	}
	e, err := compiled(string(p))
	if err != nil {
		return types.NewErr("%v", err)
	}
	return e.search(string(s))
}

// constantMatches is the same for a pattern that is: it is compiled when the condition is
// loaded. CEL has one of its own, which those with an overload's name come before.
var constantMatches = []*interpreter.RegexOptimization{constantMatch(overloads.Matches), constantMatch(overloads.MatchesString)}

func constantMatch(overload string) *interpreter.RegexOptimization {
	return &interpreter.RegexOptimization{
		Function: overloads.Matches, OverloadID: overload, RegexIndex: 1,
		Factory: func(call interpreter.InterpretableCall, pattern string) (interpreter.InterpretableCall, error) {
			e, err := compiled(pattern)
			if err != nil {
				return nil, err
			}
			return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), func(values ...ref.Val) ref.Val {
				text, ok := values[0].(types.String)
				if !ok {
					return types.MaybeNoSuchOverloadErr(values[0])
				}
				return e.search(string(text))
			}), nil
		},
	}
}

// searching is CEL's function matches, by what is here.
func searching(f *decls.FunctionDecl) (*decls.FunctionDecl, error) {
	opts := []decls.FunctionOpt{decls.SingletonBinaryBinding(matches, traits.MatcherType)}
	for _, o := range f.OverloadDecls() {
		of := decls.Overload
		if o.IsMemberFunction() {
			of = decls.MemberOverload
		}
		opts = append(opts, of(o.ID(), o.ArgTypes(), o.ResultType()))
	}
	return decls.NewFunction(f.Name(), opts...)
}
