package node_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"fmqm/api"
	"fmqm/program"
)

// everyKind has an activity of every kind that does not end by itself, each of which leads to one that echoes what it
// gave.
const everyKind = `
process: every
version: 1
structures:
  N: {n: int}
  In: {n: int, ns: [int]}
  Out: {run: N, pause: N, block: N, bundle: [N], call: N, got: N, child: N}
events: {never: N}
input: In
output: Out
activities:
  run: {node: A, program: echo, input: N, output: N}
  pause: {node: A, wait: {for: 720h}, input: N, output: N}
  block:
    node: A
    input: N
    output: N
    exit: n > 100
    activities:
      deep: {node: A, wait: {for: 720h}, input: N, output: N}
    data: [source -> deep, deep -> sink]
  bundle: {node: A, program: echo, input: N, output: N, for_each: n}
  call: {node: A, at: {node: '"A"', of: [A]}, program: echo, input: N, output: N}
  got: {node: A, receive: {event: never}, output: N}
  child: {node: A, process: pausing, input: N, output: N}
data:
  - source -> run: {n: n}
  - source -> pause: {n: n}
  - source -> block: {n: n}
  - source -> bundle: {n: ns}
  - source -> call: {n: n}
  - source -> child: {n: n}
  - run -> sink: {run: _STRUCT}
  - pause -> sink: {pause: _STRUCT}
  - block -> sink: {block: _STRUCT}
  - bundle -> sink: {bundle: _RESULTS}
  - call -> sink: {call: _STRUCT}
  - got -> sink: {got: _STRUCT}
  - child -> sink: {child: _STRUCT}
`

const pausing = `
process: pausing
version: 1
structures: {N: {n: int}}
input: N
output: N
activities:
  rest: {node: A, wait: {for: 720h}, input: N, output: N}
data: [source -> rest, rest -> sink]
`

// endless is a program that runs until it is ended.
type endless struct{}

func (endless) Run(ctx context.Context, _ *program.Call) program.Result {
	<-ctx.Done()
	return program.Result{Err: ctx.Err()}
}

// N30: an activity of every kind is finished, or skipped, by hand, while it does what it does; what is inside of it ends with it,
// and the instance goes on with what the operator gave.
func TestN30AHandOnEveryKind(t *testing.T) {
	n := nodeOf(t, endless{})
	upload(t, n, pausing)
	upload(t, n, everyKind)
	for _, skips := range []bool{false, true} {
		id := beginOf(t, n, "every", `{"n": 1, "ns": [1, 2]}`)
		for _, name := range []string{"run", "pause", "block", "bundle", "call", "got", "child"} {
			waits(t, n, id, name)
			output := `{"n": 7}`
			if name == "bundle" {
				output = `{"_RESULTS": [{"n": 8}], "_COUNT": 1}`
			}
			var w api.Word
			var err error
			if skips {
				w, err = n.Skip(t.Context(), id, api.HandRequest{Activity: name, Reason: "not needed"})
			} else {
				w, err = n.Finish(t.Context(), id, api.HandRequest{Activity: name, Output: json.RawMessage(output), Reason: "done on paper"})
			}
			if err != nil || w.Result != api.WordDone || w.Activity != name || w.Scope != "" {
				t.Fatalf("%s: %+v, %v", name, w, err)
			}
		}
		s, err := n.Wait(t.Context(), id)
		if err != nil || s.State != api.InstanceFinished {
			t.Fatalf("it is %s, %v", s.State, err)
		}
		want := `{"run":{"n":7},"pause":{"n":7},"block":{"n":7},"bundle":[{"n":8}],"call":{"n":7},"got":{"n":7},"child":{"n":7}}`
		state, line := api.ActivityTerminated, "forced terminated"
		if skips {
			want, state, line = `{"run":{"n":0},"pause":{"n":0},"block":{"n":0},"bundle":[],"call":{"n":0},"got":{"n":0},"child":{"n":0}}`, api.ActivitySkipped, "skipped"
		}
		if string(s.Output) != want {
			t.Errorf("the output is %s, want %s", s.Output, want)
		}
		for _, name := range []string{"run", "pause", "block", "bundle", "call", "got", "child"} {
			a := activity(s, name)
			if a.State != state || !strings.HasSuffix(a.By, " at A") {
				t.Errorf("%s is %s by %q", name, a.State, a.By)
			}
			if got := strings.Join(events(t, n, id, name), " "); !strings.Contains(got, line) { // and what was inside of it is cancelled
				t.Errorf("the history of %s is %s", name, got)
			}
		}
		child := activity(s, "child").Child
		if child == nil {
			t.Fatal("the child is not known")
		}
		until(t, func() bool {
			c, err := n.Status(t.Context(), *child)
			return err == nil && c.State == api.InstanceTerminated
		})
	}
}

// N15, N30: a hand is refused, with what to do, where nothing can come of it, and a repeat is told what came of it.
func TestN30HandsThatAreRefused(t *testing.T) {
	n := nodeOf(t, endless{})
	upload(t, n, pausing)
	upload(t, n, everyKind)
	id := beginOf(t, n, "every", `{"n": 1, "ns": [1, 2]}`)
	waits(t, n, id, "bundle")
	for _, tc := range []struct {
		request api.HandRequest
		skips   bool
		want    string
	}{
		{api.HandRequest{Activity: "run", Output: json.RawMessage(`{"m": 7}`)}, false, "finish run: output: "},
		{api.HandRequest{Activity: "sink"}, true, "every@1 has no sink"},
		{api.HandRequest{Activity: "deep", Scope: "block#7"}, true, "it has not begun at A"},
	} {
		ask := n.Finish
		if tc.skips {
			ask = n.Skip
		}
		if _, err := ask(t.Context(), id, tc.request); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %s", tc.request.Activity, err, tc.want)
		}
	}
	waits(t, n, id, "run")
	first, err := n.Skip(t.Context(), id, api.HandRequest{Activity: "bundle[1]"})
	if err != nil || first.Scope != "" && first.Scope != "bundle[1]" {
		t.Fatalf("%+v, %v", first, err)
	}
	if again, err := n.Skip(t.Context(), id, api.HandRequest{Activity: "bundle[1]", Word: first.ID, Asked: true}); err != nil || again.Result != api.WordDone {
		t.Errorf("a repeat is told %+v, %v", again, err)
	}
	if _, err := n.Skip(t.Context(), id, api.HandRequest{Activity: "bundle[1]"}); err == nil || !strings.Contains(err.Error(), "it has ended") {
		t.Errorf("a second one: %v", err)
	}
	s, err := n.Status(t.Context(), id)
	if e := activity(s, "bundle").Elements; err != nil || e == nil || e.Failed != 1 {
		t.Errorf("the bundle has %+v, %v", e, err)
	}
	if w, err := n.Finish(t.Context(), id, api.HandRequest{Activity: "deep", Output: json.RawMessage(`{"n": 5}`)}); err != nil || w.Scope != "block#1" {
		t.Errorf("by its name alone: %+v, %v", w, err)
	}
	until(t, func() bool { // its exit condition is FALSE
		s, err := n.Status(t.Context(), id)
		return err == nil && activity(s, "block").Iterations == 2
	})
	if err := n.Terminate(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Skip(t.Context(), id, api.HandRequest{Activity: "run"}); api.CodeOf(err) != api.CodeRefused {
		t.Errorf("of a terminated instance: %v", err)
	}
}
