package condition

import (
	"strings"
	"testing"

	"fmqm/container"
)

// What a condition may take is bounded, whatever it and its container are: every part of
// it that goes through a long text or list counts for what it goes through, and a regular
// expression that would take longer is not begun. Some of these took minutes.
func TestWhatTakesLongIsEnded(t *testing.T) {
	text, texts, ints := container.Scalar(container.String), container.NewList(container.Scalar(container.String)), container.NewList(container.Scalar(container.Int))
	scope := Scope{RC: true, Members: container.NewStructure("Long", []container.Member{
		{Name: "s", Type: text}, {Name: "part", Type: text}, {Name: "pattern", Type: text}, {Name: "l", Type: texts}, {Name: "n", Type: ints},
	})}
	out := container.New(scope.Members)
	var words, numbers []container.Value
	for i := range 100_000 {
		words, numbers = append(words, "word"), append(numbers, int64(i))
	}
	out.Fields = []container.Value{strings.Repeat("a", 1_000_000), strings.Repeat("a", 500_000) + "b", "(a|aa|aaa)*(b|c|d)*x", words, numbers}
	eval := func(condition string) (bool, error) {
		return mustLoad(t, condition, scope).Eval(out, 0)
	}
	for _, condition := range []string{
		`s.matches("(a|aa|aaa)*(b|c|d)*x")`,
		`s.matches(pattern)`,
		`l.all(x, s.matches("(a?){100}b"))`,
		`l.exists(x, s.contains(part))`,
		`l.all(x, size(s) > 0)`,
		`l.all(x, l == l)`,
		`n.all(x, x in n)`,
		`l.all(x, s + x != "")`,
		`l.all(x, l.all(y, s < part))`,
		`l.all(x, bytes(s).size() > 1)`,
		strings.Repeat("n == n && ", 100) + "true",
		strings.Repeat("n + ", 200) + "n == []",
		"(" + strings.Repeat("n + ", 200) + "n).all(x, x >= 0)",
	} {
		if holds, err := eval(condition); err == nil || !strings.Contains(err.Error(), "it took more than 2000000 steps") {
			t.Errorf("%.60s: %v, %v", condition, holds, err)
		}
	}
	for _, condition := range []string{
		`s.matches("^a*$")`, `part.matches("b$")`, `!s.contains(part)`, `l.all(x, x == "word")`, `n.exists(x, x == 99999)`,
		`n == n`, `n + [1] + n != n`, `99999 in n`, `l.map(x, x + "s").size() == 100000`, `s < part`, `size(s) == 1000000`,
	} {
		if holds, err := eval(condition); err != nil || !holds {
			t.Errorf("%s: %v, %v", condition, holds, err)
		}
	}
}

// What only compares texts has the limit as well, where the texts are long; and all
// conditions about one output have one together, so that many cannot add up to minutes.
func TestWhatTakesLongTogetherIsEnded(t *testing.T) {
	text := container.Scalar(container.String)
	scope := Scope{RC: true, Members: container.NewStructure("Texts", []container.Member{
		{Name: "s", Type: text}, {Name: "part", Type: text}, {Name: "n", Type: container.Scalar(container.Int)},
	})}
	load := func(condition string) *Condition { return mustLoad(t, condition, scope) }
	long, short := container.New(scope.Members), container.New(scope.Members)
	long.Fields[0], long.Fields[1] = strings.Repeat("a", 400_000), strings.Repeat("a", 399_999)+"b"
	short.Fields[0], short.Fields[1] = "abc", "b"

	alone := load(strings.Repeat("!s.contains(part) && ", 190) + "true")
	if holds, err := alone.Eval(long, 0); err == nil || !strings.Contains(err.Error(), "it took more than 2000000 steps: make the texts and lists in its output shorter") {
		t.Errorf("alone: %v, %v", holds, err)
	}
	if _, err := alone.Eval(short, 0); err != nil {
		t.Errorf("alone, over short texts: %v", err)
	}

	one, numbers := load(strings.Repeat("!s.contains(part) && ", 100)+"true"), load("n * 7 + 1 > 0 && _RC == 0")
	evaluate := func(c *Condition, out *container.Struct, times int) (int, error) {
		var spent Spent
		for i := range times {
			if holds, err := c.EvalWithin(&spent, out, &Values{}); err != nil || !holds {
				return i, err
			}
		}
		return times, nil
	}
	if n, err := evaluate(one, long, 2_000); n < 5 || n > 10 || err == nil ||
		!strings.Contains(err.Error(), "the conditions of this activity took more than 10000000 steps together") {
		t.Errorf("together: ended after %d: %v", n, err)
	}
	again, _ := evaluate(one, long, 2_000)
	if n, _ := evaluate(one, long, 2_000); n != again {
		t.Errorf("it ended after %d and after %d", again, n)
	}
	for _, c := range []*Condition{numbers, load(`s == "abc" && part.startsWith("b")`)} { // as many as an activity may have
		if n, err := evaluate(c, short, 2_000); err != nil {
			t.Errorf("over short texts: ended after %d: %v", n, err)
		}
	}
}

// mustLoad loads a condition that is right.
func mustLoad(t testing.TB, text string, scope Scope) *Condition {
	t.Helper()
	checked, problems := Check(text, scope)
	if len(problems) > 0 {
		t.Fatalf("%s: %v", text, problems)
	}
	loaded, err := Load(checked, scope)
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}
