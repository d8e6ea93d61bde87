package interpret

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fmqm/container"
	"fmqm/definition"
)

const count = `
process: stock
version: 1
nodes: {shops: [s0, s1, s2, s3, s4]}
structures:
  Plan:   {shops: [string], until: timestamp}
  Visit:  {shop: string}
  Count:  {shop: string, counted: int}
  Report: {counts: [Count], errors: [string], codes: [int], all: int, done: int, failed: int}
input: Plan
output: Report
activities:
  count: {node: A, program: count, for_each: shop, input: Visit, output: Count, MORE}
control:
  - count -> bad: _FAILED > 0
  - count -> good: otherwise
data:
  - source -> count: {shop: shops}
  - count -> sink: {counts: _RESULTS, errors: _ERRORS, codes: _RCS, all: _COUNT, done: _DONE, failed: _FAILED}
`

// counting is the process with more keys at count, and what follows it.
func counting(more string) string {
	text := strings.Replace(count, ", MORE", more, 1)
	return strings.Replace(text, "control:", "  bad:   {node: A, program: bad}\n  good:  {node: A, program: good}\ncontrol:", 1)
}

// bundleRun runs a process with shops and results.
func bundleRun(t *testing.T, text, shops, results string) *Result {
	t.Helper()
	processes := loadAll(t, text)
	p := processes[0]
	programs, err := ParseResults(p, []byte(results), processes...)
	if err != nil {
		t.Fatal(err)
	}
	input, err := container.DecodeJSON(p.Input, []byte(fmt.Sprintf(`{"shops": [%s]}`, shops)))
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(p, input, programs, Options{Processes: processes, Instance: "I-1"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func loadAll(t *testing.T, text string) []*definition.Process {
	t.Helper()
	processes, diagnostics := definition.Load("test.yaml", []byte(text))
	if definition.HasErrors(diagnostics) {
		t.Fatal(diagnostics)
	}
	return processes
}

// states gives each execution with its state, and what the run came to.
func states(r *Result) string {
	var all []string
	for a := range r.All() {
		line := a.Path() + " " + string(a.State)
		if a.Counts != nil {
			line += fmt.Sprint(*a.Counts)
		}
		all = append(all, line)
	}
	if r.Output != nil {
		text, _ := r.Output.MarshalJSON()
		all = append(all, string(text))
	}
	return strings.Join(all, "\n")
}

func wantStates(t *testing.T, r *Result, want ...string) {
	t.Helper()
	if diff := cmp.Diff(strings.Join(want, "\n"), states(r)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Each element is done once, with its own input; results are in the list's order (N21).
func TestN21EachElement(t *testing.T) {
	r := bundleRun(t, counting(""), `"s0", "s1"`, "count[1]: [{output: {shop: x, counted: 7}}]")
	wantStates(t, r,
		"count terminated{2 2 0 0 0}", "count[0] terminated", "count[1] terminated", "bad skipped", "good terminated",
		`{"counts":[{"shop":"s0","counted":0},{"shop":"x","counted":7}],"errors":["",""],"codes":[0,0],"all":2,"done":2,"failed":0}`)
	text, err := r.Activities[0].Output.MarshalJSON()
	if want := `{"_RESULTS":[{"shop":"s0","counted":0},{"shop":"x","counted":7}],"_ERRORS":["",""],"_RCS":[0,0],"_COUNT":2,"_DONE":2,"_FAILED":0}`; err != nil || string(text) != want {
		t.Errorf("the bundle gives %s, want %s: %v", text, want, err)
	}
}

func TestN21AnEmptyListEndsAtOnce(t *testing.T) {
	wantStates(t, bundleRun(t, counting(""), "", ""), "count terminated{0 0 0 0 0}", "bad skipped", "good terminated",
		`{"counts":[],"errors":[],"codes":[],"all":0,"done":0,"failed":0}`)
}

// Errors that are gone on after, deadlines, and what `failed` says, are results that have failed.
func TestN21WhatFailsIsAResult(t *testing.T) {
	more := ", on_error: continue, deadline: {after: 1h}, failed: counted < 0, retry: {attempts: 2}, on_rc: error"
	r := bundleRun(t, counting(more), `"s0", "s1", "s2", "s3"`, `{"count[0]": [{error: no answer}], "count[1]": [{timeout: true}], "count[2]": [{rc: 3}], "count[3]": [{output: {counted: -1}}]}`)
	wantStates(t, r,
		"count terminated{4 4 4 0 0}", "count[0] terminated", "count[1] terminated", "count[2] terminated", "count[3] terminated", "bad terminated", "good skipped",
		`{"counts":[{"shop":"","counted":0},{"shop":"","counted":0},{"shop":"","counted":0},{"shop":"","counted":-1}],"errors":["no answer","deadline","return code 3",""],"codes":[-1,-1,3,0],"all":4,"done":4,"failed":4}`)
	if got := r.Activities[0].Each[0].Attempts; got != 2 {
		t.Errorf("%d attempts of count[0]", got)
	}
}

// An element in error waits for an operator, in its place; others go on as long as there is room.
func TestN21AnElementInErrorTakesItsPlace(t *testing.T) {
	for parallel, want := range map[int]string{
		1: "count running{4 1 0 0 1}\ncount[0] terminated\ncount[1] in-error\nbad inactive\ngood inactive",
		2: "count running{4 2 0 0 2}\ncount[0] terminated\ncount[1] in-error\ncount[2] terminated\ncount[3] in-error\nbad inactive\ngood inactive",
	} {
		r := bundleRun(t, counting(fmt.Sprintf(", parallel: %d", parallel)), `"s0", "s1", "s2", "s3"`, `{"count[1]": [{error: no}], "count[3]": [{error: no}]}`)
		wantStates(t, r, want)
		if r.State != InError {
			t.Errorf("the instance is %s", r.State)
		}
	}
}

// `until` is asked after each return: what has not returned then is cancelled, and neither done nor failed.
func TestN21UntilCancelsTheRest(t *testing.T) {
	r := bundleRun(t, counting(", until: _FAILED > 1 || _DONE == 4, failed: counted < 0, on_rc: continue"), `"s0", "s1", "s2", "s3", "s4"`,
		`{"count[0]": [{output: {counted: -1}}], "count[1]": [{error: no}], "count[2]": [{rc: 4, output: {counted: -2}}]}`)
	wantStates(t, r,
		"count terminated{5 2 2 3 0}", "count[0] terminated", "count[1] cancelled", "count[2] terminated", "bad terminated", "good skipped",
		`{"counts":[{"shop":"","counted":-1},{"shop":"","counted":0},{"shop":"","counted":-2},{"shop":"","counted":0},{"shop":"","counted":0}],"errors":["","cancelled","","cancelled","cancelled"],"codes":[0,-1,4,-1,-1],"all":5,"done":2,"failed":2}`)
}

// A condition of the bundle that fails puts it in error, one of an execution that execution.
func TestN21ConditionsThatFail(t *testing.T) {
	r := bundleRun(t, counting(", until: 1 / (_DONE - 2) > 5"), `"s0", "s1", "s2"`, "")
	if a := r.Activities[0]; a.State != InError || !strings.Contains(a.Error, `until condition "1 / (_DONE - 2) > 5"`) {
		t.Errorf("count is %s: %s", a.State, a.Error)
	}
	r = bundleRun(t, counting(", failed: 1 / counted > 5"), `"s0", "s1"`, "count[1]: [{output: {counted: 1}}]")
	wantStates(t, r, "count running{2 1 0 0 1}", "count[0] in-error", "count[1] terminated", "bad inactive", "good inactive")
}

// What the elements give together is held to the limit of a container.
func TestN21ResultsThatAreTooLarge(t *testing.T) {
	large := strings.Repeat("x", 600_000)
	r := bundleRun(t, counting(""), `"s0", "s1"`, "count: [{output: {shop: "+large+"}}]")
	if a := r.Activities[0]; a.State != InError || !strings.Contains(a.Error, "above the limit of a container") {
		t.Errorf("count is %s: %s", a.State, a.Error)
	}
}

// exit, feedback and attempts are those of one execution.
func TestN21LoopsOfElements(t *testing.T) {
	text := strings.Replace(counting(", exit: counted > 1"), "data:\n", "data:\n  - count -> count: {shop: shop}\n", 1)
	r := bundleRun(t, text, `"s0", "s1"`, `{"count[0]": [{output: {shop: again, counted: 1}}, {output: {counted: 2}}], "count[1]": [{output: {counted: 9}}]}`)
	each := r.Activities[0].Each
	if got := []int{each[0].Iterations, each[1].Iterations}; !slices.Equal(got, []int{2, 1}) {
		t.Errorf("iterations %v", got)
	}
	if got, _ := each[0].Input.MarshalJSON(); string(got) != `{"shop":"again"}` {
		t.Errorf("the input of the second iteration is %s", got)
	}
}

// The work of a call is done at the node that its input names (N20).
func TestN20At(t *testing.T) {
	at := ", at: {node: shop, of: shops}"
	var calls []string
	p := loadAll(t, counting(at))[0]
	input, err := container.DecodeJSON(p.Input, []byte(`{"shops": ["s3", "x", "s1"]}`))
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(p, input, ProgramFunc(func(a *definition.Activity, c Call) Outcome {
		calls = append(calls, c.Scope.Path(a.Name)+" at "+c.Node)
		return Echo(c.Input, a.Output)
	}), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"count[0] at s3", "count[2] at s1"}, calls); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	wrong := r.Activities[0].Each[1]
	if want := `at: "x" is none of the nodes at which count may be done: s0, s1, s2, s3, s4`; wrong.State != InError || wrong.Error != want {
		t.Errorf("count[1] is %s: %s, want %s", wrong.State, wrong.Error, want)
	}
	if each := r.Activities[0].Each; each[0].At != "s3" || each[0].Node != "A" || each[1].At != "" {
		t.Errorf("%+v", each)
	}
}

const lines = `
process: lines
version: 1
structures:
  Order: {shops: [string]}
  Line:  {item: string, tries: int}
  Lines: {lines: [Line]}
input: Order
output: Lines
activities:
  line:
    node: A
    for_each: item
    input: Line
    output: Line
    exit: tries > 1
    activities:
      pick: {node: B, program: pick, input: Line, output: Line}
      pack: {node: A, process: pack, input: Line}
    control:
      - pick -> pack: tries > 0
    data:
      - source -> pick
      - source -> pack
      - pick -> sink
data:
  - source -> line: {item: shops}
  - line -> sink: {lines: _RESULTS}
---
process: pack
version: 1
structures:
  Line:  {item: string, tries: int}
input: Line
activities:
  look: {node: A, program: look, input: Line}
data: [source -> look]
`

// A block for each element is repeated in each; results of what is inside are named by element and iteration.
func TestN21BlocksForEachElement(t *testing.T) {
	results := `{pick: [{output: {tries: 1}}], "line[1]#2/pick": [{output: {tries: 5}}], "line#3/pick": [{output: {tries: 3}}], "line[1]#2/pack/look": [{rc: 0}]}`
	r := bundleRun(t, lines, `"a", "b"`, results)
	wantStates(t, r,
		"line terminated{2 2 0 0 0}",
		"line[0] terminated", "line[0]#1/pick terminated", "line[0]#1/pack terminated", "line[0]#2/pick terminated", "line[0]#2/pack terminated", "line[0]#3/pick terminated", "line[0]#3/pack terminated",
		"line[1] terminated", "line[1]#1/pick terminated", "line[1]#1/pack terminated", "line[1]#2/pick terminated", "line[1]#2/pack terminated",
		`{"lines":[{"item":"","tries":3},{"item":"","tries":5}]}`)
	var family []string
	for a := range r.Family() {
		if a.Activity == "look" {
			family = append(family, a.Path())
		}
	}
	if diff := cmp.Diff([]string{"line[0]#1/pack#1/look", "line[0]#2/pack#1/look", "line[0]#3/pack#1/look", "line[1]#1/pack#1/look", "line[1]#2/pack#1/look"}, family); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for path, want := range map[string]string{"line": "line[0] line[1]", "line[1]": "line[1]#2/pick line[1]#2/pack", "line[0]#1": "line[0]#1/pick line[0]#1/pack"} {
		shown, err := r.In(path)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, a := range shown {
			got = append(got, a.Path())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("in %s are %v, want %s", path, got, want)
		}
	}
	for path, want := range map[string]string{
		"line[2]":   "line has 2 elements, the last is line[1]",
		"line[0]#9": "line[0] has come to iteration 3: write line[0]#3",
		"line#2":    "line#2: a bundle has elements, which count from 0: write line[0]",
		"line[x]":   "line[x]: a bundle has elements, which count from 0: write line[0]",
		"pick":      "pick is no block, so nothing is inside it",
	} {
		if _, err := r.In(path); err == nil || err.Error() != want {
			t.Errorf("in %s: %v, want %s", path, err, want)
		}
	}
}

func TestResultsOfNoElement(t *testing.T) {
	p := loadAll(t, lines)
	for key, want := range map[string]string{
		"line[0]":             "line is a block and runs no program",
		"pick[1]":             "pick is in the block line, which has iterations: write line#1/pick",
		"line[1]/pick":        "pick is in the block line, which has iterations: write line[1]#1/pick",
		"line[100000]#1/pick": "line[100000]: a list has at most 100000 elements, which count from 0",
		"pack/look[1]":        "look is in the subprocess pack, which has iterations: write",
	} {
		_, err := ParseResults(p[0], []byte(fmt.Sprintf("%q: [{rc: 0}]", key)), p...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", key, err, want)
		}
	}
	p = loadAll(t, counting(""))
	for path, want := range map[string]string{"count#2": "count[2]", "count[-1]": "count[0]", "count[x]": "count[0]"} {
		if _, err := ParseResults(p[0], []byte(`"`+path+`": [{rc: 0}]`)); err == nil || !strings.Contains(err.Error(), "count has elements, which count from 0: write "+want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := ParseResults(p[0], []byte(`"count[1]": [{cancelled: true}]`)); err == nil || !strings.Contains(err.Error(), "nothing cancels count") {
		t.Error(err)
	}
}

// A result of an element beyond the list is told at its place once the list is known; of what has not run
// nothing is said.
func TestResultsBeyondTheList(t *testing.T) {
	p := loadAll(t, counting(""))
	for _, tc := range []struct{ shops, results, want string }{
		{`["x", "y"]`, "\"count[1]\": [{rc: 0}]", ""},
		{`["x", "y"]`, "\n\"count[2]\": [{rc: 0}]", "results: 2:1: count[2]: the list of count had 2, and elements count from 0: the last is count[1]"},
		{`[]`, "\"count[0]\": [{rc: 0}]", "results: 1:1: count[0]: the list of count had 0, and elements count from 0: remove it, or give the list elements"},
	} {
		programs, err := ParseResults(p[0], []byte(tc.results))
		if err != nil {
			t.Fatal(err)
		}
		if err := Unused(programs); err != nil {
			t.Errorf("%s: before the run: %v", tc.results, err)
		}
		for range 2 { // a run leaves nothing to the next
			input, err := container.DecodeJSON(p[0].Input, []byte(`{"shops": `+tc.shops+`}`))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Run(p[0], input, programs, Options{Processes: p}); err != nil {
				t.Fatal(err)
			}
			if err := Unused(programs); tc.want == "" && err != nil || tc.want != "" && fmt.Sprint(err) != tc.want {
				t.Errorf("%s of %s: %v, want %s", tc.results, tc.shops, err, tc.want)
			}
		}
	}
}

// Who runs a process says how far a bundle came: which had returned before until held (N14).
type came struct {
	Programs
	Came
	cancelled []int
}

func (c came) Bundle(*definition.Activity, Scope) (Came, bool) { return c.Came, true }

func (c came) Race(a *definition.Activity, at At) Race {
	for _, n := range c.cancelled {
		if at.Scope == Scope("").element(a.Name, n) && at.Iteration > 0 {
			return Race{First: Around}
		}
	}
	return Race{}
}

func TestN14HowFarABundleCame(t *testing.T) {
	p := loadAll(t, counting(", until: _FAILED > 0, failed: counted > 2, on_rc: continue"))[0]
	input, err := container.DecodeJSON(p.Input, []byte(`{"shops": ["a", "b", "c", "d", "e"]}`))
	if err != nil {
		t.Fatal(err)
	}
	programs := ProgramFunc(func(a *definition.Activity, c Call) Outcome {
		o := Echo(c.Input, a.Output)
		if c.Scope == "count[2]" {
			o.Output.Fields[1] = int64(7)
		}
		return o
	})
	run := func(c came) (*Result, error) {
		c.Programs = programs
		return Run(p, input, c, Options{})
	}
	r, err := run(came{Came: Came{Begun: 4, Returned: []int{1, 2}}, cancelled: []int{0}})
	if err != nil {
		t.Fatal(err)
	}
	wantStates(t, r, "count terminated{5 2 1 3 0}", "count[0] cancelled", "count[1] terminated", "count[2] terminated", "count[3] terminated", "bad terminated", "good skipped",
		`{"counts":[{"shop":"","counted":0},{"shop":"b","counted":0},{"shop":"c","counted":7},{"shop":"","counted":0},{"shop":"","counted":0}],"errors":["cancelled","","","cancelled","cancelled"],"codes":[-1,0,0,-1,-1],"all":5,"done":2,"failed":1}`)
	for what, c := range map[string]came{
		"count[0]: what cancels it cannot have come first": {Came: Came{Begun: 4, Returned: []int{1, 3}}, cancelled: []int{0}},
		"count: its element 0 cannot have returned":        {Came: Came{Begun: 4, Returned: []int{0, 2}}, cancelled: []int{0}},
		"count: its element 4 cannot have returned":        {Came: Came{Begun: 4, Returned: []int{4, 2}}},
		"count: 9 of its elements cannot have begun":       {Came: Came{Begun: 9, Returned: []int{2}}},
	} {
		if _, err := run(c); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%v: want %s", err, what)
		}
	}
}

const cancelling = `
process: stock
version: 1
structures:
  Plan:   {shops: [string]}
  Visit:  {shop: string}
input: Plan
activities:
  around:
    node: A
    input: Plan
    on_error: continue
    activities:
      count: {node: A, program: count, for_each: shop, input: Visit, parallel: 3}
    data:
      - source -> count: {shop: shops}
  count2: {node: A, program: count, for_each: shop, input: Visit}
  quick:  {node: A, program: quick, cancels: [count2]}
  after:  {node: A, program: after}
control:
  - around -> after: _ERROR != ""
data:
  - source -> around
  - source -> count2: {shop: shops}
`

// A block that goes on after errors catches that of an element; what cancels a bundle cancels its elements.
func TestN25BundlesAreCancelled(t *testing.T) {
	r := bundleRun(t, cancelling, `"a", "b"`, `{"count[1]": [{error: broken}], "count2[1]": [{cancelled: true}]}`)
	wantStates(t, r,
		"around terminated", "around#1/count cancelled{2 1 0 1 0}", "around#1/count[0] terminated", "around#1/count[1] cancelled",
		"count2 cancelled{2 1 0 1 0}", "count2[0] terminated", "count2[1] cancelled", "quick terminated", "after terminated", "{}")
	if got := r.Activities[0].Failure; got != "count: broken" {
		t.Errorf("_ERROR is %q", got)
	}
}

const awaiting = `
process: multi
version: 1
structures:
  In: {shops: [string]}
  Job: {job: string}
  Arrival: {serial: string}
  Say: {job: string, serial: string}
  Out: {got: [Arrival], failed: int}
events: {part: Arrival}
input: In
output: Out
starts: [A]
activities:
  arrival: {node: A, for_each: job, parallel: 1, receive: {event: part, key: job}, input: Job, output: Arrival, deadline: {after: 1h}}
  tell:
    node: A
    for_each: job
    input: Job
    activities:
      late: {node: A, program: late}
      say:  {node: A, send: {event: part, key: job}, input: Say}
    control: [late -> say]
    data:
      - source -> say: {job: job, serial: job}
data:
  - source -> arrival: {job: shops}
  - source -> tell: {job: shops}
  - arrival -> sink: {got: _RESULTS, failed: _FAILED}
`

// N24: elements may wait for events, and go on when these have come; each has its own deadline.
func TestElementsWaitForEvents(t *testing.T) {
	for _, c := range []struct {
		name, results string
		want          []string
	}{
		{"sent later", ``, []string{"x", "y", "z"}},
		{"one is never sent", `"tell[1]#1/late": [{error: away}]`, []string{"x", "deadline", "z"}},
		{"from outside", `{"tell[1]#1/late": [{error: away}], "arrival[1]": [{event: part, output: {serial: S}}]}`, []string{"x", "S", "z"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for a := range bundleRun(t, awaiting, `"x", "y", "z"`, c.results).All() {
				switch {
				case a.Activity != "arrival" || a.Scope == "":
				case a.TimedOut:
					got = append(got, "deadline")
				case a.State == Terminated:
					serial, _ := a.Output.Fields[0].(string)
					got = append(got, serial)
				}
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// N21: an element of the list that has not begun is told of as nodes do: it is inactive, or what is inside of it is.
func TestN21AnElementThatHasNotBegun(t *testing.T) {
	for _, tc := range []struct{ text, results, path, want string }{
		{counting(", parallel: 1"), `{count: [{error: x}]}`, "count[2]", `"scope":"count","activities":[{"activity":"count","scope":"count[2]","kind":"program","node":"A","state":"inactive"}]`},
		{lines, `{pick: [{error: x}, {error: x}, {error: x}]}`, "line[5]", "error: line has 3 elements, the last is line[2]"},
		{
			strings.Replace(lines, "for_each: item", "for_each: item\n    parallel: 1", 1), `{pick: [{error: x}]}`, "line[1]",
			`"scope":"line[1]","activities":[{"activity":"pick","scope":"line[1]","kind":"program","node":"B","state":"inactive"},{"activity":"pack","scope":"line[1]","kind":"process","node":"A","state":"inactive"}]`,
		},
	} {
		r := bundleRun(t, tc.text, `"a", "b", "c"`, tc.results)
		got := ""
		if shown, err := r.In(tc.path); err != nil {
			got = "error: " + err.Error()
		} else if b, err := StatusJSONOf(r, shown); err != nil {
			t.Fatal(err)
		} else {
			got = string(b)
		}
		if !strings.Contains(got, tc.want) {
			t.Errorf("in %s is %s\nwant %s", tc.path, got, tc.want)
		}
	}
}
