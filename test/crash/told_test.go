package crash

import (
	"context"
	"maps"
	"slices"

	"fmqm/api"
)

// tells has a deadline that ends something where the instance was started, an error elsewhere, and an end, of all of which people are
// told; of the end a program is as well.
var tells = &scenario{
	process: `
process: tells
version: 1
structures:
  Order: {n: int, text: string}
input: Order
output: Order
starts: [A]
notify:
  - {on: [end, error, deadline], staff: role("clerk")}
  - {on: end, program: pass}
activities:
  look:  {node: A, staff: role("clerk"), input: Order, deadline: {after: 100ms}}
  check: {node: B, program: broken, input: Order, output: Order}
control:
  - look -> check: _TIMEOUT
data:
  - source -> look
  - source -> check
  - check -> sink
`,
	staff:   map[string]string{"A": "roles: [clerk]\npeople: {ann: {roles: [clerk]}}\n"},
	input:   order,
	results: `{look: [{timeout: true}]}`,
	want: []string{
		"source started 1", "look offered 1", "look withdrawn 1", "look terminated 1", "check in-error 1", "check retried 1", "check terminated 1", "sink ended 1",
		"sink escalated 0", "sink notified 0",
	},
	events: map[string]int{"sink escalated 0": 6},
	ran:    2,
	play: func(w *world, ctx context.Context) {
		w.begin(ctx)
		w.sees(ctx, "tells: the deadline of look has come", "tells: check is in error") // before that is put right
		w.operate(ctx)
		w.ended(ctx)
		w.sees(ctx, "tells has finished", "tells: the deadline of look has come", "tells: check is in error")
		w.takesOff(ctx)
		w.toldOnce(ctx)
	},
}

// notices are those that somebody is shown at A.
func (w *world) notices(ctx context.Context) (all []api.WorkItem, err error) {
	answer, err := w.a.Client.Work(ctx, api.WorkRequest{All: true, Limit: 10})
	for _, i := range answer.Items {
		if i.Kind == api.ItemNotice {
			all = append(all, i)
		}
	}
	return all, err
}

// sees waits until notices with just these titles are shown.
func (w *world) sees(ctx context.Context, titles ...string) {
	w.Helper()
	until(ctx, w.T, "notices", func() error {
		all, err := w.notices(ctx)
		got := map[string]bool{}
		for _, i := range all {
			got[i.Title] = true
		}
		if want := slices.Sorted(slices.Values(titles)); err == nil && !slices.Equal(slices.Sorted(maps.Keys(got)), want) {
			err = notYet("%q are shown, not %q", slices.Sorted(maps.Keys(got)), want)
		}
		return err
	}, api.CodeFailed)
}

// takesOff has somebody take all notices off.
func (w *world) takesOff(ctx context.Context) {
	w.Helper()
	until(ctx, w.T, "notices are taken off", func() error {
		all, err := w.notices(ctx)
		for _, i := range all {
			if _, err := w.a.Client.SayWork(ctx, i.Item, api.WorkComplete, api.WorkWord{As: "ann"}); err != nil {
				return err
			}
		}
		if err == nil && len(all) > 0 {
			err = notYet("%d are shown", len(all))
		}
		return err
	}, api.CodeFailed, api.CodeNotFound)
}

// toldOnce: each thing that has happened has come to people once, and was taken off once; the program was told of the end once.
func (w *world) toldOnce(ctx context.Context) {
	w.Helper()
	var got []string
	until(ctx, w.T, "history", func() error {
		got = nil
		history, err := w.a.Client.History(ctx, w.ids[0])
		for _, e := range history.Events {
			if e.Event == api.EventEscalated || e.Event == api.EventNotified {
				got = append(got, string(e.Event)+" "+e.By+": "+e.Reason)
			}
		}
		if len(got) < 7 && err == nil {
			err = notYet("%q", got)
		}
		return err
	}, api.CodeFailed)
	slices.Sort(got)
	want := []string{
		"escalated : deadline of look", "escalated : end", "escalated : error of check",
		"escalated ann@A: deadline of look", "escalated ann@A: end", "escalated ann@A: error of check", "notified : pass, end",
	}
	if !slices.Equal(got, want) {
		w.Errorf("history tells %q, not %q", got, want)
	}
}
