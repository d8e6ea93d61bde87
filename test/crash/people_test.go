package crash

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/google/uuid"

	"fmqm/api"
)

// people has one manual activity that goes from hand to hand until somebody completes it, and one that nobody does:
// its deadline takes it from them.
var people = &scenario{
	process: `
process: people
version: 1
structures:
  Order: {n: int, text: string}
  End: {n: int, text: string, late: bool}
input: Order
output: End
starts: [A]
activities:
  check: {node: A, staff: role("clerk"), title: "Check {text}", input: Order, output: Order}
  late:  {node: A, staff: role("clerk"), title: "Look at {text}", input: Order, deadline: {after: 8s}, notify: [{after: 1s, staff: manages(late) || role("clerk")}]}
  done:  {node: B, program: pass, input: Order, output: Order}
control:
  - check -> done
data:
  - source -> check
  - source -> late
  - check -> done
  - done -> sink
  - late -> sink: {late: _TIMEOUT}
`,
	staff: map[string]string{"A": `
roles: [clerk]
organisations: {office: {manager: ann}}
people:
  ann: {roles: [clerk], organisation: office}
  bob: {roles: [clerk], organisation: office}
`},
	input:   order,
	results: `{check: [{by: bob, output: {n: 7, text: "as it is"}}], late: [{timeout: true}]}`,
	want: []string{
		"source started 1", "check offered 1", "check claimed 1", "check released 1", "check saved 1", "check transferred 1", "check completed 1", "check terminated 1",
		"late offered 1", "late escalated 1", "late withdrawn 1", "late terminated 1", "done terminated 1", "sink ended 1",
	},
	events: map[string]int{"check claimed 1": 2},
	ran:    1,
	play: func(w *world, ctx context.Context) {
		w.begin(ctx)
		w.says(ctx, api.WorkClaim, api.WorkWord{As: "ann"})
		w.says(ctx, api.WorkRelease, api.WorkWord{As: "ann"})
		w.says(ctx, api.WorkClaim, api.WorkWord{As: "ann"})
		w.says(ctx, api.WorkSave, api.WorkWord{As: "ann", Output: json.RawMessage(`{"text": "as it is"}`)})
		w.says(ctx, api.WorkTransfer, api.WorkWord{As: "ann", To: "bob"})
		w.says(ctx, api.WorkComplete, api.WorkWord{As: "bob", Output: json.RawMessage(`{"n": 7}`)})
		w.ended(ctx)
		w.handedOn(ctx)
	},
}

// says has a person say something about the item of check; a repeat is the same word.
func (w *world) says(ctx context.Context, verb api.WorkVerb, word api.WorkWord) {
	w.Helper()
	word.Word = uuid.Must(uuid.NewV7())
	var item string
	until(ctx, w.T, "the item is known", func() error {
		history, err := w.a.Client.Work(ctx, api.WorkRequest{All: true, Activity: "check", Limit: 10})
		if err == nil && len(history.Items) != 1 {
			err = notYet("%+v", history.Items)
		}
		if err == nil {
			item = history.Items[0].Item
		}
		return err
	}, api.CodeFailed)
	until(ctx, w.T, string(verb), func() error {
		done, err := w.a.Client.SayWork(ctx, item, verb, word)
		if err == nil && (done.Result != api.WordDone || done.Word != verb || done.Activity != "check") {
			w.Errorf("%s is answered with %+v", verb, done)
		}
		if verb == api.WorkComplete && api.CodeOf(err) == api.CodeNotFound { // it has ended, and no word about it is answered
			history, unheard := w.a.Client.History(ctx, w.ids[0])
			if unheard == nil && slices.ContainsFunc(history.Events, func(e api.HistoryEvent) bool { return e.Activity == "check" && e.Event == api.EventCompleted }) {
				return nil
			}
		}
		return err
	}, api.CodeFailed, api.CodeNotFound) // until its queues are browsed a node knows no item
}

// handedOn holds the history of check to what was said, in its order, each by whom.
func (w *world) handedOn(ctx context.Context) {
	w.Helper()
	said := map[api.Event]bool{
		api.EventOffered: true, api.EventClaimed: true, api.EventReleased: true, api.EventSaved: true, api.EventTransferred: true, api.EventCompleted: true,
	}
	var got []string
	until(ctx, w.T, "history", func() error {
		got = nil
		history, err := w.a.Client.History(ctx, w.ids[0])
		for _, e := range history.Events {
			if e.Activity == "check" && said[e.Event] {
				got = append(got, string(e.Event))
			}
		}
		return err
	}, api.CodeFailed)
	if want := []string{"offered", "claimed", "released", "claimed", "saved", "transferred", "completed"}; !slices.Equal(got, want) {
		w.Errorf("check has %v, want %v (of %v)", got, want, slices.Sorted(maps.Keys(said)))
	}
	if left, err := w.a.Client.Work(ctx, api.WorkRequest{All: true, Limit: 10}); err != nil || len(left.Items) != 0 {
		w.Errorf("items are left: %+v, %v", left.Items, err)
	}
}
