package condition

import (
	"strings"
	"sync"
	"testing"
	"time"

	"fmqm/container"
)

// order is a scope with a member of every kind; each call builds it anew, as each
// node does from its own tables.
func order() Scope {
	scalar := container.Scalar
	line := container.NewStructure("Line", []container.Member{
		{Name: "sku", Type: scalar(container.String)},
		{Name: "quantity", Type: scalar(container.Int)},
	})
	return Scope{RC: true, Members: container.NewStructure("Order", []container.Member{
		{Name: "customer", Type: scalar(container.String), Default: "ann"},
		{Name: "quantity", Type: scalar(container.Int), Default: int64(3)},
		{Name: "stock", Type: scalar(container.Int)},
		{Name: "amount", Type: scalar(container.Double), Default: 2.5},
		{Name: "rate", Type: scalar(container.Double)},
		{Name: "approved", Type: scalar(container.Bool), Default: true},
		{Name: "seal", Type: scalar(container.Bytes), Default: []byte("x")},
		{Name: "due", Type: scalar(container.Timestamp), Default: time.Date(2024, 5, 1, 23, 0, 0, 0, time.UTC)},
		{Name: "patience", Type: scalar(container.Duration), Default: 90 * time.Minute},
		{Name: "first", Type: line},
		{Name: "lines", Type: container.NewList(line), Default: []container.Value{lineOf(line, "a", 1), lineOf(line, "b", 2)}},
		{Name: "prices", Type: container.NewList(scalar(container.Double)), Default: []container.Value{1.0, 2.5}},
	})}
}

func lineOf(line *container.Type, sku string, quantity int64) *container.Struct {
	return &container.Struct{Type: line, Fields: []container.Value{sku, quantity}}
}

// evaluate takes a condition the whole way: checked at one node, loaded at another.
func evaluate(t *testing.T, text string, rc int64) (bool, error) {
	t.Helper()
	c, problems := Check(text, order())
	if len(problems) > 0 {
		t.Fatalf("%s: %+v", text, problems)
	}
	there := order()
	loaded, err := Load(c, there)
	if err != nil {
		t.Fatal(err)
	}
	return loaded.Eval(container.New(there.Members), rc)
}

func TestConditions(t *testing.T) {
	for text, want := range map[string]bool{
		`true`: true, `!approved`: false, `approved && quantity == 3`: true, "quantity >\n  3 || _RC == 7 // which it is": true,
		`_RC in [0, 7]`: true, `customer == 'ann' ? quantity > 2 : approved`: true, `-quantity == -3`: true,
		`first.sku == "" && first.quantity == 0`: true, `lines[1].sku == "b"`: true, `lines[1] == lines[1] && lines[0] != lines[1]`: true,
		`size(lines) == 2 && lines.size() == 2 && size(customer) == 3 && size(seal) == 1`: true,

		// ints and doubles compare; an int literal beside a double is a double.
		`quantity > amount`: true, `amount >= 3`: false, `2 < amount`: true, `amount == 2`: false, `rate == 0 && 0 == rate`: true, `rate != -1`: true,
		`amount * 2 == 5`: true, `1 + amount - 3 == 0.5`: true, `amount / 2 == 1.25`: true, `-(5) + amount == -2.5`: true,
		`amount in [1, 2.5]`: true, `amount in [1, 2]`: false, `1 in prices`: true, `prices == [1, 2.5]`: true, `prices + [3] == [1, 2.5, 3]`: true,
		`[1, 2.5][0] == 1`: true, `(approved ? amount : 1) == 2.5`: true, `rate == (approved ? 0 : 1)`: true, `[[1], [2.5]] == [[1], [2.5]]`: true,
		`prices.exists(p, p == 1)`: true, `prices.all(p, p * 2 > 1)`: true, `double(quantity) == 3`: true, `amount < 9007199254740993`: true,
		`quantity / 2 == 1`: true, `quantity % 2 == 1`: true, // ints stay ints

		`lines.exists(l, l.quantity == 2)`: true, `lines.all(l, l.sku != "")`: true, `lines.exists_one(l, l.quantity > 0)`: false,
		`lines.filter(l, l.quantity > 1).size() == 1`: true, `lines.map(l, l.quantity) == [1, 2]`: true,
		`lines.exists(quantity, quantity.sku == "a")`:                                        true, // the macro's own name hides the member
		`customer.startsWith("a") && customer.matches("^a.*n$")`:                             true,
		`due > timestamp("2024-05-01T00:00:00Z") && due.getFullYear() == 2024`:               true,
		`due.getHours() == 23 && due.getHours("+02:00") == 1 && due.getHours("UTC") == 23`:   true,
		`patience == duration("1h30m") && patience > duration("1h") && due + patience > due`: true,
		`string(quantity) + customer == "3ann"`:                                              true, `int(amount) == 2`: true, `seal == b"x"`: true,

		// An error on one side of || and && does not matter where the other side decides.
		`approved || 1 / stock == 1`: true, `1 / stock == 1 || approved`: true, `!approved && 1 / stock == 1`: false,
		`stock != 0 && 1 / stock == 1`: false,
	} {
		got, err := evaluate(t, text, 7)
		if err != nil || got != want {
			t.Errorf("%s: got %v (%v), want %v", text, got, err, want)
		}
	}
}

func TestAnErrorIsNeverATruthValue(t *testing.T) {
	const divide = ": check first that the divisor is not 0, as in d != 0 && n / d > 2"
	for text, want := range map[string]string{
		`1 / stock > 0`: "division by zero" + divide, `amount / rate > 1`: "division by zero" + divide, `rate / rate == 1`: "division by zero" + divide,
		`approved && 1 / stock > 0`:          "division by zero" + divide,
		`1 % stock == 0`:                     "modulus by zero: check first that the divisor is not 0, as in d != 0 && n % d == 1",
		`lines[2].sku == "c"`:                `index out of bounds: 2: check the length first, as in size(lines) > 2 && lines[2] == "x"`,
		`lines[-1].sku == "c"`:               `index out of bounds: -1: check the length first, as in size(lines) > 2 && lines[2] == "x"`,
		`prices[quantity] == 1`:              `index out of bounds: 3: check the length first, as in size(lines) > 2 && lines[2] == "x"`,
		`quantity + 9223372036854775807 > 0`: "integer overflow",
		`int(customer) == 1`:                 "type conversion error from 'string' to 'int'",
	} {
		got, err := evaluate(t, text, 0)
		if want := "evaluate condition " + quote(text) + ": " + want; got || err == nil || err.Error() != want {
			t.Errorf("\ngot  %v, %v\nwant %s", got, err, want)
		}
	}
}

func quote(s string) string { return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"` }

func TestMembersMayBeNamedLikeFunctionsAndTypes(t *testing.T) {
	names := []string{
		"type", "int", "double", "string", "bool", "bytes", "list", "map", "duration", "timestamp", "dyn", "null_type", "uint",
		"size", "has", "all", "exists", "filter", "matches", "getDate", "__result__", "google", "optional", "x", "_", "__",
	}
	var members []container.Member
	for _, name := range names {
		if !ValidName(name) || IsReserved(name) {
			t.Fatalf("%s is no name", name)
		}
		members = append(members, container.Member{Name: name, Type: container.Scalar(container.Int), Default: int64(5)})
	}
	s := Scope{Members: container.NewStructure("S", members)}
	for _, name := range names {
		c, problems := Check(name+" == 5 && [1].all(i, i < "+name+")", s)
		if len(problems) > 0 {
			t.Errorf("%s: %+v", name, problems)
			continue
		}
		loaded, err := Load(c, s)
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := loaded.Eval(container.New(s.Members), 0); !ok || err != nil {
			t.Errorf("%s: got %v (%v)", name, ok, err)
		}
	}
}

func TestWhatAConditionSaysOfItself(t *testing.T) {
	for text, want := range map[string]struct {
		reads       string
		rc, costing bool
	}{
		`true`:                                                    {},
		`_RC == 0`:                                                {rc: true},
		`amount > 1 && first.sku == ""`:                           {reads: "amount first"},
		`amount > 1 || amount < _RC`:                              {reads: "amount", rc: true},
		`lines[stock].quantity == quantity`:                       {reads: "lines stock quantity"},
		`lines.exists(l, l.quantity == 1)`:                        {reads: "lines", costing: true},
		`lines.exists(stock, stock.quantity == quantity)`:         {reads: "lines quantity", costing: true},
		`lines.exists(stock, stock.sku == "") && stock == 1`:      {reads: "lines stock", costing: true},
		`prices.map(p, prices.exists(q, p == q)).all(rate, rate)`: {reads: "prices", costing: true},
		`customer.matches("x")`:                                   {reads: "customer", costing: true},
		`customer + "x" == "y"`:                                   {reads: "customer", costing: true},
		`prices + [1] == prices`:                                  {reads: "prices", costing: true},
		`quantity + 1 == 2`:                                       {reads: "quantity"},
		`customer.contains("_RC stock")`:                          {reads: "customer"},
	} {
		c, problems := Check(text, order())
		if len(problems) > 0 {
			t.Errorf("%s: %+v", text, problems)
			continue
		}
		if c.Text != text || c.ReadsRC != want.rc || c.Macros != want.costing {
			t.Errorf("%s: got %+v, want %+v", text, c, want)
		}
		if got := strings.Join(ReadsOf(text, order()), " "); got != want.reads {
			t.Errorf("%s reads %s, want %s", text, got, want.reads)
		}
	}
	if got := ReadsOf("amount >", order()); got != nil {
		t.Errorf("what is no condition reads %v", got)
	}
}

func TestTheSameConditionGivesTheSameBytes(t *testing.T) {
	const text = `lines.exists(l, l.quantity > 1 && amount == 2) || first.sku in ["a", "b"] && _RC == 0`
	a, _ := Check(text, order())
	for range 20 {
		if b, _ := Check(text, order()); string(a.Expr) != string(b.Expr) {
			t.Fatal("other bytes")
		}
	}
	if len(a.Expr) == 0 || len(a.Expr) > 800 {
		t.Errorf("shipped are %d bytes", len(a.Expr))
	}
}

func TestACostLimitEndsWhatTakesTooLong(t *testing.T) {
	ints := make([]container.Value, 20_000)
	for i := range ints {
		ints[i] = int64(i)
	}
	text := strings.Repeat("a", 1<<19)
	s := Scope{Members: container.NewStructure("S", []container.Member{
		{Name: "l", Type: container.NewList(container.Scalar(container.Int)), Default: ints},
		{Name: "s", Type: container.Scalar(container.String), Default: text},
	})}
	for _, text := range []string{
		"l.all(a, l.all(b, l.all(c, a + b + c >= 0)))",
		`(s` + strings.Repeat(" + s", 60) + `) == ""`,
		`s.matches("` + strings.Repeat("(a|b)*c?", 25) + `d")`,
	} {
		c, problems := Check(text, s)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		loaded, err := Load(c, s)
		if err != nil {
			t.Fatal(err)
		}
		_, err = loaded.Eval(container.New(s.Members), 0)
		if err == nil || !strings.Contains(err.Error(), "it took more than 2000000 steps: make the texts and lists in its output shorter") {
			t.Errorf("%s: got %v", text, err)
		}
	}
	c, _ := Check("l.exists(a, a == 19999)", s)
	loaded, err := Load(c, s)
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := loaded.Eval(container.New(s.Members), 0); !ok || err != nil {
		t.Errorf("a search through a long list: %v, %v", ok, err)
	}
}

func TestLoadRefusesWhatWasNotCheckedHere(t *testing.T) {
	c, _ := Check("amount > 1 && _RC == 0", order())
	rc := order()
	rc.RC = false
	notBool, _ := Check("amount > 1", order())
	notBool.Expr = notBool.Expr[:len(notBool.Expr)-4]
	quiet := c
	quiet.ReadsRC = false
	macro, _ := Check("lines.exists(l, l.quantity == 1)", order())
	macro.Macros = false
	const again = ": compile and upload the process again"
	for name, x := range map[string]struct {
		c    Checked
		s    Scope
		want string
	}{
		"another container": {c, Scope{Members: container.Empty, RC: true}, `it reads amount, which {} does not have`},
		"no return code":    {c, rc, `it reads _RC, which Order does not have`},
		"no bytes":          {Checked{}, order(), `it does not give TRUE or FALSE`},
		"flag of _RC":       {quiet, order(), `its note of whether it reads _RC is wrong`},
		"flag of macros":    {macro, order(), `it has macros, but its note of them is missing`},
		"cut off":           {notBool, order(), ""},
	} {
		_, err := Load(x.c, x.s)
		if err == nil || !strings.HasPrefix(err.Error(), "load condition ") || !strings.HasSuffix(err.Error(), x.want+again) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestManyMayEvaluateAtOnce(t *testing.T) {
	c, _ := Check("lines.exists(l, l.quantity == stock) && amount > 2", order())
	s := order()
	loaded, err := Load(c, s)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			out := container.New(s.Members)
			out.Fields[2] = int64(i)
			for range 100 {
				if got, err := loaded.Eval(out, 0); err != nil || got != (i == 1 || i == 2) {
					t.Errorf("%d: got %v (%v)", i, got, err)
					return
				}
				if _, problems := Check("stock == 1", s); len(problems) > 0 {
					t.Error(problems)
				}
			}
		})
	}
	group.Wait()
}

func TestNames(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "_": true, "_RC": true, "Order_2": true, strings.Repeat("a", 64): true, "for": true,
		"": false, "2a": false, "a-b": false, "a.b": false, "ä": false, " a": false, strings.Repeat("a", 65): false,
	} {
		if ValidName(name) != want {
			t.Errorf("ValidName(%q) = %v", name, !want)
		}
	}
	words := "_RC as break const continue else false for function if import in let loop namespace null package return true var void while"
	for _, word := range strings.Fields(words) {
		if !IsReserved(word) {
			t.Errorf("%s is not reserved", word)
		}
	}
	for _, word := range []string{"all", "source", "RC", "For", ""} {
		if IsReserved(word) {
			t.Errorf("%s is reserved", word)
		}
	}
}

func BenchmarkEval(b *testing.B) {
	s := order()
	out := container.New(s.Members)
	for _, text := range []string{"approved", "amount > 1000", `amount > 1000 && quantity > 5 || _RC == 0`, `first.sku == "a"`, "lines.exists(l, l.quantity == 2)"} {
		c, problems := Check(text, s)
		if len(problems) > 0 {
			b.Fatal(problems)
		}
		loaded, err := Load(c, s)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, err = loaded.Eval(out, 0)
			}
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheckAndLoad(b *testing.B) {
	s := order()
	const text = `amount > 1000 && first.sku == "a"`
	c, _ := Check(text, s)
	b.Run("check", func(b *testing.B) {
		for b.Loop() {
			Check(text, s)
		}
	})
	b.Run("load", func(b *testing.B) {
		for b.Loop() {
			if _, err := Load(c, s); err != nil {
				b.Fatal(err)
			}
		}
	})
}
