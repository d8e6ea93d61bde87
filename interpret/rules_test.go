package interpret

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"fmqm/definition"
)

// The purchase order's three conditions, amount > 1000, approved and quantity > 0, give
// eight outcomes.
func TestPurchaseOrder(t *testing.T) {
	text, err := os.ReadFile("../definition/testdata/purchase-order.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p := load(t, string(text))
	const shipped = ` {"tracking":"T1","order":{"customer":"","item":"","quantity":0,"amount":0},"lines":[]}`
	const nothing = ` {"tracking":"","order":{"customer":"","item":"","quantity":0,"amount":0},"lines":[]}`
	for _, tc := range []struct {
		large, approved, inStock bool
		want                     string
	}{
		{false, false, true, "finished" + shipped + " credit:skipped reject:skipped"},
		{false, true, true, "finished" + shipped + " credit:skipped reject:skipped"},
		{false, false, false, "finished" + nothing + " credit:skipped ship:skipped"},
		{false, true, false, "finished" + nothing + " credit:skipped ship:skipped"},
		{true, true, true, "finished" + shipped + " reject:skipped"},
		{true, true, false, "finished" + nothing + " ship:skipped"},
		{true, false, true, "finished" + nothing + " ship:skipped"},
		{true, false, false, "finished" + nothing + " ship:skipped"},
	} {
		name := fmt.Sprintf("large=%v approved=%v inStock=%v", tc.large, tc.approved, tc.inStock)
		t.Run(name, func(t *testing.T) {
			amount, quantity := 10, 0
			if tc.large {
				amount = 5000
			}
			if tc.inStock {
				quantity = 3
			}
			r := run(t, p, fmt.Sprintf(`{"item":"pump","amount":%d}`, amount), fmt.Sprintf(
				`{credit: [{output: {approved: %v}}], stock: [{output: {quantity: %d}}], ship: [{output: {tracking: T1}}]}`,
				tc.approved, quantity))
			if got := summary(t, r); got != tc.want {
				t.Errorf("%s\nwant %s", got, tc.want)
			}
			if a := activity(t, r, "reject"); a.State == Terminated {
				want := fmt.Sprintf(`{"customer":"","item":"pump","quantity":0,"amount":%d}`, amount)
				if got := jsonOf(t, a.Input); got != want {
					t.Errorf("reject was given %s, want %s", got, want)
				}
			}
		})
	}
}

// Activities of these processes are named for what the test says of them; all are at
// node A and, unless said otherwise, run a program.
const head = `
process: p
version: 1
structures:
  S: {n: int, s: string, b: bool, l: [int]}
  Pair: {left: S, right: S}
  Rc: {rc: int, n: int}
input: S
output: S
`

// firstMatch are activities of which a chooses.
const firstMatch = `
activities:
  a: {node: A, program: p, output: S, choice: first_match}
  b: {node: A, program: p}
  c: {node: A, program: p}
  d: {node: A, program: p}
`

func TestRules(t *testing.T) {
	for _, tc := range []struct {
		rule    string
		process string
		input   string
		results string
		want    string
	}{
		{"a chain passes its data on", `
activities:
  a: {node: A, program: p, input: S, output: S}
  b: {node: A, program: p, input: S, output: S}
control: [a -> b]
data: [source -> a, a -> b, b -> sink]
`, `{"n":7,"s":"x","l":[1,2]}`, ``, `finished {"n":7,"s":"x","b":false,"l":[1,2]}`},

		{"a dead path kills what only it leads to", `
activities:
  a: {node: A, program: p, output: S}
  b: {node: A, program: p}
  c: {node: A, program: p}
  d: {node: A, program: p, start: any}
control: [a -> b: n > 0, b -> c, c -> d, a -> d]
`, ``, ``, `finished {"n":0,"s":"","b":false,"l":[]} b:skipped c:skipped`},

		{"a process whose every path dies has finished", `
activities:
  a: {node: A, program: p, output: S}
  b: {node: A, program: p}
control: [a -> b: n > 0]
`, ``, ``, `finished {"n":0,"s":"","b":false,"l":[]} b:skipped`},

		{"all waits for all and needs all", `
activities:
  a: {node: A, program: p, output: S}
  b: {node: A, program: p}
  z: {node: A, program: p}
control: [a -> z: n > 0, b -> z]
`, ``, ``, `finished {"n":0,"s":"","b":false,"l":[]} z:skipped`},

		{"at_least counts", `
activities:
  a: {node: A, program: p, output: S}
  b: {node: A, program: p}
  c: {node: A, program: p}
  two: {node: A, program: p, start: {at_least: 2}}
  three: {node: A, program: p, start: {at_least: 3}}
control: [a -> two: n > 0, b -> two, c -> two, a -> three: n > 0, b -> three, c -> three]
`, ``, ``, `finished {"n":0,"s":"","b":false,"l":[]} three:skipped`},

		{"a start expression is over the states of the connectors", `
activities:
  a: {node: A, program: p, output: S}
  int: {node: A, program: p}
  yes: {node: A, program: p, start: "int && !a"}
  no: {node: A, program: p, start: "!int || a"}
control: [a -> yes: n > 0, int -> yes, a -> no: n > 0, int -> no]
`, ``, ``, `finished {"n":0,"s":"","b":false,"l":[]} no:skipped`},

		{"a negated predecessor that was skipped starts", `
activities:
  a: {node: A, program: p, output: S}
  b: {node: A, program: p}
  z: {node: A, program: p, start: "!b"}
control: [a -> b: n > 0, b -> z]
`, ``, ``, `finished {"n":0,"s":"","b":false,"l":[]} b:skipped`},

		{"otherwise is TRUE when every other connector is FALSE", `
activities:
  a: {node: A, program: p, output: S}
  b: {node: A, program: p}
  c: {node: A, program: p}
  d: {node: A, program: p}
control: [a -> b: n > 0, a -> c: otherwise, a -> d: n > 1]
`, ``, ``, `finished {"n":0,"s":"","b":false,"l":[]} b:skipped d:skipped`},

		{"otherwise is FALSE when another is TRUE", `
activities:
  a: {node: A, program: p, output: S}
  b: {node: A, program: p}
  c: {node: A, program: p}
control: [a -> c: otherwise, a -> b: n > 0]
`, ``, `{a: [{output: {n: 1}}]}`, `finished {"n":0,"s":"","b":false,"l":[]} c:skipped`},

		{"otherwise is FALSE when its source was skipped", `
activities:
  z: {node: A, program: p, output: S}
  a: {node: A, program: p, output: S}
  b: {node: A, program: p}
  c: {node: A, program: p}
control: [z -> a: n > 0, a -> b: n > 0, a -> c: otherwise]
`, ``, ``, `finished {"n":0,"s":"","b":false,"l":[]} a:skipped b:skipped c:skipped`},

		{"a loop runs until its exit condition holds", `
activities:
  a: {node: A, program: p, output: S, exit: n >= 3}
`, ``, `{a: [{output: {n: 1}}, {output: {n: 2}}, {output: {n: 3}}]}`, `finished {"n":0,"s":"","b":false,"l":[]} a:3`},

		{"the last result repeats, up to max_iterations", `
activities:
  a: {node: A, program: p, output: S, exit: n >= 3, max_iterations: 5}
  b: {node: A, program: p}
control: [a -> b]
`, ``, `{a: [{output: {n: 1}}]}`, `in-error a:in-error b:inactive`},

		{"the last permitted iteration counts", `
activities:
  a: {node: A, program: p, output: S, exit: n >= 3, max_iterations: 2}
`, ``, `{a: [{output: {n: 1}}, {output: {n: 3}}]}`, `finished {"n":0,"s":"","b":false,"l":[]} a:2`},

		{"of several sources the one listed last wins", `
activities:
  a: {node: A, program: p, output: S}
  b: {node: A, program: p, output: S}
data: [a -> sink: {n: n, s: s}, b -> sink: {n: n}]
`, ``, `{a: [{output: {n: 1, s: a}}], b: [{output: {n: 2, s: b}}]}`, `finished {"n":2,"s":"a","b":false,"l":[]}`},

		{"the one listed last wins only if it ran", `
activities:
  a: {node: A, program: p, output: S}
  b: {node: A, program: p, output: S}
control: [a -> b: b]
data: [a -> sink: {n: n}, b -> sink: {n: n}]
`, ``, `{a: [{output: {n: 1}}], b: [{output: {n: 2}}]}`, `finished {"n":1,"s":"","b":false,"l":[]} b:skipped`},

		{"a structure is assigned leaf by leaf", `
activities:
  a: {node: A, program: p, output: S}
  b: {node: A, program: p, input: Pair, output: Pair}
control: [a -> b]
data:
  - source -> b: {left.n: n, right.n: n}
  - a -> b: {right.s: s, right.n: n}
  - b -> sink: {n: right.n, s: right.s}
`, `{"n":4}`, `{a: [{output: {n: 5, s: y}}]}`, `finished {"n":5,"s":"y","b":false,"l":[]}`},

		{"_RC maps as an int", `
activities:
  a: {node: A, program: p, output: S}
data: [a -> sink: {n: _RC}]
`, ``, `{a: [{rc: 42}]}`, `finished {"n":42,"s":"","b":false,"l":[]}`},

		{"an empty activity echoes, with _RC 0", `
activities:
  a: {node: A, empty: true, input: S, output: Rc}
  b: {node: A, program: p}
control: [a -> b: _RC == 0 && n == 9 && rc == 0]
data: [source -> a]
`, `{"n":9}`, ``, `finished {"n":0,"s":"","b":false,"l":[]}`},

		{"echo leaves members of another type at their defaults", `
activities:
  a: {node: A, program: p, input: S, output: Other}
data: [source -> a, a -> sink: {s: n, l: l}]
structures:
  S: {n: int, s: string, b: bool, l: [int]}
  Other: {n: {type: string, default: none}, l: [int]}
`, `{"n":9,"l":[1]}`, ``, `finished {"n":0,"s":"none","b":false,"l":[1]}`},

		{"an error stops its own path only", `
activities:
  a: {node: A, program: p}
  b: {node: A, program: p}
  c: {node: A, program: p}
  d: {node: A, program: p}
  z: {node: A, program: p, start: any}
control: [a -> c, b -> d, c -> z, d -> z]
`, ``, `{a: [{error: no paper}]}`, `in-error a:in-error c:inactive z:waiting`},

		{"data from source has arrived even where control has not", `
activities:
  a: {node: A, program: p}
  b: {node: A, program: p, input: S}
control: [a -> b]
data: [source -> b]
`, ``, `{a: [{error: no paper}]}`, `in-error a:in-error b:waiting`},

		{"an activity waits for data as for control", `
activities:
  a: {node: A, program: p, output: S}
  b: {node: A, program: p, output: S}
  c: {node: A, program: p, input: S, start: any}
control: [a -> b, a -> c, b -> c]
data: [b -> c]
`, ``, `{b: [{error: no paper}]}`, `in-error b:in-error c:waiting`},

		{"a transition condition that fails sends nothing at all", `
activities:
  a: {node: A, program: p, output: S}
  b: {node: A, program: p}
  c: {node: A, program: p}
control: [a -> b, a -> c: 10 / n > 1]
`, ``, ``, `in-error a:in-error b:inactive c:inactive`},

		{"source chooses by the input; what it begins in any case is not beside its otherwise", `
activities:
  a: {node: A, program: p}
  b: {node: A, program: p}
  c: {node: A, program: p}
  d: {node: A, program: p}
control: [source -> a: n > 1, source -> b: otherwise, source -> c, c -> d, source -> d: b]
`, `{"n":1}`, ``, `finished {"n":0,"s":"","b":false,"l":[]} a:skipped d:skipped`},

		{"its otherwise is FALSE when a condition is TRUE; a start condition may name it", `
activities:
  a: {node: A, program: p}
  b: {node: A, program: p}
  c: {node: A, program: p}
  d: {node: A, program: p, start: source && !b}
control: [source -> a: n > 1, source -> b: otherwise, b -> d, c -> d, source -> d: b]
`, `{"n":2,"b":true}`, ``, `finished {"n":0,"s":"","b":false,"l":[]} b:skipped`},

		{"a process of which source begins nothing has finished", `
activities:
  a: {node: A, program: p}
  b: {node: A, program: p}
control: [source -> a: n > 1, a -> b]
`, ``, ``, `finished {"n":0,"s":"","b":false,"l":[]} a:skipped b:skipped`},

		{"of the first match only one is TRUE, and what is behind it is not asked", firstMatch + `control: [a -> d: otherwise, a -> b: n == 0, a -> c: 1 / n > 0]
`, ``, ``, `finished {"n":0,"s":"","b":false,"l":[]} c:skipped d:skipped`},

		{"one that is asked and fails puts in error", `
activities:
  a: {node: A, program: p, output: S, choice: first_match}
  b: {node: A, program: p}
  c: {node: A, program: p}
control: [a -> b: 1 / n > 0, a -> c]
`, ``, ``, `in-error a:in-error b:inactive c:inactive`},

		{"what has no condition is the first match where none before it is", firstMatch + `control: [a -> b: n > 0, a -> c, a -> d: n == 0]
`, ``, ``, `finished {"n":0,"s":"","b":false,"l":[]} b:skipped d:skipped`},

		{"otherwise is the last of them", firstMatch + `control: [a -> d: otherwise, a -> b: n > 0, a -> c: n > 1]
`, ``, ``, `finished {"n":0,"s":"","b":false,"l":[]} b:skipped c:skipped`},

		{"an exit condition that fails puts in error", `
activities:
  a: {node: A, program: p, output: S, exit: "l[0] > 1"}
`, ``, ``, `in-error a:in-error`},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			text := head + tc.process
			if strings.Contains(tc.process, "structures:") {
				text = "process: p\nversion: 1\ninput: S\noutput: S\n" + tc.process
			}
			if got := summary(t, run(t, load(t, text), tc.input, tc.results)); got != tc.want {
				t.Errorf("%s\nwant %s", got, tc.want)
			}
		})
	}
}

// A condition out of source that fails is an error of the input: nothing runs.
func TestAConditionOutOfSourceThatFails(t *testing.T) {
	p := load(t, head+`
activities:
  a: {node: A, program: p}
  b: {node: A, program: p}
control: [source -> a: 10 / n > 1, source -> b: otherwise]
`)
	_, err := Run(p, nil, ProgramFunc(func(a *definition.Activity, _ Call) Outcome {
		t.Errorf("%s runs", a.Name)
		return Outcome{}
	}), Options{})
	const want = `run p@1: it is not started: transition condition "10 / n > 1" to a: evaluate condition "10 / n > 1": division by zero`
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v\nwant %s", err, want)
	}
}

// An input container over the limit is an error before the program is run, also where
// each of its sources is within it.
func TestInputOverTheLimit(t *testing.T) {
	const half = 1 << 19
	p := load(t, head+`
activities:
  a: {node: A, program: p, output: S}
  b: {node: A, program: p, output: S}
  c: {node: A, program: p, input: Pair}
control: [a -> c, b -> c]
data:
  - a -> c: {left.s: s}
  - b -> c: {right.s: s}
`)
	for _, tc := range []struct {
		size int
		want string
	}{
		{half - 100, `finished {"n":0,"s":"","b":false,"l":[]}`},
		{half, "in-error c:in-error"},
	} {
		text := strings.Repeat("x", tc.size)
		r := run(t, p, "", fmt.Sprintf("{a: [{output: {s: %s}}], b: [{output: {s: %s}}]}", text, text))
		if got := summary(t, r); got != tc.want {
			t.Errorf("%d bytes each: %s, want %s", tc.size, got, tc.want)
		}
		c := activity(t, r, "c")
		if failed := c.State == InError; failed && (c.Attempts != 0 || !strings.HasPrefix(c.Error, "input container of c, of the data that was mapped to it: the encoded container has over 1048576 bytes")) {
			t.Errorf("after %d attempts: %s", c.Attempts, c.Error)
		}
	}
}
