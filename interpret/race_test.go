package interpret

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fmqm/definition"
)

// raced are programs whose races come out as is said.
type raced struct {
	Programs
	race func(a *definition.Activity, at At) Race
}

func (r raced) Race(a *definition.Activity, at At) Race { return r.race(a, at) }

// runRaced runs p with programs of results, and with races told by path, iteration and attempt:
// "check 1.2", and "check 1.2 in error".
func runRaced(t *testing.T, p *definition.Process, results string, races map[string]Race) (*Result, error) {
	t.Helper()
	programs := parsed(t, p, results)
	return Run(p, nil, raced{ProgramFunc(programs.Run), func(a *definition.Activity, at At) Race {
		key := fmt.Sprintf("%s %d.%d", at.Scope.Path(a.Name), at.Iteration, at.Attempt)
		if at.InError {
			key += " in error"
		}
		return races[key]
	}}, Options{})
}

// N20, N25: a call that is cancelled while the result of its work is on its way is cancelled, also where it would have gone
// on after what that has failed with.
func TestN20ACallIsOvertakenByWhatCancelsIt(t *testing.T) {
	p := loadAll(t, `
process: p
version: 1
structures:
  In: {at: string}
input: In
activities:
  a: {node: A, program: p, input: In, at: {node: at, of: [B, C]}, on_error: continue}
  c: {node: A, program: p, cancels: [a]}
data: [source -> a]
`)[0]
	for _, results := range []string{`{}`, `{a: [{error: broken}]}`, `{a: [{rc: 2}]}`} {
		for overtaken, want := range map[bool]State{true: Cancelled, false: Terminated} {
			programs := raced{ProgramFunc(parsed(t, p, results).Run), func(a *definition.Activity, at At) Race {
				if overtaken && at.Back {
					return Race{First: Canceller}
				}
				return Race{}
			}}
			r, err := Run(p, input(t, p, `{"at": "B"}`), programs, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Activities[0].State; got != want {
				t.Errorf("%s, overtaken: %t: a is %s, want %s", results, overtaken, got, want)
			}
		}
	}
}

// N20, N23: a call that its deadline ends before there was room to begin its work is done nowhere.
func TestN20ACallThatWasNotBegunIsDoneNowhere(t *testing.T) {
	p := loadAll(t, `
process: p
version: 1
activities:
  a: {node: A, program: p, deadline: {after: 1m}, at: {node: '"B"', of: [B]}}
  c: {node: A, program: p}
control:
  - a -> c: _TIMEOUT
`)[0]
	for unbegun, want := range map[bool]string{true: "", false: "B"} {
		r, err := runRaced(t, p, `{}`, map[string]Race{"a 1.1": {First: Deadline, Unbegun: unbegun}})
		if err != nil {
			t.Fatal(err)
		}
		if a := r.Activities[0]; !a.TimedOut || a.At != want {
			t.Errorf("unbegun: %t: it has ended at its deadline: %t; it was done at %q, want %q", unbegun, a.TimedOut, a.At, want)
		}
	}
}

// N14, N24: what is in a composite, and has got an event, got it before anything ended the composite or itself, also where
// the event is sent later in the order of the run: even once a deadline that comes before it has come.
func TestN24AnEventComesBeforeWhatEndsAComposite(t *testing.T) {
	for _, tc := range []struct {
		kind, way, in string
		first         []First
	}{
		{"deadline: {after: 1m}", "b -> d: _TIMEOUT", "b#1", []First{Itself, Deadline, Canceller}},
		{"for_each: n, input: In", "b -> d\ndata:\n  - source -> b: {n: n}", "b[0]#1", []First{Itself, Canceller}},
	} {
		p := loadAll(t, fmt.Sprintf(`
process: p
version: 1
structures:
  In: {n: int}
  List: {n: {type: [int], default: [1]}}
input: List
events: {e: In}
activities:
  b:
    node: A
    %s
    activities:
      i: {node: A, receive: {event: e}, deadline: {after: 1m}}
      j: {node: A, program: p}
      k: {node: A, program: p}
    control:
      - i -> j
      - i -> k: _TIMEOUT
  d: {node: A, program: p}
  c: {node: A, program: p, cancels: [b]}
  f: {node: A, receive: {event: e, key: '"f"'}, deadline: {after: 1h}}
  s: {node: A, send: {event: e}}
control:
  - c -> f
  - f -> s: _TIMEOUT
  - %s
`, strings.ReplaceAll(tc.kind, ", ", "\n    "), tc.way))[0]
		for _, first := range tc.first {
			r, err := runRaced(t, p, `{}`, map[string]Race{
				"b 1.1": {First: first}, tc.in + "/i 1.1": {Got: &Got{Event: "e", From: "s"}},
			})
			if err != nil {
				t.Fatalf("%s, %v: %v", tc.kind, first, err)
			}
			ran := false
			for a := range r.All() {
				ran = ran || a.Activity == "i"
				if a.Activity == "i" && (a.State != Terminated || a.Event != "e" || a.TimedOut) {
					t.Errorf("%s %s, %v: i is %s, with %q, timeout: %t", a.Path(), tc.kind, first, a.State, a.Event, a.TimedOut)
				}
			}
			if !ran {
				t.Errorf("%s, %v: there is no i", tc.kind, first)
			}
		}
	}
}

// N21, N25: a block for each element that is cancelled before it has begun one is cancelled with all that is inside.
func TestN25ABundleWithoutElementsIsCancelledWithItsInside(t *testing.T) {
	p := loadAll(t, `
process: p
version: 1
structures:
  In: {n: int}
activities:
  b:
    node: A
    input: In
    for_each: n
    activities:
      i: {node: A, program: p}
  c: {node: A, program: p, cancels: [b]}
`)[0]
	r, err := runRaced(t, p, `{}`, map[string]Race{"b 1.1": {First: Canceller}})
	if err != nil {
		t.Fatal(err)
	}
	b := r.Activities[0]
	if b.State != Cancelled || len(b.Inside) != 1 || b.Inside[0][0].State != Cancelled {
		t.Errorf("b is %s, inside of it: %+v", b.State, b.Inside)
	}
}

// N6, N25: what is on a dead path that somebody has passed on may hear of a cancel before it does of that: when a block,
// whose last iteration has come to its end so, is in error and ends at its deadline.
func TestN25ADeadPathIsCancelledOnceItsBlockIsInError(t *testing.T) {
	p := loadAll(t, `
process: p
version: 1
structures:
  S: {n: int}
activities:
  e:
    node: A
    output: S
    exit: n > 1
    max_iterations: 1
    deadline: {after: 1m}
    activities:
      x: {node: A, program: p, output: S}
      y: {node: C, program: p}
    control: [x -> y: n > 5]
    data: [x -> sink]
  late: {node: A, program: p}
control: [e -> late: _TIMEOUT]
`)[0]
	r, err := runRaced(t, p, `{}`, map[string]Race{
		"e#1/y 0.0":      {First: Canceller, Dead: true},
		"e 1.2 in error": {First: Deadline},
	})
	if err != nil {
		t.Fatal(err)
	}
	e := r.Activities[0]
	if y := e.Inside[0][1]; e.State != Terminated || !e.TimedOut || y.State != Cancelled {
		t.Errorf("e is %s, timed out %t, and y %s: want terminated, true and cancelled", e.State, e.TimedOut, y.State)
	}
	if late := r.Activities[1].State; late != Terminated {
		t.Errorf("late is %s", late)
	}
}

// N14: whoever knows how the races of a run came out says it, and how far an execution had come.
func TestRaces(t *testing.T) {
	const looping = `
activities:
  a: {node: A, program: p, output: S, exit: n > 1, retry: {attempts: 2}}
  b: {node: A, program: p}
  c: {node: A, program: p}
control: [a -> b]
`
	for _, tc := range []struct {
		rule          string
		process, ends string
		inside        blocks
		results       string
		races         map[string]Race
		want          string
	}{
		{
			"in an iteration and an attempt", looping, "a: deadline", nil, `{a: [{error: x}, {}, {error: x}]}`,
			map[string]Race{"a 2.2": {First: Deadline}},
			`finished {"n":0,"s":"","b":false,"l":[]} a:2 a timed out, -1`,
		},
		{
			"in error", looping, "c: cancels a", nil, `{a: [{}, {error: x}]}`,
			map[string]Race{"a 2.3 in error": {First: Canceller}},
			`finished {"n":0,"s":"","b":false,"l":[]} a:cancelled b:skipped`,
		},
		{
			"before it was decided", looping, "c: cancels b", nil, `{a: [{output: {n: 2}}]}`,
			map[string]Race{"b 0.0": {First: Canceller}},
			`finished {"n":0,"s":"","b":false,"l":[]} b:cancelled`,
		},
		{
			"of a block, when nothing inside goes on", stages, stagesEnd, inStages, `{ask: [{output: {n: 2}}]}`,
			map[string]Race{"documents 2.1": {First: Deadline}, "documents#2/ask 1.1": {First: Around}},
			`finished {"n":0,"s":"","b":true,"l":[]} documents:2 documents#2/ask:cancelled documents timed out, -1`,
		},
		{
			"of a block that stands in error", strings.Replace(stages, "n >= 3", "1 / n > 0", 1), stagesEnd, inStages, ``,
			map[string]Race{"documents 1.2 in error": {First: Deadline}},
			`finished {"n":0,"s":"","b":true,"l":[]} documents timed out, -1`,
		},
		{
			"which error a block has caught", stages, stagesEnd, inStages, `{check: [{error: x}], look: [{error: y}]}`,
			map[string]Race{"documents 1.1": {Caught: "look: y, as the node writes it"}},
			`finished {"n":0,"s":"look: y, as the node writes it","b":false,"l":[]} documents#1/check:cancelled documents#1/ask:cancelled documents#1/look:cancelled ` +
				`documents failed, -1: look: y, as the node writes it`,
		},
		{
			"that the block around it had ended what something else cancels too", stages, stagesEnd + "look: cancels check", inStages, `{}`,
			map[string]Race{"documents#1/check 1.1": {First: Around}, "documents 1.1": {First: Deadline}},
			`finished {"n":0,"s":"","b":true,"l":[]} documents#1/check:cancelled documents#1/ask:cancelled documents timed out, -1`,
		},
		{
			"of what is cancelled one after the other, in whichever order", rivals, "c: cancels b, a", nil, `{a: [{error: x}]}`,
			map[string]Race{"a 1.2 in error": {First: Canceller}},
			`finished {"n":0,"s":"","b":false,"l":[]} a:cancelled b:skipped`,
		},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			r, err := runRaced(t, endings(t, loadBlocks(t, tc.process, tc.inside), tc.ends), tc.results, tc.races)
			if err != nil {
				t.Fatal(err)
			}
			if got := told(t, r); got != tc.want {
				t.Errorf("%s\nwant %s", got, tc.want)
			}
		})
	}
}

// N14: outcomes that cannot be are refused, all of them, each with its execution.
func TestImpossibleRaces(t *testing.T) {
	const cancels = "what cancels it cannot have come first: nothing that cancels it has run, and no block around it has ended early: have one do so, or let it end by itself"
	for _, tc := range []struct {
		rule    string
		process string
		inside  blocks
		ends    string
		results string
		races   map[string]Race
		want    []string
	}{
		{
			"a deadline that there is not", rivals, nil, "", "",
			map[string]Race{"c 1.1": {First: Deadline}},
			[]string{"c: its deadline cannot have come first: it has none, or none was set"},
		},
		{
			"a deadline before it was set", rivals, nil, "c: deadline", "",
			map[string]Race{"c 0.0": {First: Deadline}},
			[]string{"c: its deadline cannot have come first: it has none, or none was set"},
		},
		{
			"nothing cancels it", rivals, nil, "a: cancels c", "",
			map[string]Race{"a 1.1": {First: Canceller}, "b 0.0": {First: Canceller}},
			[]string{"a: " + cancels},
		},
		{
			"each has cancelled the other", rivals, nil, "a: cancels c\nc: cancels a", "",
			map[string]Race{"a 1.1": {First: Canceller}, "c 1.1": {First: Canceller}},
			[]string{"a: " + cancels, "c: " + cancels},
		},
		{
			"what cancels it was skipped", strings.Replace(rivals, "start -> a", "start -> a: b", 1), nil, "a: cancels c", "",
			map[string]Race{"c 1.1": {First: Canceller}},
			[]string{"c: " + cancels},
		},
		{
			"no block around it has ended early", stages, inStages, "look: cancels check", "",
			map[string]Race{"documents#1/check 1.1": {First: Around}},
			[]string{"documents#1/check: " + cancels},
		},
		{
			"a block has caught what was not in error", stages, inStages, stagesEnd, "{check: [{error: x}]}",
			map[string]Race{"documents 1.1": {Caught: "look: y"}},
			[]string{`documents: it cannot have caught "look: y": in error inside of it is check: x`},
		},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			_, err := runRaced(t, endings(t, loadBlocks(t, tc.process, tc.inside), tc.ends), tc.results, tc.races)
			if want := "run p@1: " + strings.Join(tc.want, "\n"); err == nil || err.Error() != want {
				t.Errorf("%v\nwant %s", err, want)
			}
		})
	}
}

// drawEndings gives some of the activities of a drawn process deadlines and, where more is asked
// for, errors as paths and others that they cancel.
func drawEndings(t *rapid.T, g *definition.Graph, more bool) {
	for _, a := range g.Activities {
		if rapid.IntRange(0, 2).Draw(t, "deadline") == 0 {
			a.Deadline = &definition.Moment{Fixed: 1}
		}
		a.Continues = more && rapid.IntRange(0, 2).Draw(t, "on_error") == 0
		for _, other := range g.Activities {
			if more && other != a && rapid.IntRange(0, 3).Draw(t, "cancels") == 0 && !comesAfter(g, a.Name, other.Name) {
				a.Cancels = append(a.Cancels, other.Name)
			}
		}
		if a.Block != nil {
			drawEndings(t, a.Block, more)
		}
	}
}

// comesAfter says whether a path leads from one activity to another.
func comesAfter(g *definition.Graph, from, to string) bool {
	return slices.ContainsFunc(g.Control, func(c *definition.Control) bool {
		return c.Source == from && (c.Target == to || comesAfter(g, c.Target, to))
	})
}

// N22, N23, N25: deadlines change nothing of a run in which they come too late; nor does what
// cancels, or goes on after errors, where there is no error.
func TestWhatComesTooLateChangesNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p, programs := drawBlocks(rt, "t", 2), drawn(rapid.IntRange(0, 1<<20).Draw(rt, "seed"))
		want := mustRun(rt, p, nil, programs)
		drawEndings(rt, &p.Graph, want.State == Finished)
		if got := mustRun(rt, p, nil, programs); dump(got) != dump(want) {
			rt.Fatalf("%s\nwithout: %s", dump(got), dump(want))
		}
	})
}

// dump writes all that became of an instance.
func dump(r *Result) string {
	text := string(r.State)
	for a := range r.All() {
		text += "\n" + a.Path() + " " + executed(a)
	}
	return text
}

// anyRace says at random how an execution's race comes out.
func anyRace(seed int, a *definition.Activity, at At) Race {
	h := seed
	for _, c := range fmt.Sprintf("%s %d %d %v", at.Scope.Path(a.Name), at.Iteration, at.Attempt, at.InError) {
		h = (h*31 + int(c)) % 1_000_003
	}
	switch {
	case h%7 == 0 && a.Deadline != nil && at.Iteration > 0:
		return Race{First: Deadline}
	case h%5 == 0:
		return Race{First: Canceller}
	}
	return Race{}
}

// replayed are programs with the outcomes that an earlier run came to: for each execution in
// which iteration, after how many attempts, and whether in error, it ended otherwise than by itself.
type replayed struct {
	Programs
	ended   map[string]*ActivityResult // by path
	made    map[string]int             // attempts
	after   map[string]int             // of the earlier run
	inError map[string]bool            // in the earlier run, when something came first
}

func (r *replayed) Run(a *definition.Activity, call Call) Outcome {
	r.made[call.Scope.Path(a.Name)]++
	return r.Programs.Run(a, call)
}

func (r *replayed) Race(a *definition.Activity, at At) Race {
	path := at.Scope.Path(a.Name)
	ended := r.ended[path]
	if ended == nil || at.Iteration < ended.Iterations || r.made[path] < r.after[path] || r.inError[path] && !at.InError {
		return Race{}
	}
	switch {
	case ended.TimedOut && r.inError[path] == at.InError: // else its conditions about that have failed
		return Race{First: Deadline}
	case ended.State != Cancelled:
		return Race{Caught: ended.Failure}
	case slices.ContainsFunc(r.around(ended), func(other string) bool { return ended.Error == other+" has ended, and cancels it" }):
		return Race{First: Canceller}
	}
	return Race{First: Around}
}

// around are the activities of the same graph.
func (r *replayed) around(a *ActivityResult) (names []string) {
	for _, other := range r.ended {
		if other.Scope == a.Scope {
			names = append(names, other.Activity)
		}
	}
	return names
}

// N14: what a run came to, told as the outcomes of its races, gives the same run again. What has
// ended early has nothing inside that has not ended.
func TestOutcomesGiveTheSameRun(t *testing.T) {
	var possible, early int
	rapid.Check(t, func(rt *rapid.T) {
		p, seed := drawBlocks(rt, "t", 2), rapid.IntRange(0, 1<<20).Draw(rt, "seed")
		drawEndings(rt, &p.Graph, true)
		told := &replayed{Programs: drawn(seed), ended: map[string]*ActivityResult{}, made: map[string]int{}, after: map[string]int{}, inError: map[string]bool{}}
		lost := map[string]bool{}
		first, err := Run(p, nil, raced{drawn(seed), func(a *definition.Activity, at At) Race {
			race, path := anyRace(seed, a, at), at.Scope.Path(a.Name)
			if !lost[path] {
				told.inError[path], lost[path] = at.InError, race.First != Itself
			}
			return race
		}}, Options{Observe: func(a *definition.Activity, call Call, _ Outcome) {
			told.after[call.Scope.Path(a.Name)]++
		}})
		if err != nil {
			return // some of it cannot be
		}
		possible++
		for a := range first.All() {
			told.ended[a.Path()] = a
			if a.State == Cancelled || a.TimedOut || a.Failure != "" {
				early++
				endedInside(rt, a)
			}
		}
		again, err := Run(p, nil, told, Options{})
		if err != nil {
			rt.Fatalf("%v\nof\n%s", err, dump(first))
		}
		if dump(again) != dump(first) {
			rt.Fatalf("again\n%s\nfirst\n%s", dump(again), dump(first))
		}
	})
	if possible == 0 || early == 0 {
		t.Errorf("of all runs %d had outcomes that can be, and %d executions ended early", possible, early)
	}
}

func endedInside(t *rapid.T, a *ActivityResult) {
	for _, inside := range a.Inside {
		for _, inner := range inside {
			if inner.State != Terminated && inner.State != Skipped && inner.State != Cancelled {
				t.Fatalf("%s is %s, and %s inside of it %s", a.Path(), a.State, inner.Path(), inner.State)
			}
			endedInside(t, &inner)
		}
	}
}
