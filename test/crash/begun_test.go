package crash

import (
	"context"
	"fmt"
	"strings"
)

// elements are more than those that are put together, 128, and those under way, 100, are: so there is always some of them to
// begin when outcomes are put together.
const elements = 240

// bundled has an element for each line of a list, at the other site, and takes the results in the list's order.
var bundled = &scenario{
	process: `
process: bundled
version: 1
structures:
  Line: {n: int}
  Lines: {lines: [Line]}
  Report: {lines: [Line], errors: [string], count: int, done: int, failed: int}
input: Lines
output: Report
starts: [A]
activities:
  take: {node: A, program: pass, input: Lines, output: Lines}
  pack: {node: B, for_each: _STRUCT, program: pass, input: Line, output: Line, parallel: 100}
control:
  - take -> pack
data:
  - source -> take
  - take -> pack: {_STRUCT: lines}
  - pack -> sink: {lines: _RESULTS, errors: _ERRORS, count: _COUNT, done: _DONE, failed: _FAILED}
`,
	input: linesOf(elements),
	want: []string{
		"source started 1", "take terminated 1", "pack[0]/pack terminated 1", fmt.Sprintf("pack[%d]/pack terminated 1", elements-1), "pack terminated 1", "sink ended 1",
	},
	ran: elements + 1,
	play: func(w *world, ctx context.Context) {
		w.begin(ctx)
		w.ended(ctx)
	},
}

// linesOf is a list whose elements all differ.
func linesOf(n int) string {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = fmt.Sprintf(`{"n":%d}`, 7*i+1)
	}
	return `{"lines":[` + strings.Join(lines, ",") + `]}`
}

// calls has work that is done at the other site: of one activity, of elements of a bundle, and of one that its
// deadline ends.
var calls = &scenario{
	process: `
process: calls
version: 1
structures:
  Visits: {site: string, sites: [string]}
  Visit: {site: string, n: int}
  Report: {first: string, all: [Visit], late: bool}
input: Visits
output: Report
starts: [A]
activities:
  one:   {node: A, at: {node: site, of: [A, B]}, program: pass, input: Visit, output: Visit}
  each:  {node: A, for_each: site, at: {node: site, of: [A, B]}, program: pass, input: Visit, output: Visit}
  late:  {node: A, at: {node: site, of: [B]}, program: sleep, input: Visit, deadline: {after: 8s}}
control:
  - one -> each
data:
  - source -> one: {site: site}
  - source -> each: {site: sites}
  - source -> late: {site: site}
  - one -> sink: {first: site}
  - each -> sink: {all: _RESULTS}
  - late -> sink: {late: _TIMEOUT}
`,
	input:   `{"site":"B","sites":["B","A","B"]}`,
	results: `{late: [{timeout: true}]}`,
	want:    []string{"source started 1", "one begun 1", "one terminated 1", "each terminated 1", "late begun 1", "late terminated 1", "sink ended 1"},
	events: map[string]int{ // its work tells so where it is done, and the call where it is at home
		"one terminated 1": 2, "each[0]/each terminated 1": 2, "each[1]/each terminated 1": 2, "each[2]/each terminated 1": 2,
	},
	play: func(w *world, ctx context.Context) {
		w.begin(ctx)
		w.ended(ctx)
	},
}

// What the process of rounds keeps, of how many iterations; and up to which all are gone in the end.
const (
	turns    = 36
	keeps    = 3
	lastGone = 32 - keeps // it is looked after each 16
)

// rounds has a loop over both sites, of which only the last iterations are kept.
var rounds = &scenario{
	process: fmt.Sprintf(`
process: rounds
version: 1
structures:
  Turn: {n: int}
output: Turn
starts: [A]
history: {iterations: %d}
activities:
  round:
    node: A
    input: Turn
    output: Turn
    exit: n >= %d
    activities:
      near: {node: A, program: pass, input: Turn, output: Turn}
      far:  {node: B, program: pass, input: Turn, output: Turn}
    control:
      - near -> far
    data:
      - source -> near: {n: (n + 1)}
      - near -> far
      - far -> sink
data:
  - round -> round
  - round -> sink
`, keeps, turns),
	input: `{}`,
	want: []string{
		"source started 1", fmt.Sprintf("round#%d/near terminated 1", turns), fmt.Sprintf("round#%d/far terminated 1", turns),
		fmt.Sprintf("round terminated %d", turns), "sink ended 1",
	},
	ran:  2 * turns,
	gone: func(scope string) bool { return turnOf(scope) > 0 && turnOf(scope) <= turns-keeps },
	play: func(w *world, ctx context.Context) {
		w.begin(ctx)
		w.ended(ctx)
		until(ctx, w.T, "iterations go", func() error {
			for _, a := range w.whole(ctx, w.ids[0]).Activities {
				if n := turnOf(a.Scope); a.Node == "A" && n > 0 && n <= lastGone {
					return notYet("%s of iteration %d is still there", a.Activity, n)
				}
			}
			return nil
		})
	},
}

// turnOf is the iteration of round that a scope is in; 0: it is in none.
func turnOf(scope string) (n int) {
	if _, err := fmt.Sscanf(scope, "round#%d", &n); err != nil {
		return 0
	}
	return n
}
