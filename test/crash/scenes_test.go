package crash

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/processtable"
	"fmqm/test/fleet"
)

// scenario is a process, and what is done with it until its instances have ended. A
// scene is played by one who repeats what he was not answered: any daemon may die at
// any moment, and comes back.
type scenario struct {
	process  string
	children []string // the processes of which its activities begin instances
	input    string
	given    string            // what it is started with, where data of that are erased in the end; empty: input
	staff    map[string]string // who works at a site, by its name; none: nobody does
	retired  string            // how long a version can be taken back; empty: as ever
	play     func(*world, context.Context)
	expected string         // the process that the interpreter runs; else the same
	results  string         // what the interpreter is told of programs and races, as interpret.ParseResults reads it
	events   map[string]int // how often the history has what is not there exactly once
	want     []string       // and what of it must be there
	ends     api.InstanceState
	ran      int                     // executions for which programs ran, each under its key; 0: it is not counted
	gone     func(scope string) bool // what of the status retention may have removed; nil: nothing
	skipped  string                  // an activity that an operator has skipped: it ran before, and on a dead path it does not
	chunks   map[string]uint64       // bodies at rest in the end, in chunks; by site
}

const order = `{"n":5,"text":"as it was"}`

// The process over both sites: a loop, an attempt that fails, an activity that goes in
// error, a dead path, an activity that ends early, a join that waits for both.
const process = `
process: crash
version: 1
structures:
  Order: {n: int, text: string}
input: Order
output: Order
starts: [A]
activities:
  here:  {node: A, program: pass, input: Order, output: Order}
  twice: {node: B, program: count, input: Order, output: Order, exit: n > 1}
  flaky: {node: B, program: flaky, input: Order, output: Order, retry: {attempts: 3, backoff: 10ms}}
  early: {node: A, program: pass}
  check: {node: B, program: broken, input: Order, output: Order}
  never: {node: B, program: pass}
  join:  {node: A, program: pass, input: Order, output: Order, start: any}
control:
  - here -> twice
  - here -> flaky
  - here -> never: n > 100
  - twice -> check
  - twice -> early
  - flaky -> check
  - check -> join
  - never -> join
data:
  - source -> here
  - source -> flaky
  - source -> check: {text: text}
  - flaky -> join: {text: text}
  - check -> join: {n: n}
  - join -> sink
`

// decided is what the operator gives as check's output.
const decided = `{"n":7,"text":""}`

// begun is what the history of the process has when check is in error.
var begun = []string{"source started 1", "here terminated 1", "twice iterated 1", "flaky failed 1", "check in-error 1"}

// whole is what it has in the end.
var whole = append(slices.Clone(begun), "twice terminated 2", "flaky terminated 1", "early terminated 1", "check asked 0", "check retried 1", "check answered 0", "check terminated 1",
	"never passed 0", "never skipped 0", "join terminated 1", "sink ended 1")

// finishes: one activity goes in error and is retried with an output.
var finishes = &scenario{process: process, input: order, want: whole, play: func(w *world, ctx context.Context) {
	w.begin(ctx)
	w.operate(ctx)
}}

// terminated: the operator terminates the instance while one activity is in error.
var terminated = &scenario{process: process, input: order, want: begun, ends: api.InstanceTerminated, play: finishes.play}

// large: bodies do not fit one commit, nor one item of a link.
var large = &scenario{
	process: process, input: fmt.Sprintf(`{"n":5,"text":%q}`, strings.Repeat("x", 900_000)), want: whole, play: finishes.play,
	chunks: map[string]uint64{"A": 16, "B": 4}, // of what the audit queue has: four for each body
}

// stopped: the victim is stopped in order, and started again, while one activity is in error.
var stopped = &scenario{process: process, input: order, want: whole, play: func(w *world, ctx context.Context) {
	w.begin(ctx)
	w.inError(ctx)
	w.victim.Stop()
	w.victim.Start()
	w.operate(ctx)
}}

// begin brings both sites up, the tables to them, and starts the instances.
func (w *world) begin(ctx context.Context) {
	w.a.Start()
	w.b.Start()
	w.uploadTo(ctx, w.a, w.tables)
	for _, text := range w.row.scenario.children {
		_, tables := w.compile(text)
		w.uploadTo(ctx, w.a, tables)
	}
	w.startAll(ctx)
}

func (w *world) startAll(ctx context.Context) {
	w.Helper()
	for _, id := range w.ids {
		until(ctx, w.T, "start", func() error {
			_, err := w.a.Client.Start(ctx, api.StartRequest{Instance: id, Process: w.def.Name, Input: json.RawMessage(cmp.Or(w.row.scenario.given, w.row.scenario.input))})
			return err
		}, api.CodeFailed)
	}
}

// uploadTo has a site store tables and pass them on, until all have arrived.
func (w *world) uploadTo(ctx context.Context, s *fleet.Site, tables []api.Table) {
	w.Helper()
	until(ctx, w.T, "upload", func() error {
		answer, err := s.Client.Upload(ctx, api.UploadRequest{Tables: tables})
		if err != nil {
			return err
		}
		for _, n := range answer.Nodes {
			if n.Result != api.ResultStored && n.Result != api.ResultUnchanged {
				return notYet("%+v", n) // on its way
			}
		}
		return nil
	}, api.CodeFailed)
}

// tablesFor are those of a node.
func tablesFor(tables []api.Table, node string) []api.Table {
	return slices.DeleteFunc(slices.Clone(tables), func(t api.Table) bool { return t.Node != node })
}

// stateOf is how an activity stands, as A tells.
func (w *world) stateOf(ctx context.Context, id api.InstanceID, activity string) (api.ActivityState, api.InstanceState, error) {
	s, err := w.a.Client.Status(ctx, id)
	i := slices.IndexFunc(s.Activities, func(a api.Activity) bool { return a.Activity == activity })
	if i < 0 {
		return api.ActivityUnknown, s.State, err
	}
	return s.Activities[i].State, s.State, err
}

// inError waits until check is in error, everywhere.
func (w *world) inError(ctx context.Context) {
	w.Helper()
	for _, id := range w.ids {
		until(ctx, w.T, "error", func() error {
			check, _, err := w.stateOf(ctx, id, "check")
			if err == nil && check != api.ActivityInError {
				err = notYet("check is %s", check)
			}
			return err
		}, api.CodeFailed, api.CodeNotFound)
	}
}

// operate acts once check is in error; what was answered to nobody is seen in the
// status, or done again.
func (w *world) operate(ctx context.Context) {
	w.Helper()
	for _, id := range w.ids {
		word := uuid.Must(uuid.NewV7()) // a repeat is the same word
		until(ctx, w.T, "decide", func() error {
			check, state, err := w.stateOf(ctx, id, "check")
			switch {
			case err != nil:
				return err
			case check == api.ActivityTerminated || state == api.InstanceTerminated:
				return nil
			case check != api.ActivityInError:
				return notYet("check is %s", check)
			case w.row.scenario.ends == api.InstanceTerminated:
				return w.a.Client.Terminate(ctx, id, "")
			}
			_, err = w.a.Client.Retry(ctx, id, api.RetryRequest{Activity: "check", Word: word, Output: json.RawMessage(decided)})
			return err
		}, api.CodeFailed, api.CodeNotFound, api.CodeRefused)
	}
}

// B is down while a dead path passes around an activity of it (N6).
var around = &scenario{
	process: `
process: around
version: 1
structures:
  Order: {n: int, text: string}
input: Order
output: Order
starts: [A]
activities:
  here: {node: A, program: pass, input: Order, output: Order}
  gone: {node: B, program: pass, input: Order, output: Order}
  last: {node: A, program: pass, input: Order, output: Order, start: any}
control:
  - here -> gone: n > 100
  - gone -> last
  - here -> last
data:
  - source -> here
  - here -> gone
  - here -> last
  - last -> sink
`,
	input: order,
	want:  []string{"source started 1", "here terminated 1", "gone passed 0", "gone skipped 0", "last terminated 1", "sink ended 1"},
	play: func(w *world, ctx context.Context) {
		w.a.Start()
		w.b.Start()
		w.uploadTo(ctx, w.a, w.tables)
		w.b.Stop()
		w.startAll(ctx)
		w.ended(ctx)
		w.b.Start()
	},
}

// ended waits until all instances have ended where they were started.
func (w *world) ended(ctx context.Context) {
	w.Helper()
	for _, id := range w.ids {
		until(ctx, w.T, "end", func() error {
			s, err := w.a.Client.Wait(ctx, id, fleet.Patience)
			if err == nil && s.State != w.row.scenario.ending() {
				err = notYet("the instance is %s: %s", s.State, s.Reason)
			}
			return err
		}, api.CodeFailed, api.CodeNotFound)
	}
}

// ending is how its instances end.
func (s *scenario) ending() api.InstanceState {
	if s.ends != "" {
		return s.ends
	}
	return api.InstanceFinished
}

// B gets its table after the messages that need it (N3).
var parked = &scenario{process: process, input: order, want: whole, play: func(w *world, ctx context.Context) {
	w.a.Start()
	w.b.Start()
	w.uploadTo(ctx, w.a, tablesFor(w.tables, "A"))
	w.startAll(ctx)
	until(ctx, w.T, "messages wait at B", func() error {
		nodes, err := w.b.Client.Nodes(ctx)
		if err == nil && !strings.Contains(nodes.Nodes[0].Reason, "messages for crash@1 wait here for its table") {
			err = notYet("%+v", nodes.Nodes[0])
		}
		return err
	})
	w.uploadTo(ctx, w.b, tablesFor(w.tables, "B"))
	w.operate(ctx)
}}

// scopes has what begins inside of a block, twice, at both sites; and what does not end by itself:
// at a deadline, after an error, and because another one cancels it.
var scopes = &scenario{
	process: `
process: scopes
version: 1
structures:
  Order: {n: int, text: string}
  Turn: {n: int, before: int}
  End: {n: int, before: int, late: bool, why: string}
input: Order
output: End
starts: [A]
activities:
  twice:                            # its first turn knows of none before
    node: B
    input: Turn
    output: Turn
    exit: before > 0
    activities:
      near: {node: B, program: pass, input: Turn, output: Turn}
      far:  {node: A, program: pass, input: Turn, output: Turn}
    control:
      - near -> far
    data:
      - source -> near
      - near -> far
      - far -> sink
  slow:  {node: B, program: sleep, deadline: {after: 300ms}}
  fails: {node: B, program: fails, on_error: continue}
  pause: {node: B, wait: {for: 100h}}
  enough: {node: A, program: pass, cancels: [pause]}
  never: {node: B, program: pass}
control:
  - slow -> enough: _TIMEOUT
  - pause -> never
data:
  - source -> twice
  - twice -> twice: {before: n}
  - twice -> sink
  - slow -> sink: {late: _TIMEOUT}
  - fails -> sink: {why: _ERROR}
`,
	input:   order,
	results: `{slow: [{timeout: true}], fails: [{rc: 4}], pause: [{cancelled: true}]}`,
	want: []string{
		"source started 1", "twice begun 1", "twice#1/near terminated 1", "twice#1/far terminated 1", "twice returned 1", "twice iterated 1",
		"twice begun 2", "twice#2/near terminated 1", "twice#2/far terminated 1", "twice returned 2", "twice terminated 2",
		"slow terminated 1", "fails terminated 1", "enough terminated 1", "pause cancelled 0", "sink ended 1",
	},
	play: func(w *world, ctx context.Context) {
		w.begin(ctx)
		w.ended(ctx)
	},
}

// family has an activity that is done by an instance of another process, over both sites, and one whose
// deadline comes before the end of such an instance. The interpreter runs what these do in their place.
var family = &scenario{
	process:  parent("process: line", "process: idle"),
	expected: parent("program: pass", "program: sleep"),
	children: []string{`
process: line
version: 1
structures:
  Line: {n: int, text: string}
input: Line
output: Line
starts: [A]
activities:
  take: {node: A, program: pass, input: Line, output: Line}
  wrap: {node: B, program: pass, input: Line, output: Line}
control:
  - take -> wrap
data:
  - source -> take
  - take -> wrap
  - wrap -> sink
`, `
process: idle
version: 1
starts: [A]
activities:
  ready: {node: A, program: pass}
  long: {node: B, program: sleep}
control:
  - ready -> long
`},
	input:   order,
	results: `{late: [{timeout: true}]}`,
	want: []string{
		"source started 1", "pack begun 1", "pack returned 1", "pack terminated 1", "late begun 1", "late returned 1", "late terminated 1", "sink ended 1",
	},
	play: func(w *world, ctx context.Context) {
		w.begin(ctx)
		w.ended(ctx)
		w.childrenEnd(ctx, map[string]api.InstanceState{"pack": api.InstanceFinished, "late": api.InstanceTerminated})
	},
}

// meeting has an activity that waits for an event, which one of the other site sends.
var meeting = &scenario{
	process: `
process: meeting
version: 1
structures:
  Order: {n: int, text: string}
  Part: {text: string}
events:
  part_arrived: Part
  cancelled: {}
input: Order
output: Order
starts: [A]
activities:
  ready: {node: B, program: pass, input: Order, output: Order}
  tell: {node: B, send: {event: part_arrived, key: _INSTANCE, to: A}, input: Part}
  arrival: {node: A, receive: {one_of: [cancelled, part_arrived], key: _INSTANCE}, output: Part}
control:
  - ready -> tell
data:
  - source -> ready
  - ready -> tell
  - arrival -> sink
  - ready -> sink: {n: n}
`,
	input: order,
	want: []string{
		"source started 1", "ready terminated 1", "tell sent 1", "tell terminated 1", "arrival received 1", "arrival terminated 1", "sink ended 1",
	},
	play: func(w *world, ctx context.Context) {
		w.begin(ctx)
		w.ended(ctx)
	},
}

// parent is the process with these programs in its activities.
func parent(pack, late string) string {
	return `
process: family
version: 1
structures:
  Order: {n: int, text: string}
  End: {n: int, text: string, late: bool}
input: Order
output: End
starts: [A]
activities:
  pack: {node: A, ` + pack + `, input: Order, output: Order}
  late: {node: A, ` + late + `, deadline: {after: 8s}}
  done: {node: B, program: pass, input: Order, output: Order}
control:
  - pack -> done
data:
  - source -> pack
  - pack -> done
  - done -> sink
  - late -> sink: {late: _TIMEOUT}
`
}

// childrenEnd waits until what activities have begun has ended, as both sites tell.
func (w *world) childrenEnd(ctx context.Context, want map[string]api.InstanceState) {
	w.Helper()
	until(ctx, w.T, "end of what was begun", func() error {
		s, err := w.a.Client.Status(ctx, w.ids[0])
		if err != nil {
			return err
		}
		for _, a := range s.Activities {
			if want[a.Activity] == "" {
				continue
			}
			if a.Child == nil {
				return notYet("%s has begun nothing: %+v", a.Activity, a)
			}
			child, err := w.a.Client.Status(ctx, *a.Child)
			if err != nil {
				return err
			}
			for _, inside := range child.Activities {
				if !inside.State.Ended() {
					return notYet("%s in the instance of %s is %s", inside.Activity, a.Activity, inside.State)
				}
			}
			if child.State != want[a.Activity] || len(child.Activities) == 0 || len(child.Unreachable) > 0 || child.Parent == nil || child.Parent.Instance != w.ids[0] {
				return notYet("the instance of %s is %+v", a.Activity, child)
			}
		}
		return nil
	}, api.CodeFailed, api.CodeNotFound)
}

const pair = `
process: pair
version: 1
structures:
  Order: {n: int, text: string}
input: Order
output: Order
starts: [A]
activities:
  one: {node: A, program: pass, input: Order, output: Order}
  two: {node: B, program: pass, input: Order, output: Order}
control:
  - one -> two: n < 100
data:
  - source -> one
  - one -> two
  - two -> sink
`

var ofPair = []string{"source started 1", "one terminated 1", "two terminated 1", "sink ended 1"}

// definer gives a key of one who defines.
func definer(seed byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(slices.Repeat([]byte{seed}, ed25519.SeedSize))
}

// signed are the tables, signed.
func (w *world) signed(key ed25519.PrivateKey) []api.Table {
	w.Helper()
	tables := slices.Clone(w.tables)
	for i := range tables {
		encoded, err := processtable.Sign(tables[i].Table, key)
		if err != nil {
			w.Fatal(err)
		}
		tables[i] = tableOf(tables[i], encoded)
	}
	return tables
}

// trusts has B take the tables of these from now on.
func (w *world) trusts(keys ...ed25519.PrivateKey) {
	w.Helper()
	w.definers["B"] = nil
	for _, key := range keys {
		w.definers["B"] = append(w.definers["B"], processtable.DefinerText(key.Public().(ed25519.PublicKey)))
	}
	w.b.Configure()
}

// B takes tables of a definer that it knows.
var signed = &scenario{process: pair, input: order, want: ofPair, play: func(w *world, ctx context.Context) {
	w.trusts(definer(1))
	w.a.Start()
	w.b.Start()
	w.uploadTo(ctx, w.a, w.signed(definer(1)))
	w.startAll(ctx)
}}

// B gets a table of a definer that it does not know; the operator adds him, and has the
// table judged again.
var untrusted = &scenario{process: pair, input: order, want: ofPair, play: func(w *world, ctx context.Context) {
	w.trusts(definer(1))
	w.a.Start()
	until(ctx, w.T, "upload", func() error { // B is not heard, and cannot say that it would not
		_, err := w.a.Client.Upload(ctx, api.UploadRequest{Tables: w.signed(definer(2))})
		return err
	})
	w.b.Start()
	w.aside(ctx, w.b, 0)
	w.trusts(definer(1), definer(2))
	w.b.Signal(syscall.SIGHUP)
	until(ctx, w.T, "the table is taken", func() error {
		number, err := w.setAside(ctx, w.b)
		if err != nil || number == 0 {
			return err
		}
		_, err = w.b.Client.RetryRefused(ctx, number)
		return err
	}, api.CodeFailed, api.CodeRefused)
	w.startAll(ctx)
}}

// setAside is the number of the message that a site has set aside; 0: none.
func (w *world) setAside(ctx context.Context, s *fleet.Site) (uint64, error) {
	dead, err := s.Client.Refused(ctx, api.RefusedRequest{Limit: 10})
	switch {
	case err != nil || len(dead.Messages) == 0:
		return 0, err
	case len(dead.Messages) > 1:
		w.Errorf("%s has set aside %+v", s.Name, dead.Messages)
	}
	return dead.Messages[0].Number, nil
}

// aside waits until a site has set a message aside, another than the one before.
func (w *world) aside(ctx context.Context, s *fleet.Site, before uint64) (number uint64) {
	w.Helper()
	until(ctx, w.T, "a message is set aside at "+s.Name, func() (err error) {
		if number, err = w.setAside(ctx, s); err == nil && (number == 0 || number == before) {
			err = notYet("message %d", number)
		}
		return err
	})
	return number
}

// B has the table of another definition under the same name: it refuses what A sends,
// and A what B sends. The operator lets a message be judged again, and drops it (L5).
var refused = &scenario{
	process: pair, input: order, expected: strings.Replace(pair, "n < 100", "n < 0", 1),
	want:   []string{"source started 1", "one terminated 1", "two retried 1", "two dropped 1", "two skipped 0", "sink dropped 1", "sink ended 1"},
	events: map[string]int{"two in-error 1": 2},
	play: func(w *world, ctx context.Context) {
		w.a.Start()
		w.b.Start()
		w.uploadTo(ctx, w.a, tablesFor(w.tables, "A"))
		_, other := w.compile(strings.Replace(pair, "n < 100", "n < 101", 1))
		w.uploadTo(ctx, w.b, tablesFor(other, "B"))
		w.startAll(ctx)
		first := w.aside(ctx, w.b, 0)
		until(ctx, w.T, "it is judged again", func() error {
			number, err := w.setAside(ctx, w.b)
			if err == nil && number == first {
				_, err = w.b.Client.RetryRefused(ctx, first)
			}
			return err
		}, api.CodeFailed)
		w.drop(ctx, w.b, w.aside(ctx, w.b, first))
		w.drop(ctx, w.a, w.aside(ctx, w.a, 0))
	},
}

// drop lets go of a message that a site has set aside.
func (w *world) drop(ctx context.Context, s *fleet.Site, number uint64) {
	w.Helper()
	until(ctx, w.T, "it is dropped", func() error {
		found, err := w.setAside(ctx, s)
		if err == nil && found == number {
			_, err = s.Client.DropRefused(ctx, number, api.DropRequest{Reason: "it cannot be"})
		}
		return err
	}, api.CodeFailed)
}

// wide has an activity that ends with 2,000 connectors into it and 2,000 out of it, the
// most that the language lets it have, under the longest names: more than the engine
// commits at once.
var wide = &scenario{
	process: wideProcess(),
	input:   fmt.Sprintf(`{"n":5,"text":%q}`, strings.Repeat("x", 300)),
	want:    []string{"source started 1", longest("fork", 0) + " terminated 1", "there terminated 1", "sink ended 1"},
	play: func(w *world, ctx context.Context) {
		w.begin(ctx)
		w.ended(ctx)
	},
}

// longest gives a name of the greatest length.
func longest(name string, n int) string {
	return fmt.Sprintf("%s%0*d", name, processtable.MaxName-len(name), n)
}

func wideProcess() string {
	const fan = 1999 // and one more
	var activities, control, data strings.Builder
	fork := longest("fork", 0)
	for n := range fan {
		before, after := longest("s", n), longest("t", n)
		fmt.Fprintf(&activities, "  %s: {node: A, empty: true}\n  %s: {node: A, empty: true, input: Order, output: Order}\n", before, after)
		fmt.Fprintf(&control, "  - %s -> %s\n  - there -> %s\n", before, fork, after)
		fmt.Fprintf(&data, "  - %s -> %s\n", fork, after)
	}
	return "process: " + longest("wide", 0) + `
version: 1
structures:
  Order: {n: int, text: string}
input: Order
output: Order
starts: [A]
activities:
  ` + fork + `: {node: A, program: pass, input: Order, output: Order}
  there: {node: B, program: pass, input: Order, output: Order}
` + activities.String() + `control:
  - ` + fork + ` -> there
` + control.String() + `data:
  - source -> ` + fork + `
  - source -> there
  - there -> sink
` + data.String()
}
