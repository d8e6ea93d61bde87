package crash

import "context"

// origins may be started at both sites, and is at A: what it has at the origin is there, with a block and what it is told.
var origins = &scenario{
	process: `
process: origins
version: 1
structures:
  Order: {n: int}
input: Order
output: Order
starts: [A, B]
events: {seen: {}}
activities:
  note:  {node: _ORIGIN, program: pass, input: Order, output: Order}
  far:   {node: B, program: pass, input: Order, output: Order}
  round:
    node: _ORIGIN
    input: Order
    output: Order
    exit: n > 1
    activities:
      there: {node: B, program: pass, input: Order, output: Order}
      here:  {node: _ORIGIN, program: pass, input: Order, output: Order}
    control: [there -> here]
    data:
      - source -> there
      - there -> here: {n: (n + 1)}
      - here -> sink
  tell:  {node: B, send: {event: seen, key: _INSTANCE, to: _ORIGIN}}
  hear:  {node: _ORIGIN, receive: {event: seen, key: _INSTANCE}}
control: [note -> far, far -> round, far -> tell]
data:
  - source -> note
  - note -> far
  - far -> round
  - round -> round
  - round -> sink
`,
	input: `{"n":0}`,
	want: []string{
		"source started 1", "note terminated 1", "far terminated 1", "round#1/there terminated 1", "round#2/here terminated 1", "round terminated 2",
		"tell terminated 1", "hear terminated 1", "sink ended 1",
	},
	ran: 6,
	play: func(w *world, ctx context.Context) {
		w.begin(ctx)
		w.ended(ctx)
	},
}
