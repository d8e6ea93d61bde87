package condition

import (
	"fmt"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// conversions are the functions that convert a value, with the type that they give, and
// how a literal that they take is written.
var conversions = map[string]struct {
	to      ref.Type
	example string
}{
	"int": {types.IntType, `42, or int("42")`}, "double": {types.DoubleType, `4.2, or double("4.2")`},
	"bool": {types.BoolType, "true or false"}, "string": {types.StringType, `"text"`}, "bytes": {types.BytesType, `bytes("text")`},
	"duration": {types.DurationType, `duration("1h30m")`}, "timestamp": {types.TimestampType, `timestamp("2024-05-01T12:00:00Z")`},
}

// badConversions finds literals that cannot be converted to what they are to be.
func badConversions(text string, a *ast.AST) []Problem {
	var problems []Problem
	ast.PostOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind {
			return
		}
		name, args := e.AsCall().FunctionName(), e.AsCall().Args()
		c, known := conversions[name]
		if !known || len(args) != 1 || args[0].Kind() != ast.LiteralKind {
			return
		}
		v := args[0].AsLiteral()
		if _, failed := v.ConvertToType(c.to).(*types.Err); failed {
			written := fmt.Sprint(v.Value())
			if s, ok := v.(types.String); ok {
				written = fmt.Sprintf("%q", string(s))
			}
			problems = append(problems, Problem{
				Offset:  place(text, a, args[0]),
				Message: fmt.Sprintf("%s is not a valid %s", written, name), Remedy: "write " + c.example,
			})
		}
	}))
	return problems
}
