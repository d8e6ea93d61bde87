package crash

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/internal/store"
	"fmqm/queue/record"
	"fmqm/test/fleet"
)

// hands has two activities in error at the other site: an operator finishes one by hand, and skips the other. The
// interpreter runs the process in which the second is on a dead path.
var hands = &scenario{
	process:  byHand(""),
	skipped:  "gone",
	expected: byHand(": n > 100"),
	input:    order,
	want: []string{
		"source started 1", "check in-error 1", "check forced 1", "check terminated 1", "gone in-error 1", "gone skipped 1", "last terminated 1", "sink ended 1",
	},
	play: func(w *world, ctx context.Context) {
		w.begin(ctx)
		w.byHand(ctx, "check", w.a.Client.Finish, json.RawMessage(decided))
		w.byHand(ctx, "gone", w.a.Client.Skip, nil)
		w.ended(ctx)
	},
}

func byHand(condition string) string {
	return `
process: hands
version: 1
structures:
  Order: {n: int, text: string}
input: Order
output: Order
starts: [A]
activities:
  here:  {node: A, program: pass, input: Order, output: Order}
  check: {node: B, program: broken, input: Order, output: Order}
  gone:  {node: B, program: fails}
  last:  {node: A, program: pass, input: Order, output: Order, start: any}
control:
  - here -> check
  - here -> gone` + condition + `
  - check -> last
  - gone -> last
data:
  - source -> here
  - here -> check
  - check -> last
  - last -> sink
`
}

// byHand ends an activity that is in error; a repeat is the same word.
func (w *world) byHand(ctx context.Context, activity string, end func(context.Context, api.InstanceID, api.HandRequest) (api.Word, error), output json.RawMessage) {
	w.Helper()
	word := uuid.Must(uuid.NewV7())
	until(ctx, w.T, activity+" is ended by hand", func() error {
		state, _, err := w.stateOf(ctx, w.ids[0], activity)
		switch {
		case err != nil:
			return err
		case state.Ended():
			return nil
		case state != api.ActivityInError:
			return notYet("%s is %s", activity, state)
		}
		_, err = end(ctx, w.ids[0], api.HandRequest{Activity: activity, Output: output, Reason: "by hand", Word: word})
		return err
	}, api.CodeFailed, api.CodeNotFound, api.CodeRefused)
}

// expedited: an operator gives an instance another priority while an activity of the other site is in error.
var expedited = &scenario{
	process: process, input: order,
	want: slices.Concat(whole, []string{"source expedited 0"}),
	play: func(w *world, ctx context.Context) {
		w.begin(ctx)
		w.everywhere(ctx)
		w.inError(ctx)
		word := uuid.Must(uuid.NewV7())
		until(ctx, w.T, "expedite", func() error {
			_, err := w.a.Client.Expedite(ctx, w.ids[0], api.ExpediteRequest{Priority: api.MaxPriority, Word: word})
			return err
		}, api.CodeFailed)
		for _, s := range []*fleet.Site{w.a, w.b} {
			until(ctx, w.T, "it has the priority as "+s.Name+" tells", func() error {
				st, err := s.Client.Status(ctx, w.ids[0])
				if err == nil && (st.Priority == nil || *st.Priority != api.MaxPriority || len(st.Pending) > 0 || len(st.Unreachable) > 0) {
					err = notYet("%v, and of it have not heard %+v", st.Priority, st.Pending)
				}
				return err
			}, api.CodeFailed, api.CodeNotFound)
		}
		w.operate(ctx)
		w.ended(ctx)
	},
}

// rested: an operator suspends an instance for a moment, while an activity of the other site is in error.
var rested = &scenario{
	process: process, input: order,
	want: slices.Concat(whole, []string{"source suspended 0", "source resumed 0"}),
	play: func(w *world, ctx context.Context) {
		w.begin(ctx)
		w.everywhere(ctx)
		w.inError(ctx)
		word := uuid.Must(uuid.NewV7())
		until(ctx, w.T, "suspend", func() error {
			_, err := w.a.Client.Suspend(ctx, w.ids[0], api.SuspendRequest{Until: time.Now().Add(time.Second), Word: word})
			return err
		}, api.CodeFailed)
		for _, s := range []*fleet.Site{w.a, w.b} {
			until(ctx, w.T, "it goes on as "+s.Name+" tells", func() error {
				st, err := s.Client.Status(ctx, w.ids[0])
				if err == nil && len(st.Suspends)+len(st.Pending)+len(st.Unreachable) > 0 {
					err = notYet("suspends %+v, and of it have not heard %+v", st.Suspends, st.Pending)
				}
				return err
			}, api.CodeFailed, api.CodeNotFound)
		}
		w.operate(ctx)
		w.ended(ctx)
	},
}

// retired: a version is retired at both sites, while an instance of it goes on, and nothing of it begins after that.
var retired = &scenario{
	process: process, input: order, want: whole,
	play: func(w *world, ctx context.Context) {
		w.begin(ctx)
		w.everywhere(ctx)
		w.inError(ctx)
		until(ctx, w.T, "retire", func() error {
			_, err := w.a.Client.Retire(ctx, w.def.Name+"@1", api.RetireRequest{Number: 1})
			return err
		}, api.CodeFailed)
		w.isRetired(ctx)
		_, err := w.a.Client.Start(ctx, api.StartRequest{Instance: uuid.Must(uuid.NewV7()), Process: w.def.Name + "@1", Input: json.RawMessage(order)})
		if code := api.CodeOf(err); code != api.CodeRefused && code != api.CodeUnreachable {
			w.Errorf("a version that is retired is started: %v", err)
		}
		w.operate(ctx)
		w.ended(ctx)
		w.isRetired(ctx)
	},
}

// unused is a version of which nothing ever begins: both sites may start it.
const unused = `
process: unused
version: 1
starts: [A, B]
activities:
  one: {node: A, program: pass}
  two: {node: B, program: pass}
control:
  - one -> two
`

// removed: a version is retired of which nothing goes on, both sites give their final word, and its table goes at both.
var removed = &scenario{
	process: pair, input: order, want: ofPair, retired: "0s",
	play: func(w *world, ctx context.Context) {
		w.begin(ctx)
		_, tables := w.compile(unused)
		w.uploadTo(ctx, w.a, tables)
		until(ctx, w.T, "retire", func() error {
			_, err := w.a.Client.Retire(ctx, "unused@1", api.RetireRequest{Number: 1})
			return err
		}, api.CodeFailed)
		for _, s := range []*fleet.Site{w.a, w.b} {
			until(ctx, w.T, "its table is removed at "+s.Name, func() error {
				a, err := s.Client.Definitions(ctx)
				if err == nil && (len(a.Definitions) != 2 || a.Definitions[0].State != api.VersionCurrent || a.Definitions[1].State != api.VersionRemoved) {
					err = notYet("%+v", a)
				}
				return err
			}, api.CodeFailed)
			answer, err := s.Client.Upload(ctx, api.UploadRequest{Tables: tables, PlanOnly: true})
			if err != nil || !slices.ContainsFunc(answer.Nodes, func(n api.UploadNode) bool { return n.Plan == api.PlanRefuse }) {
				w.Errorf("it is uploaded once more: %+v, %v", answer, err)
			}
		}
	},
}

// abandoned: B is down when a version is retired, and is written off at A, where the table goes without it. B comes back, and
// its own goes as well.
var abandoned = &scenario{
	process: pair, input: order, want: ofPair, retired: "0s",
	play: func(w *world, ctx context.Context) {
		w.begin(ctx)
		_, tables := w.compile(unused)
		w.uploadTo(ctx, w.a, tables)
		w.ended(ctx)
		w.b.Stop()
		until(ctx, w.T, "retire", func() error {
			_, err := w.a.Client.Retire(ctx, "unused@1", api.RetireRequest{Number: 1})
			return err
		}, api.CodeFailed)
		until(ctx, w.T, "write B off", func() error {
			_, err := w.a.Client.Retire(ctx, "unused@1", api.RetireRequest{Without: "B", Reason: "closed", Do: true})
			return err
		}, api.CodeFailed, api.CodeRefused)
		for _, s := range []*fleet.Site{w.a, w.b} {
			if s == w.b {
				w.b.Start()
			}
			until(ctx, w.T, "its table is removed at "+s.Name, func() error {
				a, err := s.Client.Definitions(ctx)
				if err == nil && (len(a.Definitions) != 2 || a.Definitions[1].State != api.VersionRemoved) {
					err = notYet("%+v", a)
				}
				return err
			}, api.CodeFailed)
		}
	},
}

// isRetired waits until both sites say that the version is retired.
func (w *world) isRetired(ctx context.Context) {
	w.Helper()
	for _, s := range []*fleet.Site{w.a, w.b} {
		until(ctx, w.T, "it is retired at "+s.Name, func() error {
			a, err := s.Client.Definitions(ctx)
			if err == nil && (len(a.Definitions) != 1 || a.Definitions[0].State != api.VersionRetired || a.Definitions[0].Said != 1) {
				err = notYet("%+v", a)
			}
			return err
		}, api.CodeFailed)
	}
}

// earlier: the victim's store is of an earlier format, and is brought to today's while an activity is in error.
var earlier = &scenario{process: process, input: order, want: whole, play: func(w *world, ctx context.Context) {
	w.begin(ctx)
	w.inError(ctx)
	w.settle(ctx, false)
	w.victim.Stop()
	w.setBack()
	w.victim.Start()
	until(ctx, w.T, "the list", func() error {
		list, err := w.a.Client.List(ctx, api.ListRequest{InError: true})
		if err == nil && (len(list.Instances) != 1 || list.Instances[0].Instance != w.ids[0]) {
			err = notYet("%+v", list)
		}
		return err
	}, api.CodeFailed)
	w.operate(ctx)
}}

// setBack makes the victim's store one of format 2, which has no index of instances and else the same records.
func (w *world) setBack() {
	w.Helper()
	w.victim.Look(func(engine store.Engine) error {
		ops := []store.Op{{Key: record.KeyFormat, Value: record.New(record.KeyFormat, 2)}}
		err := engine.Scan(store.ScanOptions{Prefix: []byte{record.ClassListed}}, func(key, _ []byte) bool {
			ops = append(ops, store.Op{Key: slices.Clone(key)})
			return true
		})
		if err != nil {
			return err
		}
		if w.victim == w.a && len(ops) < 3 {
			w.Errorf("the index has %d entries, want the start and the notice", len(ops)-1)
		}
		return engine.Commit(engine.Last()+1, &store.Batch{Ops: ops})
	})
}
