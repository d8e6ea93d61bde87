package crash

import (
	"context"

	"github.com/google/uuid"

	"fmqm/api"
)

// A's operator asks something of B, which was never heard: A takes it to be of the version
// before, which reads no operators' words. So the word waits apart until B is heard (N17).
var newcomer = &scenario{
	process: `
process: newcomer
version: 1
structures:
  Order: {n: int, text: string}
input: Order
output: Order
starts: [A]
activities:
  check: {node: A, program: broken, input: Order, output: Order}
  two: {node: B, program: pass, input: Order, output: Order}
control:
  - check -> two
data:
  - source -> check
  - check -> two
  - two -> sink
`,
	input: order,
	want:  []string{"source started 1", "check in-error 1", "check retried 1", "check terminated 1", "two asked 0", "two answered 0", "two terminated 1", "sink ended 1"},
	play: func(w *world, ctx context.Context) {
		// B lets nobody elsewhere command it: what it answers does not depend on what has come before.
		w.alone = "B"
		w.b.Configure()
		w.b.Start()
		w.uploadTo(ctx, w.b, tablesFor(w.tables, "B"))
		w.b.Stop()
		w.a.Start()
		w.uploadTo(ctx, w.a, tablesFor(w.tables, "A"))
		w.startAll(ctx)
		w.inError(ctx)
		w.asks(ctx)
		w.operate(ctx)
		w.apart(ctx, 1)
		w.b.Start()
	},
}

// asks has the operator ask B to retry two, and waits until that is queued.
func (w *world) asks(ctx context.Context) {
	w.Helper()
	for _, id := range w.ids {
		word := uuid.Must(uuid.NewV7()) // a repeat is the same word
		until(ctx, w.T, "ask", func() error {
			answer, err := w.a.Client.Retry(ctx, id, api.RetryRequest{Activity: "two", Word: word})
			if err == nil && answer.Result != api.WordQueued {
				err = notYet("%+v", answer)
			}
			return err
		}, api.CodeFailed, api.CodeNotFound)
	}
}

// apart waits until so many items wait apart at A.
func (w *world) apart(ctx context.Context, items uint64) {
	w.Helper()
	until(ctx, w.T, "messages wait apart", func() error {
		links, err := w.a.Client.Links(ctx)
		if err == nil && (links.Links[0].Apart != items || links.Links[0].Lacks == "") {
			err = notYet("%+v", links.Links)
		}
		return err
	}, api.CodeFailed)
}
