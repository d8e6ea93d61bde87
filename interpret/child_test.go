package interpret

import (
	"fmt"
	"strings"
	"testing"

	"fmqm/container"
	"fmqm/definition"
)

// families reads processes of which the first is run, and begins the others.
func families(t testing.TB, text string) []*definition.Process {
	t.Helper()
	processes, diagnostics := definition.Load("test.yaml", []byte(text))
	if definition.HasErrors(diagnostics) {
		t.Fatal(diagnostics)
	}
	return processes
}

// tellFamily runs it with results, and writes each execution, also of the instances begun, in a line.
func tellFamily(t testing.TB, processes []*definition.Process, in, results string) string {
	t.Helper()
	programs, err := ParseResults(processes[0], []byte(results), processes...)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(processes[0], input(t, processes[0], in), programs, Options{Processes: processes, Instance: "i"})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", r.State)
	for a := range r.Family() {
		fmt.Fprintf(&b, "%s %s", a.Path(), a.State)
		if a.State == Terminated && len(a.Output.Fields) > 0 {
			fmt.Fprintf(&b, " %s", jsonOf(t, a.Output))
		}
		if why := a.Error + a.Failure; why != "" {
			fmt.Fprintf(&b, ": %s", why)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

const ordered = `
process: order
version: 1
structures:
  Job: {n: int}
  Box: {weight: int}
input: Job
output: Box
activities:
  pack:
    node: A
    process: pack-line
    input: Job
    output: Box
    exit: weight > 0
    retry: {attempts: 2}
    on_error: continue
    deadline: {after: 1h}
  hand: {node: A, program: hand, output: Box}
  end:  {node: A, program: end, start: any}
control:
  - pack -> end: '_ERROR == "" && !_TIMEOUT'
  - pack -> hand: otherwise
  - hand -> end
data:
  - source -> pack
  - pack -> sink
  - hand -> sink
---
process: pack-line
version: 2
structures:
  In:  {n: int}
  Out: {weight: int}
input: In
output: Out
activities:
  look: {node: A, program: look, input: In, output: In}
  box:
    node: A
    input: In
    output: Out
    activities:
      fill: {node: A, program: fill, input: In, output: Out}
    data:
      - source -> fill
      - fill -> sink
control:
  - look -> box: n < 100
data:
  - source -> look
  - look -> box
  - box -> sink
`

// N19: each attempt of a subprocess is an instance; what that comes to is its output.
func TestASubprocessIsRun(t *testing.T) {
	f := families(t, ordered)
	for _, tc := range []struct{ name, results, want string }{
		{"by its path", "{pack/box#1/fill: [{output: {weight: 3}}]}", `finished
pack terminated {"weight":3}
pack#1/look terminated {"n":7}
pack#1/box terminated {"weight":3}
pack#1/box#1/fill terminated {"weight":3}
hand skipped
end terminated
`},
		{"by its name, and again", "{fill: [{}], pack#2/box#1/fill: [{output: {weight: 1}}]}", `finished
pack terminated {"weight":1}
pack#1/look terminated {"n":7}
pack#1/box terminated {"weight":0}
pack#1/box#1/fill terminated {"weight":0}
pack#2/look terminated {"n":7}
pack#2/box terminated {"weight":1}
pack#2/box#1/fill terminated {"weight":1}
hand skipped
end terminated
`},
		{"something in it is in error", "{look: [{error: lost}]}", `in-error
pack running
pack#1/look in-error: lost
pack#1/box inactive
hand inactive
end inactive
`},
		{"its deadline comes first", "{pack: [{timeout: true}]}", `finished
pack terminated {"weight":0}
hand terminated {"weight":0}
end terminated
`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tellFamily(t, f, `{"n": 7}`, tc.results); got != tc.want {
				t.Errorf("got\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
}

// Where its process is not given, a subprocess takes results as a program does, or behaves as echo.
func TestASubprocessThatIsNotGiven(t *testing.T) {
	order := families(t, ordered)[:1]
	for results, want := range map[string]string{
		"{pack: [{output: {weight: 4}}]}":       "pack terminated {\"weight\":4}\n",
		"{pack: [{error: no}, {error: ended}]}": "pack terminated {\"weight\":0}: ended\n",
		"{pack: [{}, {output: {weight: 2}}]}":   "pack terminated {\"weight\":2}\n",
	} {
		if got := tellFamily(t, order, `{"n": 7}`, results); !strings.Contains(got, want) {
			t.Errorf("%s: got\n%s\nwant %s", results, got, want)
		}
	}
}

// An instance that cannot begin is a failed attempt.
func TestASubprocessThatCannotBegin(t *testing.T) {
	misfit := families(t, ordered)
	_, packLine, _ := strings.Cut(ordered, "---\n")
	misfit[1] = families(t, strings.Replace(packLine, "In:  {n: int}", "In:  {n: int, more: int}", 1))[0]
	if got := tellFamily(t, misfit, `{"n": 7}`, ""); !strings.Contains(got, "pack terminated {\"weight\":0}: the input of pack has not the shape of that of pack-line@2: Job has no member more: add it\n") {
		t.Error(got)
	}
	source := families(t, strings.Replace(ordered, "  - look -> box: n < 100\n", "  - look -> box\n  - source -> look: 1 / n > 0\n", 1))
	if got := tellFamily(t, source, `{"n": 0}`, ""); !strings.Contains(got, "pack terminated {\"weight\":0}: it is not started: ") {
		t.Error(got)
	}
}

const recursive = `
process: down
version: 1
structures: {S: {n: int, sum: int}}
input: S
output: S
activities:
  step:  {node: A, program: step, input: S, output: S}
  again: {node: A, process: down, input: S, output: S}
control:
  - step -> again: n > 0
data:
  - source -> step
  - step -> again
  - step -> sink
  - again -> sink
last_wins: [n, sum]
`

// A process may begin itself, as deep as instances may be.
func TestRecursion(t *testing.T) {
	f := families(t, recursive)
	steps := ProgramFunc(func(a *definition.Activity, call Call) Outcome {
		out := container.New(a.Output)
		n, sum := call.Input.Fields[0].(int64), call.Input.Fields[1].(int64)
		out.Fields[0], out.Fields[1] = n-1, sum+n
		return Outcome{Output: out}
	})
	for n, want := range map[int64]string{4: `{"n":0,"sum":10}`, 33: `{"n":0,"sum":561}`} {
		in := container.New(f[0].Input)
		in.Fields[0] = n
		r, err := Run(f[0], in, steps, Options{Processes: f})
		if err != nil || r.State != Finished || jsonOf(t, r.Output) != want {
			t.Errorf("%d: %v %v", n, err, r)
		}
	}
	in := container.New(f[0].Input)
	in.Fields[0] = int64(34)
	r, err := Run(f[0], in, steps, Options{Processes: f})
	if err != nil || r.State != InError {
		t.Fatal(err, r)
	}
	var last *ActivityResult
	deep := 0
	for a := range r.Family() {
		if a.State == InError {
			last = a
		}
		deep = max(deep, strings.Count(a.Path(), "/"))
	}
	if deep != maxDepth || last == nil || !strings.Contains(last.Error, "too deep inside of others: does a process begin itself, with no condition that ends this? 32 are the limit") {
		t.Errorf("%d deep, %+v", deep, last)
	}
}

// N19: where each instance begins several, they are fewer deep: so there are never too many.
func TestAProcessThatBeginsItselfTwice(t *testing.T) {
	for several, want := range map[int]int{1: 32, 2: 1<<11 - 2, 3: 3 + 9 + 27 + 81 + 243 + 729, 9: 9 + 81 + 729} {
		text := "process: p\nversion: 1\nactivities:\n"
		for i := range several {
			text += fmt.Sprintf("  a%d: {node: A, process: p}\n", i)
		}
		f := families(t, text)
		r, err := Run(f[0], nil, EchoAll, Options{Processes: f, LastIterations: true})
		if err != nil || r.State != InError {
			t.Fatal(err, r)
		}
		begun, told := 0, false
		for a := range r.Family() {
			if told = told || strings.Contains(a.Error, "too deep inside of others"); a.State == Running {
				begun++
			}
		}
		if begun != want || !told {
			t.Errorf("of %d each, %d are begun, and not %d; said: %t", several, begun, want, told)
		}
	}
}

// A run ends, however often it begins an instance.
func TestARunEnds(t *testing.T) {
	f := families(t, `
process: p
version: 1
structures: {N: {n: int}}
activities:
  a: {node: A, process: q, output: N, exit: n > 0, max_iterations: 20000}
---
process: q
version: 1
structures: {N: {n: int}}
output: N
activities:
  b: {node: A, empty: true}
`)
	r, err := Run(f[0], nil, EchoAll, Options{Processes: f, LastIterations: true})
	if err != nil || r.State != InError {
		t.Fatal(err, r)
	}
	told := false
	for a := range r.Family() {
		told = told || strings.Contains(a.Error, "this run has begun 10000 instances")
	}
	if !told {
		t.Error("nothing says why")
	}
}

// Results that fit nothing are told at their place.
func TestResultsOfSubprocesses(t *testing.T) {
	f := families(t, ordered)
	for text, want := range map[string]string{
		"{pack: [{output: {weight: 1}}]}":       "1:10: pack is a subprocess, and pack-line is given and run: give the results of what is in it, such as pack/ACTIVITY",
		"{pack/lok: [{}]}":                      "1:2: unknown activity lok: did you mean look?",
		"{nothing: [{}]}":                       "1:2: unknown activity nothing",
		"{hand/look: [{}]}":                     "1:2: unknown activity look",
		"{fill: [{}], pack#1/box#1/fill: [{}]}": "1:14: pack#1/box#1/fill and fill (line 1) begin in the same iteration: remove one",
		"{pack/fill#2: [{}]}":                   "in the block box",
		"{pack#20000/look: [{}]}":               "pack#20000: pack has at most 10000 iterations (max_iterations)",
		"{look: [{rc: one}]}":                   "1:14: look: rc: expected a whole number",
	} {
		_, err := ParseResults(f[0], []byte(text), f...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", text, err, want)
		}
	}
	if _, err := ParseResults(f[0], []byte("{pack: [{rc: 1}]}")); err == nil || !strings.Contains(err.Error(), "the _RC of a subprocess is 0: write output or error") {
		t.Error(err)
	}
}
