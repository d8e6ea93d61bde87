package condition

import (
	"fmt"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/checker"
	"cel.dev/cel-go/common/containers"
	"cel.dev/cel-go/common/decls"
	"cel.dev/cel-go/common/env"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/stdlib"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/parser"

	"fmqm/container"
)

// excluded are functions that would make a condition untyped, or of a type that
// containers have not, and division, which is our own.
var excluded = []*env.Function{{Name: "dyn"}, {Name: "type"}, {Name: "uint"}, {Name: operators.Divide}}

// maxRegexp bounds the steps that a regular expression takes for one character.
const maxRegexp = 1000

// functionDecls are the functions of the language: CEL's, but that dividing a double
// by zero is an error like dividing an int. CEL would give an infinity, and a
// transition condition would be TRUE for it.
func functionDecls() ([]*decls.FunctionDecl, error) {
	divide, err := decls.NewFunction(operators.Divide,
		decls.Overload(overloads.DivideDouble, []*types.Type{types.DoubleType, types.DoubleType}, types.DoubleType),
		decls.Overload(overloads.DivideInt64, []*types.Type{types.IntType, types.IntType}, types.IntType),
		decls.SingletonBinaryBinding(func(lhs, rhs ref.Val) ref.Val {
			if d, ok := rhs.(types.Double); ok && d == 0 {
				return types.NewErr("division by zero")
			}
			return lhs.(traits.Divider).Divide(rhs)
		}, traits.DividerType))
	if err != nil {
		return nil, err
	}
	all := []*decls.FunctionDecl{divide}
	subset := &env.LibrarySubset{ExcludeFunctions: excluded}
	for _, f := range stdlib.Functions() {
		f, ok := subset.SubsetFunction(f)
		if !ok {
			continue
		}
		if f.Name() == overloads.Matches {
			if f, err = searching(f); err != nil {
				return nil, err
			}
		}
		if f.Name() == operators.Add {
			if f, err = adding(f); err != nil {
				return nil, err
			}
		}
		if holds, ok := orders[f.Name()]; ok {
			if f, err = ordering(f, holds); err != nil {
				return nil, err
			}
		}
		all = append(all, f)
	}
	return all, nil
}

// language is what all scopes share: parser, functions and their implementation.
type language struct {
	parser *parser.Parser
	check  *checker.Env
	run    *cel.Env
}

// shared builds the language when it is first needed. That it cannot fail is held by
// every test of this package.
var shared = sync.OnceValue(func() *language {
	l, err := newLanguage()
	if err != nil {
		panic("condition: " + err.Error())
	}
	return l
})

func newLanguage() (*language, error) {
	p, err := parser.NewParser(
		parser.Macros(parser.AllMacro, parser.ExistsMacro, parser.ExistsOneMacro,
			parser.MapMacro, parser.MapFilterMacro, parser.FilterMacro),
		parser.EnableIdentEscapeSyntax(false),
		parser.EnablePrattParser(true), // an order of magnitude faster
		parser.ErrorReportingLimit(1),
	)
	if err != nil {
		return nil, err
	}
	check, err := checker.NewEnv(containers.DefaultContainer, &provider{}, checker.CrossTypeNumericComparisons(true))
	if err != nil {
		return nil, err
	}
	functions, err := functionDecls()
	if err != nil {
		return nil, err
	}
	if err := check.AddFunctions(functions...); err != nil {
		return nil, err
	}
	run, err := cel.NewCustomEnv(cel.FunctionDecls(functions...), cel.RegexProgramSizeLimit(maxRegexp),
		cel.CustomTypeAdapter(adapter{}), cel.CustomTypeProvider(&provider{}))
	return &language{parser: p, check: check, run: run}, err
}

// environment is the language with the members of one scope.
type environment struct {
	check *checker.Env
	run   *cel.Env
	types *provider
}

// environments keeps those used last: a definition has many conditions for each
// structure. It is emptied when full, which costs some microseconds for each scope.
var environments struct {
	sync.Mutex
	of map[Scope]*environment
}

const maxEnvironments = 256

func environmentOf(s Scope) (*environment, error) {
	c := &environments
	c.Lock()
	defer c.Unlock()
	if e := c.of[s]; e != nil {
		return e, nil
	}
	e, err := newEnvironment(s)
	if err != nil {
		return nil, err
	}
	if c.of == nil || len(c.of) >= maxEnvironments {
		c.of = map[Scope]*environment{}
	}
	c.of[s] = e
	return e, nil
}

func newEnvironment(s Scope) (*environment, error) {
	p := &provider{}
	var idents []*decls.VariableDecl
	for _, m := range s.Members.Members {
		t, err := p.add(m.Type)
		if err != nil {
			return nil, err
		}
		idents = append(idents, decls.NewVariable(m.Name, t))
	}
	if s.RC {
		idents = append(idents, decls.NewVariable(RC, types.IntType))
	}
	for _, word := range s.seen().each() {
		t, err := p.add(s.TypeOf(word))
		if err != nil {
			return nil, err
		}
		idents = append(idents, decls.NewVariable(word.String(), t))
	}
	l := shared()
	check, err := checker.NewEnv(containers.DefaultContainer, p,
		checker.CrossTypeNumericComparisons(true), checker.ValidatedDeclarations(l.check))
	if err != nil {
		return nil, err
	}
	if err := check.AddIdents(idents...); err != nil {
		return nil, err
	}
	run := l.run
	if len(p.structures) > 0 {
		run, err = l.run.Extend(cel.CustomTypeProvider(p))
	}
	return &environment{check: check, run: run, types: p}, err
}

// provider tells CEL about the structures within one scope, by their names.
type provider struct {
	structures map[string]*structure
}

type structure struct {
	of      *container.Type
	cel     *types.Type
	members map[string]*types.FieldType
}

// add gives the CEL type of t, and learns the structures in it.
func (p *provider) add(t *container.Type) (*types.Type, error) {
	switch t.Kind {
	case container.Bool:
		return types.BoolType, nil
	case container.Int:
		return types.IntType, nil
	case container.Double:
		return types.DoubleType, nil
	case container.String:
		return types.StringType, nil
	case container.Bytes:
		return types.BytesType, nil
	case container.Timestamp:
		return types.TimestampType, nil
	case container.Duration:
		return types.DurationType, nil
	case container.List:
		elem, err := p.add(t.Elem)
		return types.NewListType(elem), err
	case container.Structure:
		return p.addStructure(t)
	}
	return nil, fmt.Errorf("a type of unknown kind %d", t.Kind)
}

func (p *provider) addStructure(t *container.Type) (*types.Type, error) {
	if s := p.structures[t.Name]; s != nil {
		if !container.SameType(s.of, t) {
			return nil, fmt.Errorf("two structures are called %q: rename one of them", t.Name)
		}
		return s.cel, nil
	}
	s := &structure{of: t, cel: types.NewObjectType(t.Name), members: map[string]*types.FieldType{}}
	if p.structures == nil {
		p.structures = map[string]*structure{}
	}
	p.structures[t.Name] = s
	for i, m := range t.Members {
		mt, err := p.add(m.Type)
		if err != nil {
			return nil, err
		}
		s.members[m.Name] = &types.FieldType{
			Type:  mt,
			IsSet: func(any) bool { return true },
			GetFrom: func(of any) (any, error) {
				if s, ok := of.(*container.Struct); ok && i < len(s.Fields) {
					return s.Fields[i], nil
				}
				return nil, fmt.Errorf("the value has no member %s", m.Name)
			},
		}
	}
	return s.cel, nil
}

// container is the opposite of add. An empty list has no type of elements; what has no
// type in containers gives none.
func (p *provider) container(t *types.Type) *container.Type {
	switch t.Kind() {
	case types.ListKind:
		if elem := p.container(t.Parameters()[0]); elem != nil {
			return container.NewList(elem)
		}
		return &container.Type{Kind: container.List}
	case types.StructKind:
		if s := p.structures[t.TypeName()]; s != nil {
			return s.of
		}
		return nil
	default:
		if kind, ok := container.ParseKind(typeName(t)); ok {
			return container.Scalar(kind)
		}
		return nil
	}
}

func (p *provider) FindStructType(name string) (*types.Type, bool) {
	s := p.structures[name]
	if s == nil {
		return nil, false
	}
	return types.NewTypeTypeWithParam(s.cel), true
}

func (p *provider) FindStructFieldNames(name string) ([]string, bool) {
	s := p.structures[name]
	if s == nil {
		return nil, false
	}
	return s.of.MemberNames(), true
}

func (p *provider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	s := p.structures[name]
	if s == nil {
		return nil, false
	}
	f := s.members[field]
	return f, f != nil
}

// EnumValue, FindIdent and NewValue: there are no enumerations, no names of types and
// no way to build a structure.
func (p *provider) EnumValue(name string) ref.Val {
	return types.NewErr("no enumeration %s", name)
}

func (p *provider) FindIdent(string) (ref.Val, bool) { return nil, false }

func (p *provider) NewValue(name string, _ map[string]ref.Val) ref.Val {
	return types.NewErr("there is no way to build a structure %s", name)
}
