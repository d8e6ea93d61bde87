package condition

import (
	"fmt"
	"strings"
	"testing"

	"fmqm/container"
)

const hasOrder = "it has customer, quantity, stock, amount, rate, approved, seal, due, patience, first, lines, prices and 1 more"

// Each problem is written "offset message: remedy".
func TestProblems(t *testing.T) {
	const (
		compare  = "compare it with something, as in "
		function = "functions are size, contains, startsWith, endsWith, matches, int, double, string, duration, timestamp, all, exists, filter, map"
	)
	for text, want := range map[string]string{
		"":       "0 the condition is empty: write one, or leave it out if it always holds",
		" \n":    "0 the condition is empty: write one, or leave it out if it always holds",
		"a\xff":  "0 the condition is not valid UTF-8: save the file as UTF-8",
		"a == '": "5 a string does not end: close it with the quote that it begins with",

		// Operators of other languages.
		"amount = 1":                       "7 = does not compare: write ==",
		"amount === 1":                     "9 = does not compare: write ==",
		"approved & approved":              "9 a single & is not an operator: write &&",
		"approved | approved":              "9 a single | is not an operator: write ||",
		"amount <> 1":                      "7 <> is not an operator: write !=",
		"amount => 1":                      "7 => is not an operator: write >=",
		"amount =< 1":                      "7 =< is not an operator: write <=",
		"approved and approved":            "9 not understood: the condition is already complete before this: write && for and",
		"NOT approved":                     "4 not understood: the condition is already complete before this: write ! for not",
		"approved = true | amount = 'a=b'": "9 = does not compare: write ==; 16 a single | is not an operator: write ||; 25 = does not compare: write ==",

		// Syntax.
		"approved &&":                         "11 the condition ends too soon: write what follows the last operator",
		"(approved":                           "9 not understood: expected ')': close what is open: ( [ {",
		"approved)":                           "8 not understood: the condition is already complete before this: open what is closed: ) ] }",
		"deadline > now + 2h":                 "18 2h is no duration in a condition: write duration(\"2h\")",
		"deadline > 14d":                      "13 14d is no duration in a condition: write duration(\"336h\")",
		"approved approved":                   "9 not understood: the condition is already complete before this: join the two with && or ||",
		"for == 1":                            "0 for is a word of the language and cannot be a name: use the name of a member",
		"in == 1":                             "0 in is a word of the language and cannot be a name: use the name of a member",
		"99999999999999999999 == quantity":    "0 99999999999999999999 does not fit into an int of 64 bits: use a smaller number",
		"amount # 1":                          "7 not understood: unexpected character: correct the condition here",
		".amount == 1":                        "0 a name cannot begin with a dot: remove the dot",
		strings.Repeat("(", 300) + "approved": "0 the condition is nested too deep: make it shorter, or let the program compute a member",
		"quantity" + strings.Repeat("+1", 280) + " > 1": "0 the condition is nested too deep: make it shorter, or let the program compute a member",
		strings.Repeat("approved||", 410) + "approved":  "0 the condition has 4108 bytes; the limit is 4096: let the program compute a member of type bool, and test that member",

		// Names.
		"amont > 1":                       "0 Order has no member amont; " + hasOrder + ": did you mean amount",
		"weight > 1":                      "0 Order has no member weight; " + hasOrder + ": use one of them",
		"True":                            "0 Order has no member True; " + hasOrder + ": write true",
		"first.qty > 1":                   "5 Line has no member qty; it has sku, quantity: use one of them",
		"first.quantty > 1":               "5 Line has no member quantty; it has sku, quantity: did you mean quantity",
		"lines.exists(l, l.skuu == '')":   "17 Line has no member skuu; it has sku, quantity: did you mean sku",
		"quantity.sku == ''":              "8 quantity (int) has no members: remove .sku",
		"lines.sku == 'a'":                "5 lines ([Line]) has no members: take an element, as in lines[0].sku, or ask all, as in lines.exists(x, x.sku == ...)",
		"\"ä\" == customr &&\n amont > 1": "8 Order has no member customr; " + hasOrder + ": did you mean customer; 20 Order has no member amont; " + hasOrder + ": did you mean amount",

		// Types.
		"amount":                               "0 the condition must be TRUE or FALSE, not double: " + compare + "amount > 0",
		"customer":                             "0 the condition must be TRUE or FALSE, not string: " + compare + `customer == "x"`,
		"lines":                                "0 the condition must be TRUE or FALSE, not [Line]: " + compare + "size(lines) > 0",
		"quantity + 1":                         "9 the condition must be TRUE or FALSE, not int: " + compare + "n > 0",
		"first":                                "0 the condition must be TRUE or FALSE, not Line: compare it with something",
		"approved && quantity":                 "12 this must be TRUE or FALSE, not int: " + compare + "quantity > 0",
		"!amount":                              "1 this must be TRUE or FALSE, not double: " + compare + "amount > 0",
		"amount ? true : false":                "0 this must be TRUE or FALSE, not double: " + compare + "amount > 0",
		"lines.filter(l, l.quantity) == lines": "17 this must be TRUE or FALSE, not int: " + compare + "l.quantity > 0",
		"amount == quantity":                   "7 == does not take amount (double) and quantity (int): write double(quantity)",
		"quantity + amount > 1":                "9 + does not take quantity (int) and amount (double): write double(quantity)",
		"amount == quantity + 1":               "7 == does not take amount (double) and int: convert the int with double(...)",
		"quantity in [1, 2.5]":                 "9 in does not take quantity (int) and [double]: convert the ints with double(...)",
		"[amount, quantity] == [1, 2]":         "0 a list does not take amount (double) and quantity (int): write double(quantity)",
		"amount == 9007199254740993":           "7 == does not take amount (double) and 9007199254740993 (int): the number is too large for a double to hold exactly: use a smaller one",
		"['a', 1] == []":                       `0 a list does not take "a" (string) and 1 (int): use values of one type`,
		"amount in 5":                          "7 in does not take amount (double) and 5 (int): name a list on the right, as in n in [1, 2]",
		"amount % 2 == 1":                      "7 % takes ints, not amount (double) and 2 (int): convert with int(...)",
		"customer > 1":                         "9 > does not take customer (string) and 1 (int): use values of one type",
		"customer + 1 == ''":                   "9 + does not take customer (string) and 1 (int): convert with string(...)",
		"1 < amount < 5":                       "11 < does not take bool and 5 (int): join two comparisons with &&, as in 1 < n && n < 5",
		"approved == 1":                        "9 == does not take approved (bool) and 1 (int): write the bool alone, or with ! before it",
		"due > '2024-01-01'":                   `4 > does not take due (timestamp) and "2024-01-01" (string): write timestamp("2024-05-01T12:00:00Z")`,
		"patience > 60":                        `9 > does not take patience (duration) and 60 (int): write duration("1h30m")`,
		"patience / 2 > patience":              "9 / does not take patience (duration) and 2 (int): use + and - with durations, or map one that is as long as is wanted",
		"-customer == ''":                      "0 customer (string) cannot be negated: use - before numbers and durations only",
		"lines[approved] == first":             "5 lines ([Line]) cannot be indexed by approved (bool): index a list by an int",
		"amount.exists(x, x > 1)":              "0 all, exists, map and filter go over a list, not over amount (double): name a list",
		"(approved ? 1 : 'a') == 1":            `10 : does not take 1 (int) and "a" (string): use values of one type`,

		// What conditions have not.
		"has(first.sku)":           `3 has() is not needed: every member has a value, its default if nothing was assigned: compare with the default, as in name != ""`,
		"null == customer":         `0 there is no null: every member has a value, its default if nothing was assigned: compare with the default, as in name == ""`,
		"1u == quantity":           "0 there are no unsigned numbers: write the number without u",
		"{'a': 1}.a == 1":          "0 there are no maps { }: use a list [ ], or compare one by one with ||",
		"Line{sku: ''} == first":   "4 a condition cannot build a structure: compare the members one by one",
		"dyn(amount) == 1":         "3 dyn() is not in this language: every member has one type: remove it",
		"uint(1) == 1":             "4 uint() is not in this language: use int()",
		"now() > due":              "3 now() does not exist: a condition must give the same result whenever it is evaluated: let the program put the time into a member",
		"len(lines) > 1":           "3 len() does not exist: write size(...)",
		"foo(amount)":              "3 there is no function foo: " + function,
		"customer.startswith('a')": "19 there is no function startswith: did you mean startsWith",
		"lines.all(x)":             `9 all is not written like this: write it as in lines.all(x, x != "")`,
		"lines.exists(1, true)":    "13 not understood: argument must be a simple name: correct the condition here",
		"size(amount) == 1":        "4 size(double) does not exist: use it as in size(list) or size(string)",
		`lines.contains(first)`:    "14 [Line].contains(Line) does not exist: write first in lines",
		"if amount > 1":            "0 if is not part of a condition: leave it out, and write only what must be TRUE",
		"amount > 1 then":          "11 then is not part of a condition: leave it out, and write only what must be TRUE",
		"${amount} > 1":            "0 $ is not part of a condition: write a member by its name alone, without $ and braces",
		"quantity > '5'":           "9 > does not take quantity (int) and \"5\" (string): write 5 without quotes",
		"ran(approved)":            "3 ran asks how an activity has ended, and that only a start condition can: write `start: ran(ACTIVITY)` at the activity that the connector leads to",
		"not(true)":                "3 there is no function not: write !(...)",
		"customer.size(1) == 1":    "13 string.size(int) does not exist: use it as in size(list) or size(string)",
		"size() == 1":              "4 size takes an argument: use it as in size(list) or size(string)",

		// Literals that would fail whenever they are evaluated, or differ from site to site.
		"due > timestamp('today')":          `16 "today" is not a valid timestamp: write timestamp("2024-05-01T12:00:00Z")`,
		"patience > duration('1 day')":      `20 "1 day" is not a valid duration: write duration("1h30m")`,
		"customer.matches('(')":             "17 error parsing regexp: missing closing ): `(`: correct the regular expression (RE2)",
		"customer.matches('(a{100}){10}')":  "0 regex program size 1022 exceeds limit of 1000: make the condition simpler",
		"due.getHours('Europe/Vienna') > 1": `13 a time zone must be a fixed offset: the sites' time zone data may differ: write it as in getHours("+02:00")`,
		"due.getHours(customer) > 1":        `13 a time zone must be a fixed offset: the sites' time zone data may differ: write it as in getHours("+02:00")`,
	} {
		c, problems := Check(text, order())
		if got := written(problems); got != want {
			t.Errorf("%.60s\ngot  %s\nwant %s", text, got, want)
		}
		if c.Expr != nil || c.Text != "" {
			t.Errorf("%s: a condition with problems is given out", text)
		}
	}
}

func written(problems []Problem) string {
	var lines []string
	for _, p := range problems {
		lines = append(lines, fmt.Sprintf("%d %s: %s", p.Offset, p.Message, p.Remedy))
	}
	return strings.Join(lines, "; ")
}

func TestTheReturnCodeIsKnownOnlyWhereAProgramHasEnded(t *testing.T) {
	_, problems := Check("_RC == 0", Scope{Members: order().Members})
	want := "0 _RC is not known here: use it in an exit or transition condition, where a program has ended"
	if got := written(problems); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	_, problems = Check("amount > 1", Scope{Members: container.Empty})
	if got, want := written(problems), "0 there is no member amount, because there is no output: write `output: STRUCTURE` at the activity, with a structure that has this member"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	_, problems = Check("rc == 0", Scope{Members: container.Empty, RC: true})
	if got, want := written(problems), "0 there is no member rc; the container has _RC: did you mean _RC"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestTwoStructuresWithOneNameAreRefused(t *testing.T) {
	named := func(member string) *container.Type {
		return container.NewStructure("Line", []container.Member{{Name: member, Type: container.Scalar(container.Int)}})
	}
	s := Scope{Members: container.NewStructure("S", []container.Member{{Name: "a", Type: named("x")}, {Name: "b", Type: named("y")}})}
	_, problems := Check("a.x == b.y", s)
	if got, want := written(problems), `0 two structures are called "Line": rename one of them: correct the structures`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
