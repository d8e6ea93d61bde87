package crash

import "context"

// contest has an activity that begins with the first of two, and goes on while the other one waits; and one of which
// somebody is told, until its deadline ends it.
var contest = &scenario{
	process: `
process: contest
version: 1
structures:
  Order: {n: int, text: string}
input: Order
output: Order
starts: [A]
activities:
  quick: {node: A, program: pass, input: Order, output: Order}
  late:  {node: A, wait: {for: 500ms}}
  pick:  {node: B, program: pass, input: Order, output: Order, start: first}
  work:  {node: B, program: sleep, deadline: {after: 4s}, notify: [{after: 100ms, program: pass}]}
  done:  {node: A, program: pass}
control:
  - work -> done: _TIMEOUT
  - quick -> pick
  - late -> pick
data:
  - source -> quick
  - quick -> pick
  - pick -> sink
`,
	input:   order,
	results: `{pick: [{first: [quick]}], work: [{timeout: true}]}`,
	want: []string{
		"source started 1", "quick terminated 1", "late terminated 1", "pick decided 0", "pick terminated 1", "pick raced 0",
		"work notified 1", "work terminated 1", "done terminated 1", "sink ended 1",
	},
	play: func(w *world, ctx context.Context) {
		w.begin(ctx)
		w.ended(ctx)
	},
}
