package condition

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"cel.dev/cel-go/cel"
	"pgregory.net/rapid"

	"fmqm/container"
)

// A term is a random expression together with what it means, said in Go. Its value is
// bool, int64 or float64.
type term struct {
	text    string
	literal bool // an int written out: a double beside a double
	value   func(out *container.Struct, rc int64) (any, error)
}

var errZero = errors.New("division by zero")

func constant(text string, v any) term {
	_, literal := v.(int64)
	return term{text, literal, func(*container.Struct, int64) (any, error) { return v, nil }}
}

func member(name string) term {
	return term{text: name, value: func(out *container.Struct, _ int64) (any, error) {
		p, _, err := out.Type.Resolve(name)
		if err != nil {
			return nil, err
		}
		return out.Get(p), nil
	}}
}

func apply(format string, f func(a, b any) (any, error), a, b term) term {
	return term{text: fmt.Sprintf(format, a.text, b.text), value: func(out *container.Struct, rc int64) (any, error) {
		x, err := a.value(out, rc)
		if err != nil {
			return nil, err
		}
		y, err := b.value(out, rc)
		if err != nil {
			return nil, err
		}
		return f(x, y)
	}}
}

func anyInt(t *rapid.T, depth int) term {
	if depth == 0 || rapid.Bool().Draw(t, "leaf") {
		switch rapid.IntRange(0, 3).Draw(t, "int") {
		case 0:
			return member(rapid.SampledFrom([]string{"quantity", "stock", "first.quantity"}).Draw(t, "member"))
		case 1:
			return term{text: RC, value: func(_ *container.Struct, rc int64) (any, error) { return rc, nil }}
		default:
			n := rapid.Int64Range(-3, 3).Draw(t, "n")
			return constant(fmt.Sprint(n), n)
		}
	}
	op := rapid.SampledFrom([]string{"+", "-", "*", "/", "%"}).Draw(t, "op")
	return apply("(%s "+strings.ReplaceAll(op, "%", "%%")+" %s)", func(a, b any) (any, error) {
		x, y := a.(int64), b.(int64)
		switch {
		case op == "+":
			return x + y, nil
		case op == "-":
			return x - y, nil
		case op == "*":
			return x * y, nil
		case y == 0:
			return nil, errZero
		case op == "/":
			return x / y, nil
		default:
			return x % y, nil
		}
	}, anyInt(t, depth-1), anyInt(t, depth-1))
}

func anyDouble(t *rapid.T, depth int) term {
	if depth == 0 || rapid.Bool().Draw(t, "leaf") {
		if rapid.Bool().Draw(t, "constant") {
			d := float64(rapid.IntRange(-6, 6).Draw(t, "d")) / 2
			return constant(fmt.Sprintf("%.2f", d), d)
		}
		return member(rapid.SampledFrom([]string{"amount", "rate"}).Draw(t, "member"))
	}
	op := rapid.SampledFrom([]string{"+", "-", "*", "/"}).Draw(t, "op")
	a, b := beside(t, anyDouble(t, depth-1))
	return apply("(%s "+op+" %s)", func(a, b any) (any, error) {
		x, y := double(a), double(b)
		switch {
		case op == "+":
			return x + y, nil
		case op == "-":
			return x - y, nil
		case op == "*":
			return x * y, nil
		case y == 0:
			return nil, errZero
		default:
			return x / y, nil
		}
	}, a, b)
}

// beside puts another double or an int literal before or after d.
func beside(t *rapid.T, d term) (term, term) {
	other := anyDouble(t, 0)
	if rapid.Bool().Draw(t, "widen") {
		n := rapid.Int64Range(-3, 3).Draw(t, "n")
		other = constant(fmt.Sprint(n), n)
	}
	if rapid.Bool().Draw(t, "before") {
		return other, d
	}
	return d, other
}

func double(v any) float64 {
	if n, ok := v.(int64); ok {
		return float64(n)
	}
	return v.(float64)
}

func anyBool(t *rapid.T, depth int) term {
	if depth == 0 {
		return rapid.SampledFrom([]term{member("approved"), constant("true", true), constant("false", false)}).Draw(t, "bool")
	}
	switch rapid.IntRange(0, 5).Draw(t, "bool") {
	case 0:
		a := anyBool(t, depth-1)
		return apply("!(%s)%.0s", func(a, _ any) (any, error) { return !a.(bool), nil }, a, constant("", true))
	case 1:
		return eitherOf(anyBool(t, depth-1), anyBool(t, depth-1), "(%s || %s)", true)
	case 2:
		return eitherOf(anyBool(t, depth-1), anyBool(t, depth-1), "(%s && %s)", false)
	case 3:
		a, b := beside(t, anyDouble(t, depth-1))
		if rapid.Bool().Draw(t, "in") {
			return apply("%[2]s in [99, %[1]s, 99]", func(a, b any) (any, error) { return double(a) == double(b) || double(b) == 99, nil }, asDouble(a), asDouble(b))
		}
		return compare(rapid.SampledFrom([]string{"==", "!="}).Draw(t, "op"), a, b)
	default:
		number := func() term {
			if rapid.Bool().Draw(t, "double") {
				return anyDouble(t, depth-1)
			}
			return anyInt(t, depth-1)
		}
		return compare(rapid.SampledFrom([]string{"<", "<=", ">", ">="}).Draw(t, "op"), number(), number())
	}
}

// asDouble writes 2.0 for 2, where nothing beside it would make it a double.
func asDouble(a term) term {
	if a.literal {
		a.text += ".0"
	}
	return a
}

func compare(op string, a, b term) term {
	return apply("%s "+op+" %s", func(a, b any) (any, error) {
		x, y := double(a), double(b) // exact: the numbers are small
		switch op {
		case "==":
			return x == y, nil
		case "!=":
			return x != y, nil
		case "<":
			return x < y, nil
		case "<=":
			return x <= y, nil
		case ">":
			return x > y, nil
		default:
			return x >= y, nil
		}
	}, a, b)
}

// eitherOf is || and &&: an error on one side is none where the other decides.
func eitherOf(a, b term, format string, decides bool) term {
	return term{text: fmt.Sprintf(format, a.text, b.text), value: func(out *container.Struct, rc int64) (any, error) {
		x, errX := a.value(out, rc)
		y, errY := b.value(out, rc)
		switch {
		case errX == nil && x == decides, errY == nil && y == decides:
			return decides, nil
		case errX != nil:
			return nil, errX
		default:
			return !decides, errY
		}
	}}
}

// What is checked, shipped and loaded elsewhere gives what the checked expression
// gives at once, and both give what the condition says.
func TestLoadedConditionsMeanWhatTheySay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := anyBool(t, 3)
		here, there := order(), order()
		c, problems := Check(x.text, here)
		if len(problems) > 0 {
			t.Fatalf("%s: %s", x.text, written(problems))
		}
		loaded, err := Load(c, there)
		if err != nil {
			t.Fatal(err)
		}
		out := container.New(there.Members)
		out.Fields[1] = rapid.Int64Range(-3, 3).Draw(t, "quantity")
		out.Fields[2] = rapid.Int64Range(-3, 3).Draw(t, "stock")
		out.Fields[3] = float64(rapid.IntRange(-6, 6).Draw(t, "amount")) / 2
		out.Fields[4] = float64(rapid.IntRange(-2, 2).Draw(t, "rate"))
		out.Fields[5] = rapid.Bool().Draw(t, "approved")
		rc := rapid.Int64Range(-1, 2).Draw(t, "rc")

		want, wantErr := x.value(out, rc)
		got, err := loaded.Eval(out, rc)
		if (err != nil) != (wantErr != nil) || err == nil && got != want {
			t.Fatalf("%s over %v with _RC %d: got %v (%v), want %v (%v)", x.text, out.Fields, rc, got, err, want, wantErr)
		}
		direct, directErr := evalUnshipped(t, x.text, here, out, rc)
		if (err != nil) != (directErr != nil) || err == nil && got != direct {
			t.Fatalf("%s: shipped %v (%v), unshipped %v (%v)", x.text, got, err, direct, directErr)
		}
	})
}

// evalUnshipped evaluates the checker's own output, without the way over bytes and
// with none of its types left out.
func evalUnshipped(t *rapid.T, text string, s Scope, out *container.Struct, rc int64) (bool, error) {
	e, err := newEnvironment(s)
	if err != nil {
		t.Fatal(err)
	}
	a, problems := typed(text, e, &vocabulary{scope: s})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	program, err := e.run.PlanProgram(a)
	if err != nil {
		t.Fatal(err)
	}
	return (&Condition{loaded{text: text, count: func() (cel.Program, error) { return program, nil }}}).Eval(out, rc)
}

// Whatever the text, Check gives a condition that loads and evaluates, or problems
// that point into the text.
func TestCheckOfAnything(t *testing.T) {
	tokens := []string{
		"amount", "quantity", "approved", "lines", "first", "prices", "customer", "due", "_RC", "l", "x", ".", ".sku", ".quantity", "(", ")", "[", "]", "{", "}",
		",", "?", ":", "!", "-", "+", "*", "/", "%", "&&", "||", "&", "|", "=", "==", "!=", "<", ">=", " in ", "1", "2.5", "0", "'a'", "\"", "'", "\\", "null", "true",
		"_TIMEOUT", "_ERROR", "_RESULTS", "_ERRORS", "_RCS", "_COUNT", "size(", ".exists(l,", ".all(x,", ".map(x,", ".size()", "has(", "timestamp('x')", "[]", " ", "\n", "ä", "//", "r'", "`", "1u", "b'x'",
	}
	bundle := func() Scope {
		s := order()
		s.Words, s.Results = everyWord&^WordEvent, s.Members
		return s
	}
	s := bundle()
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(tokens), 0, 10).Draw(t, "tokens"), "")
		c, problems := Check(text, s)
		ReadsOf(text, s)
		for _, p := range problems {
			if p.Offset < 0 || p.Offset > len(text) || p.Message == "" || p.Remedy == "" {
				t.Fatalf("%q: %+v", text, p)
			}
		}
		if len(problems) > 0 {
			return
		}
		there := bundle()
		loaded, err := Load(c, there)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if _, err := loaded.Eval(container.New(there.Members), 0); err != nil && strings.Contains(err.Error(), "no such overload") {
			t.Fatalf("%q: accepted, and not typed: %v", text, err)
		}
	})
}

// Damaged bytes are refused, or are another condition; they never do harm.
func TestLoadOfDamagedBytes(t *testing.T) {
	s := order()
	out := container.New(s.Members)
	whole, _ := Check(`lines.exists(l, l.quantity > 1 && amount == 2) || first.sku in ["a", "b"] && _RC == 0`, s)
	rapid.Check(t, func(t *rapid.T) {
		c := whole
		c.Expr = append([]byte{}, whole.Expr...)
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			c.Expr[rapid.IntRange(0, len(c.Expr)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		}
		if loaded, err := Load(c, s); err == nil {
			_, _ = loaded.Eval(out, 0)
		}
	})
}
