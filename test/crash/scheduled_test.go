package crash

import (
	"context"

	"fmqm/api"
)

// What a schedule starts: no time has two instances, whenever the node dies.
const nightly = `
process: crash
version: 1
structures:
  Order: {n: int, text: string}
input: Order
output: Order
schedule: {node: A, every: 1s, input: {n: 5, text: as it was}}
activities:
  here:  {node: A, program: pass, input: Order, output: Order}
  there: {node: B, program: pass, input: Order, output: Order}
control:
  - here -> there
data:
  - source -> here
  - here -> there
  - there -> sink
`

// scheduled: a schedule starts instances, until an operator suspends it.
var scheduled = &scenario{
	process: nightly, input: order, want: []string{"source started 1", "here terminated 1", "there terminated 1", "sink ended 1"},
	play: func(w *world, ctx context.Context) {
		w.a.Start()
		w.b.Start()
		w.uploadTo(ctx, w.a, w.tables)
		until(ctx, w.T, "schedule", func() error {
			select {
			case <-w.died:
			default:
				return notYet("the node has not died")
			}
			a, err := w.a.Client.Schedules(ctx)
			if err == nil && a.Schedules[0].Instance == nil {
				err = notYet("%+v", a)
			}
			return err
		}, api.CodeFailed)
		until(ctx, w.T, "suspend", func() error {
			_, err := w.a.Client.SaySchedule(ctx, "crash", api.ScheduleSuspend)
			return err
		}, api.CodeFailed)
		w.ids = nil
		keys := map[string]bool{}
		until(ctx, w.T, "list", func() error {
			list, err := w.a.Client.List(ctx, api.ListRequest{All: true})
			if err != nil {
				return err
			}
			for _, i := range list.Instances {
				if keys[i.Key] {
					w.Errorf("%s has two instances", i.Key)
				}
				keys[i.Key] = true
				w.ids = append(w.ids, i.Instance)
			}
			return nil
		})
		if len(w.ids) == 0 {
			w.Error("nothing was started")
		}
	},
}
