package condition

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fmqm/container"
)

var (
	scalar    = container.Scalar
	texts     = container.NewList(scalar(container.String))
	ints      = container.NewList(scalar(container.Int))
	doubles   = container.NewList(scalar(container.Double))
	aLine     = order().Members.Members[9].Type
	aDuration = scalar(container.Duration)
	aTime     = scalar(container.Timestamp)
	aDouble   = scalar(container.Double)
)

// give takes an expression the whole way: checked at one node, loaded at another.
func give(t testing.TB, text string, want *container.Type) (container.Value, error) {
	t.Helper()
	c, problems := CheckExpr(text, order(), want)
	if len(problems) > 0 {
		t.Fatalf("%s: %s", text, written(problems))
	}
	there := order()
	e, err := LoadExpr(c, there, want)
	if err != nil {
		t.Fatal(err)
	}
	return e.Eval(&Spent{}, container.New(there.Members), &Values{RC: 7})
}

func TestExpressionsGiveValues(t *testing.T) {
	list := func(values ...container.Value) container.Value { return values }
	for _, test := range []struct {
		text  string
		want  *container.Type
		gives container.Value
	}{
		{`customer`, aString, "ann"},
		{`customer + "-" + string(quantity)`, aString, "ann-3"},
		{`approved ? "yes" : "no"`, aString, "yes"},
		{`quantity * 2 + _RC`, anInt, int64(13)},
		{`size(lines)`, anInt, int64(2)},
		{`int(amount)`, anInt, int64(2)},
		{`amount * double(quantity)`, aDouble, 7.5},
		{`quantity > 2 && approved`, aBool, true},
		{`seal + b"y"`, scalar(container.Bytes), []byte("xy")},
		{`duration(string(quantity) + "s")`, aDuration, 3 * time.Second},
		{`patience + duration("30m")`, aDuration, 2 * time.Hour},
		{`due - due`, aDuration, time.Duration(0)},
		{`due + patience`, aTime, time.Date(2024, 5, 2, 0, 30, 0, 0, time.UTC)},
		{`timestamp("2024-05-01T23:00:00+02:00")`, aTime, time.Date(2024, 5, 1, 21, 0, 0, 0, time.UTC)},

		// An int that is written out is a double where one is wanted.
		{`1`, aDouble, 1.0},
		{`-(2)`, aDouble, -2.0},
		{`approved ? 1 : 2`, aDouble, 1.0},
		{`[1, 2]`, doubles, list(1.0, 2.0)},
		{`[]`, doubles, list()},
		{`[[1], []]`, container.NewList(doubles), list(list(1.0), list())},
		{`1`, anInt, int64(1)},

		{`first`, aLine, lineOf(aLine, "", 0)},
		{`lines[1]`, aLine, lineOf(aLine, "b", 2)},
		{`lines`, container.NewList(aLine), list(lineOf(aLine, "a", 1), lineOf(aLine, "b", 2))},
		{`lines.filter(l, l.quantity > 1)`, container.NewList(aLine), list(lineOf(aLine, "b", 2))},
		{`[first] + lines.filter(l, false)`, container.NewList(aLine), list(lineOf(aLine, "", 0))},
		{`lines.map(l, l.sku + "!")`, texts, list("a!", "b!")},
		{`lines.map(l, l.quantity) + [quantity] + [_RC]`, ints, list(int64(1), int64(2), int64(3), int64(7))},
		{`prices.filter(p, p > 2)`, doubles, list(2.5)},
		{`lines.map(l, [l.sku])`, container.NewList(texts), list(list("a"), list("b"))},
		{`[[]][0]`, texts, list()},
	} {
		got, err := give(t, test.text, test.want)
		if err != nil || !container.Equal(got, test.gives) {
			t.Errorf("%s: got %v (%v), want %v", test.text, got, err, test.gives)
		}
		if err := container.CheckValue(test.want, got); err != nil {
			t.Errorf("%s: %v", test.text, err)
		}
	}
	// Each member by itself is what the container has.
	s := order()
	in := container.New(s.Members)
	for i, m := range s.Members.Members {
		if got, err := give(t, m.Name, m.Type); err != nil || !container.Equal(got, in.Fields[i]) {
			t.Errorf("%s: got %v (%v)", m.Name, got, err)
		}
	}
}

func TestAnErrorIsNeverAValue(t *testing.T) {
	for _, test := range []struct {
		text string
		want *container.Type
		err  string
	}{
		{`1 / stock`, anInt, "division by zero: check first that the divisor is not 0, as in d != 0 && n / d > 2"},
		{`amount * 1e308`, aDouble, "a double cannot be +Inf: use a finite number"},
		{`prices + [amount * 1e308]`, doubles, "[2]: a double cannot be +Inf: use a finite number"},
		{`lines[2]`, aLine, `index out of bounds: 2: check the length first, as in size(lines) > 2 && lines[2] == "x"`},
		{`[][0]`, nil, ""},
		{`lines.map(l, 1 / (l.quantity - 2))`, ints, "division by zero: check first that the divisor is not 0, as in d != 0 && n / d > 2"},
		{`timestamp("9999-12-31T23:59:59Z") + patience`, aTime, "timestamp overflow"},
		{`duration(customer)`, aDuration, "type conversion error from 'string' to 'duration'"},
	} {
		if test.want == nil { // what has no type is nothing that can be wanted
			if _, problems := CheckExpr(test.text, order(), anInt); len(problems) == 0 {
				t.Errorf("%s is an int", test.text)
			}
			continue
		}
		got, err := give(t, test.text, test.want)
		if want := "evaluate expression " + quote(test.text) + ": " + test.err; got != nil || err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("\ngot  %v, %v\nwant %s", got, err, want)
		}
	}
}

var inQuotes = regexp.MustCompile("`(.*)`")

func TestAnotherTypeThanIsWanted(t *testing.T) {
	for _, test := range []struct {
		text string
		want *container.Type
		says string
	}{
		{"quantity", aDuration, "0 quantity is int: write `duration(string(quantity) + \"s\")`, or make it a duration"},
		{"quantity", aString, "0 quantity is int: write `string(quantity)`, or make it a string"},
		{"first.quantity", aDouble, "5 first.quantity is int: write `double(first.quantity)`, or make it a double"},
		{"amount", anInt, "0 amount is double: write `int(amount)`, or make it an int"},
		{"customer", aTime, "0 customer is string: write `timestamp(customer)`, or make it a timestamp"},
		{"quantity  + 1", aDouble, "10 the expression is int: write `double(quantity + 1)`"},
		{"'90s'", aDuration, "0 \"90s\" is string: write `duration('90s')`"},
		{"'5'", anInt, "0 \"5\" is string: write 5 without quotes"},
		{"first", aString, "0 first is Line: name a string, or make it one"},
		{"lines", aLine, "0 lines is [Line]: name a Line, or make it one"},
		{"lines.map(l, l.quantity)", texts, "9 the expression is [int]: name a [string]"},
		{"[quantity, 1]", doubles, "0 the expression is [int]: name a [double]"},
		{"[]", aString, "0 the expression is [?]: name a string"},
		{"quantity", aBool, "0 the expression must be TRUE or FALSE, not int: compare it with something, as in quantity > 0"},
		{strings.Repeat("quantity + ", 10) + "1", aString, "108 the expression is int: write `string(…)`"},
		{"9007199254740993", aDouble, "0 9007199254740993 is int: the number is too large for a double to hold exactly: use a smaller one"},
	} {
		c, problems := CheckExpr(test.text, order(), test.want)
		if got := written(problems); got != test.says {
			t.Errorf("%s\ngot  %s\nwant %s", test.text, got, test.says)
			continue
		}
		if p := problems[0]; c.Expr != nil || p.Want != test.want || p.Found == nil || p.Found.Kind == test.want.Kind && p.Found.Kind != container.List {
			t.Errorf("%s: found %s, wanted %s", test.text, p.Found, p.Want)
		}
		if shown := inQuotes.FindStringSubmatch(problems[0].Remedy); shown != nil && !strings.Contains(shown[1], "…") {
			if _, problems := CheckExpr(shown[1], order(), test.want); len(problems) > 0 {
				t.Errorf("%s: the remedy is wrong: %s", test.text, written(problems))
			}
		}
	}
	// A structure of the same name that is another.
	other := container.NewStructure("Line", []container.Member{{Name: "sku", Type: aString}})
	if _, problems := CheckExpr("first", order(), other); len(problems) != 1 {
		t.Errorf("another Line: %s", written(problems))
	}
}

func TestProblemsOfExpressionsCallThemSo(t *testing.T) {
	for text, want := range map[string]string{
		"":                "0 the expression is empty: write one, such as the name of a member",
		"customer +":      "10 the expression ends too soon: write what follows the last operator",
		"if approved":     "0 if is not part of an expression: write it as in n > 1 ? a : b",
		"now()":           "3 now() does not exist: an expression must give the same result whenever it is evaluated: let the program put the time into a member",
		"Line{sku: ''}":   "4 an expression cannot build a structure: compare the members one by one",
		"custmer":         "0 Order has no member custmer; " + hasOrder + ": did you mean customer",
		"customer # 1":    "9 not understood: unexpected character: correct the expression here",
		"approved ? 1":    "12 the expression ends too soon: write what follows the last operator",
		"amount == 'x'":   `7 == does not take amount (double) and "x" (string): use values of one type`,
		"duration('1 d')": `9 "1 d" is not a valid duration: write duration("1h30m")`,
	} {
		_, problems := CheckExpr(text, order(), aString)
		if got := written(problems); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
		for _, p := range problems {
			if p.Found != nil || p.Want != nil {
				t.Errorf("%s: its type is not all that is wrong", text)
			}
		}
	}
	_, problems := CheckExpr("urgent", Scope{Members: container.Empty}, anInt)
	if got, want := written(problems), "0 there is no member urgent, because there is no input: write `input: STRUCTURE` at the activity, with a structure that has this member"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Whatever the container and the expression are, what a value takes is bounded, and a value
// is one that a container can hold.
func TestAValueIsOneThatAContainerCanHold(t *testing.T) {
	s := Scope{Words: WordInstance, Members: container.NewStructure("Long", []container.Member{{Name: "s", Type: aString}, {Name: "n", Type: ints}, {Name: "many", Type: container.NewList(ints)}})}
	in := container.New(s.Members)
	numbers := make([]container.Value, 100_000)
	for i := range numbers {
		numbers[i] = int64(i % 24)
	}
	in.Fields = []container.Value{strings.Repeat("a", 500_000), numbers, []container.Value{numbers, numbers, numbers, numbers, numbers}}
	lists := container.NewList(ints)
	eval := func(text string, want *container.Type) (container.Value, error) {
		c, problems := CheckExpr(text, s, want)
		if len(problems) > 0 {
			t.Fatalf("%.60s: %s", text, written(problems))
		}
		e, err := LoadExpr(c, s, want)
		if err != nil {
			t.Fatal(err)
		}
		return e.Eval(&Spent{}, in, &Values{Instance: "0197"})
	}
	const (
		tooLong  = "the list has more than 100000 elements"
		tooLarge = "the encoded container has over 1048576 bytes"
		tooMuch  = "it took more than 2000000 steps: make the texts and lists that it reads and gives shorter, or the expression simpler"
	)
	long := "n" + strings.Repeat(" + n", 200)
	for _, test := range []struct {
		text string
		want *container.Type
		err  string
	}{
		{`n + [1]`, ints, tooLong},
		{`s + s + s`, aString, tooLarge},
		{long, ints, tooMuch},
		{"[" + long + "]", lists, tooMuch},
		{`n.map(x, n)`, lists, tooMuch},
		{`[n.map(x, x + 1)].map(m, [` + strings.Repeat("m, ", 40) + `m])`, container.NewList(lists), tooMuch},
		{`[many, many, many]`, container.NewList(lists), tooLarge},
		{`n.map(x, s)`, texts, tooLarge},
		{`n.map(x, s + s)`, texts, tooMuch},
	} {
		begun := time.Now()
		got, err := eval(test.text, test.want)
		if err == nil || !strings.Contains(err.Error(), test.err) || got != nil {
			t.Errorf("%.60s: %v", test.text, err)
		}
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("%.60s took %v", test.text, took)
		}
	}
	for text, want := range map[string]*container.Type{
		"n": ints, "many": lists, "s + s": aString, "n.map(x, x)": ints, "n.filter(x, x > 0) + [1]": ints, "[n, n]": lists, "_INSTANCE + s": aString,
	} {
		if got, err := eval(text, want); err != nil || container.CheckValue(want, got) != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Conditions and expressions about one result have one budget.
func TestExpressionsSpendWithConditions(t *testing.T) {
	s := Scope{RC: true, Members: container.NewStructure("Long", []container.Member{{Name: "n", Type: ints}})}
	in := container.New(s.Members)
	in.Fields[0] = make([]container.Value, 100_000)
	for i := range in.Fields[0].([]container.Value) {
		in.Fields[0].([]container.Value)[i] = int64(0)
	}
	c, _ := CheckExpr("n", s, ints)
	e, err := LoadExpr(c, s, ints)
	if err != nil {
		t.Fatal(err)
	}
	var spent Spent
	times := 0
	for ; err == nil && times < 1000; times++ {
		_, err = e.Eval(&spent, in, &Values{})
	}
	if err == nil || !strings.Contains(err.Error(), "the expressions of this activity took more than 10000000 steps together") || times < 10 {
		t.Errorf("ended after %d: %v", times, err)
	}
	if _, err := mustLoad(t, "size(n) > 0", s).EvalWithin(&spent, in, &Values{}); err == nil {
		t.Error("nothing was left, and a condition was evaluated")
	}
}

func TestLoadExprRefusesWhatWasNotCheckedForIt(t *testing.T) {
	c, _ := CheckExpr("lines.map(l, l.quantity)", order(), ints)
	condition, _ := Check("approved", order())
	other := order()
	other.Members = container.NewStructure("Order", other.Members.Members[:9])
	for name, load := range map[string]func() (*Expr, error){
		"it gives [int], not [string]":         func() (*Expr, error) { return LoadExpr(c, order(), texts) },
		"it gives bool, not int":               func() (*Expr, error) { return LoadExpr(condition, order(), anInt) },
		"it reads lines, which Order does not": func() (*Expr, error) { return LoadExpr(c, other, ints) },
		"it gives no type, not int":            func() (*Expr, error) { return LoadExpr(Checked{}, order(), anInt) },
	} {
		if e, err := load(); e != nil || err == nil || !strings.HasPrefix(err.Error(), "load expression ") || !strings.Contains(err.Error(), name) {
			t.Errorf("want %s, got %v", name, err)
		}
	}
	if _, err := Load(c, order()); err == nil || !strings.Contains(err.Error(), "it does not give TRUE or FALSE") {
		t.Errorf("as a condition: %v", err)
	}
}

// What is checked, shipped and loaded elsewhere gives what the expression says.
func TestLoadedExpressionsMeanWhatTheySay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kinds := []*container.Type{aBool, anInt, aDouble}
		draw := []func(*rapid.T, int) term{anyBool, anyInt, anyDouble}
		n := rapid.IntRange(0, 2).Draw(t, "kind")
		x, want := draw[n](t, 3), kinds[n]
		inList := rapid.Bool().Draw(t, "list")
		if inList {
			y := draw[n](t, 1)
			x, want = apply("[%s] + [%s]", func(a, b any) (any, error) { return []container.Value{a, b}, nil }, x, y), container.NewList(want)
		}
		c, problems := CheckExpr(x.text, order(), want)
		if len(problems) > 0 {
			t.Fatalf("%s: %s", x.text, written(problems))
		}
		there := order()
		e, err := LoadExpr(c, there, want)
		if err != nil {
			t.Fatal(err)
		}
		in := container.New(there.Members)
		in.Fields[1] = rapid.Int64Range(-3, 3).Draw(t, "quantity")
		in.Fields[3] = float64(rapid.IntRange(-6, 6).Draw(t, "amount")) / 2
		in.Fields[5] = rapid.Bool().Draw(t, "approved")
		rc := rapid.Int64Range(-1, 2).Draw(t, "rc")

		says, saysErr := x.value(in, rc)
		got, err := e.Eval(&Spent{}, in, &Values{RC: rc})
		if (err != nil) != (saysErr != nil) || err == nil && !container.Equal(got, says) {
			t.Fatalf("%s over %v with _RC %d: got %v (%v), want %v (%v)", x.text, in.Fields, rc, got, err, says, saysErr)
		}
	})
}

// checkAny is what holds for each text, wanted type and container: an expression that is
// accepted loads, and gives a value of that type or an error.
func checkAny(t interface{ Fatalf(string, ...any) }, text string, s Scope, want *container.Type) {
	c, problems := CheckExpr(text, s, want)
	for _, p := range problems {
		if p.Offset < 0 || p.Offset > len(text) || p.Message == "" || p.Remedy == "" {
			t.Fatalf("%q: %+v", text, p)
		}
	}
	if len(problems) > 0 {
		return
	}
	e, err := LoadExpr(c, s, want)
	if err != nil {
		t.Fatalf("%q was accepted as %s and does not load: %v", text, want, err)
	}
	v, err := e.Eval(&Spent{}, container.New(s.Members), &Values{})
	if err != nil {
		if strings.Contains(err.Error(), "no such overload") || strings.Contains(err.Error(), "expected "+want.String()) {
			t.Fatalf("%q was accepted as %s, and not typed: %v", text, want, err)
		}
		return
	}
	if _, err := container.EncodeCBOR(v); err != nil || container.CheckValue(want, v) != nil {
		t.Fatalf("%q gives %v, which is no %s: %v", text, v, want, err)
	}
}

func wanted() []*container.Type {
	all := []*container.Type{aBool, anInt, aDouble, aString, scalar(container.Bytes), aTime, aDuration, aLine}
	for _, t := range all {
		all = append(all, container.NewList(t))
	}
	return all
}

func TestCheckExprOfAnything(t *testing.T) {
	terms := []string{
		"amount", "quantity", "approved", "lines", "first", "prices", "customer", "due", "patience", "seal", "_RC", "_INSTANCE", "_ERRORS", "1", "2.5", "'a'", "[]", "[1]", "true",
		"lines[0]", "first.sku", "lines.map(l, l.sku)", "prices.filter(p, p > 1)", "[quantity]", "duration('1h')", "b'x'", "size(lines)", "string(amount)",
	}
	between := []string{" + ", " - ", " * ", " / ", " % ", " == ", " < ", " && ", " in ", " ? 1 : ", " ? lines : ", ", ", "][", ") + (", " : "}
	around := []string{"%", "(%)", "[%]", "-%", "!%", "approved ? % : %", "lines.map(x, %)", "[%].filter(x, true)", "double(%)", "string(%)", "[%, %]", "(%)[0]"}
	s := order()
	s.Words = everyWord
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom(terms).Draw(t, "term")
		for range rapid.IntRange(0, 3).Draw(t, "more") {
			text += rapid.SampledFrom(between).Draw(t, "between") + rapid.SampledFrom(terms).Draw(t, "term")
		}
		for range rapid.IntRange(0, 2).Draw(t, "around") {
			text = strings.ReplaceAll(rapid.SampledFrom(around).Draw(t, "form"), "%", text)
		}
		for _, want := range wanted() {
			checkAny(t, text, s, want)
		}
	})
}

func FuzzCheckExpr(f *testing.F) {
	for i, text := range []string{
		"approved", "quantity * 2", "1", "customer + string(quantity)", "seal", "due + patience", "duration(string(quantity) + 's')", "lines[0]", "[]",
		"[1, 2]", "[[]][0]", "lines.map(l, l.sku)", "amount * 1e308", "lines.filter(l, l.sku == _BY) + [first]", "\x00", "approved ? 'a' : 'b'",
	} {
		f.Add(text, uint(i))
	}
	s, all := order(), wanted()
	s.Words = everyWord
	f.Fuzz(func(t *testing.T, text string, n uint) { checkAny(t, text, s, all[n%uint(len(all))]) })
}

func BenchmarkExpr(b *testing.B) {
	s := order()
	in := container.New(s.Members)
	for text, want := range map[string]*container.Type{"quantity * 2": anInt, `customer + "-" + string(quantity)`: aString, "lines": container.NewList(aLine)} {
		c, problems := CheckExpr(text, s, want)
		if len(problems) > 0 {
			b.Fatal(problems)
		}
		e, err := LoadExpr(c, s, want)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := e.Eval(&Spent{}, in, &Values{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
