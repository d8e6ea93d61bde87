package node_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"fmqm/api"
)

// stock is a process of a bundle: each line of an order is looked up.
const stock = `
process: stock
version: 1
structures:
  Line: {item: string, amount: int}
  Order: {lines: [Line], note: string}
  Look: {line: Line, note: string}
  Night: {results: [Look], errors: [string], rcs: [int], count: int, done: int, failed: int}
input: Order
output: Night
activities:
  look: {node: A, program: echo, input: Look, output: Look, for_each: line, parallel: 7}
data:
  - source -> look: {line: lines, note: note}
  - look -> sink: {results: _RESULTS, errors: _ERRORS, rcs: _RCS, count: _COUNT, done: _DONE, failed: _FAILED}
`

func linesOf(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(`{"item":"i%d","amount":%d}`, i, i)
	}
	return strings.Join(all, ",")
}

// R31: a bundle does its elements, whatever their number, and ends with their results in the list's order.
func TestABundleOfPrograms(t *testing.T) {
	n := openNode(t, "A", "")
	upload(t, n, stock)
	for _, count := range []int{0, 1, 40, 400} {
		s := run(t, n, "stock", `{"lines":[`+linesOf(count)+`],"note":"x"}`)
		if s.State != api.InstanceFinished {
			t.Fatalf("%d elements: it is %s: %+v", count, s.State, s.Activities)
		}
		if got := string(s.Output); !strings.Contains(got, fmt.Sprintf(`"count":%[1]d,"done":%[1]d,"failed":0`, count)) {
			t.Errorf("%d elements: the output is %s", count, got)
		}
		if count > 0 && !strings.HasPrefix(string(s.Output), `{"results":[{"line":{"item":"i0","amount":0},"note":"x"}`) {
			t.Errorf("%d elements: the output is %.200s", count, s.Output)
		}
	}
}

// kinds has bundles of everything that an execution can be.
const kinds = `
process: kinds
version: 1
structures:
  N: {n: int}
  Line: {amount: int, note: string}
  In: {ns: [int], lines: [Line]}
  Out: {blocks: [N], waits: [N], empties: [N], packed: [Line]}
input: In
output: Out
activities:
  block:
    input: N
    output: N
    node: A
    for_each: n
    exit: n > 12
    activities:
      inside: {node: A, program: echo, input: N, output: N}
    data:
      - source -> inside
      - inside -> sink: {n: (n + 10)}
  rest: {node: A, wait: {for: 1ms}, input: N, output: N, for_each: n}
  pass: {node: A, empty: true, input: N, output: N, for_each: n}
  pack: {node: A, process: pack-line, input: Line, output: Line, for_each: _STRUCT, parallel: 2}
data:
  - source -> block: {n: ns}
  - block -> block: {n: n}
  - source -> rest: {n: ns}
  - source -> pass: {n: ns}
  - source -> pack: {_STRUCT: lines}
  - block -> sink: {blocks: _RESULTS}
  - rest -> sink: {waits: _RESULTS}
  - pass -> sink: {empties: _RESULTS}
  - pack -> sink: {packed: _RESULTS}
`

// R31: an execution is a program, a block with its iterations, a subprocess, a wait or an empty one.
func TestKindsOfBundles(t *testing.T) {
	n := openNode(t, "A", "")
	uploadFamily(t, n, kinds, packing("echo"))
	s := run(t, n, "kinds", `{"ns":[1,2,3],"lines":[{"amount":1,"note":"a"},{"amount":2,"note":"b"},{"amount":3,"note":"c"}]}`)
	const want = `{"blocks":[{"n":21},{"n":22},{"n":13}],"waits":[{"n":1},{"n":2},{"n":3}],"empties":[{"n":1},{"n":2},{"n":3}],` +
		`"packed":[{"amount":1,"note":"a"},{"amount":2,"note":"b"},{"amount":3,"note":"c"}]}`
	if s.State != api.InstanceFinished || string(s.Output) != want {
		t.Errorf("it is %s with %s, want %s", s.State, s.Output, want)
	}
}

// ending has bundles that are ended early: by until, by the deadline of a block around, and by an error that a block
// around catches.
const ending = `
process: ending
version: 1
structures:
  N: {n: int}
  In: {ns: [int]}
  Out: {errors: [string], done: int, late: bool, why: string, failed: int}
input: In
output: Out
activities:
  some: {node: A, program: echo, input: N, output: N, for_each: n, parallel: 2, until: _DONE == 3}
  guard:
    node: A
    deadline: {after: 30ms}
    input: In
    activities:
      rest: {node: A, wait: {for: 10h}, input: N, output: N, for_each: n}
    data:
      - source -> rest: {n: ns}
  try:
    node: A
    on_error: continue
    input: In
    activities:
      err: {node: A, program: fail, input: N, output: N, for_each: n}
    data:
      - source -> err: {n: ns}
  goes: {node: A, program: fail, input: N, output: N, for_each: n, on_error: continue}
  end: {node: A, empty: true, input: Out, output: Out}
control:
  - some -> end
  - guard -> end: _TIMEOUT || !_TIMEOUT
  - try -> end: _ERROR != "" || _ERROR == ""
  - goes -> end
data:
  - source -> some: {n: ns}
  - source -> guard: {ns: ns}
  - source -> try: {ns: ns}
  - source -> goes: {n: ns}
  - some -> end: {errors: _ERRORS, done: _DONE}
  - guard -> end: {late: _TIMEOUT}
  - try -> end: {why: _ERROR}
  - goes -> end: {failed: _FAILED}
  - end -> sink
`

// R31, R21, R22, R23: until ends a bundle early; one that is inside of a block ends with that, and an error inside
// of an element is one inside of the block.
func TestBundlesThatAreEndedEarly(t *testing.T) {
	n := openNode(t, "A", "")
	upload(t, n, ending)
	s := run(t, n, "ending", `{"ns":[0,1,2,3,4,5]}`)
	var out struct {
		Errors       []string
		Done, Failed int
		Late         bool
		Why          string
	}
	if err := json.Unmarshal(s.Output, &out); err != nil || s.State != api.InstanceFinished {
		t.Fatalf("it is %s with %s: %v", s.State, s.Output, err)
	}
	if strings.Count(strings.Join(out.Errors, " "), "cancelled") != 3 || out.Done != 3 || !out.Late || !strings.Contains(out.Why, "err") || out.Failed != 6 {
		t.Errorf("the output is %s", s.Output)
	}
	tree, err := n.StatusOf(t.Context(), s.Instance, api.StatusRequest{Tree: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range tree.Activities {
		if !a.State.Ended() {
			t.Errorf("%s in %q is %s: %s", a.Activity, a.Scope, a.State, a.Reason)
		}
	}
}
