package crash

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"

	"fmqm/api"
)

// again has an activity restarted while the one after it waits for another, at the other site; and once more when that has
// ended, which is too late.
var again = &scenario{
	process: recalled, input: order,
	events: map[string]int{"assess terminated 1": 2, "assess recalled 1": 2},
	want: []string{
		"source started 1", "slow in-error 1", "assess terminated 1", "assess recalled 1", "pay recalled 1", "assess restarted 1", "slow forced 1",
		"slow terminated 1", "pay terminated 1", "assess kept 1", "late in-error 1", "late forced 1", "late terminated 1", "sink ended 1",
	},
	play: func(w *world, ctx context.Context) {
		w.begin(ctx)
		w.restart(ctx, api.ActivityInError, "slow", nil)
		w.byHand(ctx, "slow", w.a.Client.Finish, json.RawMessage(decided))
		until(ctx, w.T, "pay", func() error {
			state, _, err := w.stateOf(ctx, w.ids[0], "pay")
			if err == nil && state != api.ActivityTerminated {
				err = notYet("pay is %s", state)
			}
			return err
		}, api.CodeFailed, api.CodeNotFound)
		w.restart(ctx, api.ActivityTerminated, "pay", func(err error) bool { return api.CodeOf(err) == api.CodeRefused })
		w.byHand(ctx, "late", w.a.Client.Finish, json.RawMessage(decided))
		w.ended(ctx)
	},
}

const recalled = `
process: recalled
version: 1
structures:
  Order: {n: int, text: string}
input: Order
output: Order
starts: [A]
activities:
  assess: {node: A, empty: true, input: Order, output: Order}
  slow:   {node: B, program: broken, input: Order, output: Order}
  pay:    {node: B, program: pass, input: Order, output: Order}
  late:   {node: B, program: broken, input: Order, output: Order}
control:
  - assess -> pay
  - slow -> pay
data:
  - source -> assess
  - source -> slow
  - source -> late
  - assess -> pay
  - pay -> sink
`

// restart has assess restarted once another activity is in a state; refused says whether that is to be refused.
func (w *world) restart(ctx context.Context, state api.ActivityState, activity string, refused func(error) bool) {
	w.Helper()
	word := uuid.Must(uuid.NewV7()) // a repeat is the same word
	until(ctx, w.T, "restart", func() error {
		at, _, err := w.stateOf(ctx, w.ids[0], activity)
		if err != nil {
			return err
		}
		assess, _, err := w.stateOf(ctx, w.ids[0], "assess")
		if err == nil && (at != state || assess != api.ActivityTerminated) {
			err = notYet("%s is %s, assess is %s", activity, at, assess)
		}
		if err != nil {
			return err
		}
		said, err := w.a.Client.Restart(ctx, w.ids[0], api.RestartRequest{Activity: "assess", Reason: "wrong tariff", Word: word})
		switch {
		case refused != nil && refused(err):
			return nil
		case err == nil && (refused != nil || said.Result != api.WordDone):
			err = notYet("it is %s: %s", said.Result, said.Reason)
		}
		return err
	}, api.CodeFailed, api.CodeNotFound)
}
