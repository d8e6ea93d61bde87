package node_test

import (
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
