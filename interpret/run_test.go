package interpret

import (
	"fmt"
	"strings"
	"testing"

	"fmqm/container"
	"fmqm/definition"
)

func load(t testing.TB, text string) *definition.Process {
	t.Helper()
	ps, ds := definition.Load("test.yaml", []byte(text))
	if definition.HasErrors(ds) || len(ps) != 1 {
		t.Fatalf("Load: %d processes, %v\n%s", len(ps), ds, text)
	}
	return ps[0]
}

func parsed(t testing.TB, p *definition.Process, text string) Programs {
	t.Helper()
	programs, err := ParseResults(p, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return programs
}

func input(t testing.TB, p *definition.Process, text string) *container.Struct {
	t.Helper()
	if text == "" {
		return nil
	}
	s, err := container.DecodeJSON(p.Input, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func run(t testing.TB, p *definition.Process, in, res string) *Result {
	t.Helper()
	r, err := Run(p, input(t, p, in), parsed(t, p, res), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// summary writes a result in one line: the instance's state and output, then every
// activity that is in another state than terminated after one iteration, by its path.
func summary(t testing.TB, r *Result) string {
	t.Helper()
	parts := []string{string(r.State)}
	if r.Output != nil && len(r.Output.Fields) > 0 {
		parts = append(parts, jsonOf(t, r.Output))
	}
	for a := range r.All() {
		switch {
		case a.State != Terminated:
			parts = append(parts, fmt.Sprintf("%s:%s", a.Path(), a.State))
		case a.Iterations != 1:
			parts = append(parts, fmt.Sprintf("%s:%d", a.Path(), a.Iterations))
		}
	}
	return strings.Join(parts, " ")
}

func jsonOf(t testing.TB, s *container.Struct) string {
	t.Helper()
	b, err := container.EncodeJSON(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func activity(t testing.TB, r *Result, path string) ActivityResult {
	t.Helper()
	for a := range r.All() {
		if a.Path() == path {
			return *a
		}
	}
	t.Fatalf("no activity %s", path)
	return ActivityResult{}
}

// N9 and the language: what the exit condition sent back, the feedback gives to the
// next iteration; members without feedback keep what they had.
func TestFeedback(t *testing.T) {
	p := load(t, head+`
activities:
  a: {node: A, program: p, input: S, output: S, exit: n >= 3}
data:
  - source -> a
  - a -> a: {n: n}
  - a -> sink
`)
	var seen []string
	count := ProgramFunc(func(a *definition.Activity, call Call) Outcome {
		seen = append(seen, jsonOf(t, call.Input))
		o := Echo(call.Input, a.Output)
		o.Output.Fields[0] = o.Output.Fields[0].(int64) + 1
		o.Output.Fields[1] = "changed"
		call.Input.Fields[1] = "the program's own copy"
		return o
	})
	r, err := Run(p, input(t, p, `{"s":"kept","l":[5]}`), count, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`{"n":0,"s":"kept","b":false,"l":[5]}`,
		`{"n":1,"s":"kept","b":false,"l":[5]}`,
		`{"n":2,"s":"kept","b":false,"l":[5]}`,
	}
	if fmt.Sprint(seen) != fmt.Sprint(want) {
		t.Errorf("inputs %v\nwant %v", seen, want)
	}
	if got := summary(t, r); got != `finished {"n":3,"s":"changed","b":false,"l":[5]} a:3` {
		t.Error(got)
	}
	if got := jsonOf(t, activity(t, r, "a").Input); got != want[2] {
		t.Errorf("input of the last iteration %s, want %s", got, want[2])
	}
}

func TestFailedAttempts(t *testing.T) {
	for _, tc := range []struct {
		name, activity, results string
		state                   State
		attempts, iterations    int
		rc                      string
		reason                  string
	}{
		{"an error", `a: {node: A, program: p}`, `[{error: no paper}]`, InError, 1, 1, "none", "no paper"},
		{"an error, repeated", `a: {node: A, program: p, retry: {attempts: 3}}`, `[{error: x}, {error: y}, {}]`, Terminated, 3, 1, "0", ""},
		{"too many errors", `a: {node: A, program: p, retry: {attempts: 2}}`, `[{error: x}, {error: y}, {}]`, InError, 2, 1, "none", "y"},
		{"a return code that nothing reads", `a: {node: A, program: p}`, `[{rc: 3}]`, InError, 1, 1, "3", "return code 3, and no condition or mapping of a reads _RC"},
		{"a return code that nothing reads, repeated", `a: {node: A, program: p, retry: {attempts: 2}}`, `[{rc: 3}, {rc: 0}]`, Terminated, 2, 1, "0", ""},
		{"a return code that is data", `a: {node: A, program: p, exit: _RC > 1}`, `[{rc: 1}, {rc: 2}]`, Terminated, 1, 2, "2", ""},
		{"on_rc: continue", `a: {node: A, program: p, on_rc: continue}`, `[{rc: 3}]`, Terminated, 1, 1, "3", ""},
		{"on_rc: error", `a: {node: A, program: p, on_rc: error, exit: _RC == 0}`, `[{rc: 3}]`, InError, 1, 1, "3", "return code 3"},
		{"attempts count for each iteration", `a: {node: A, program: p, exit: _RC == 5, retry: {attempts: 2}}`, `[{error: x}, {rc: 1}, {error: y}, {rc: 5}]`, Terminated, 2, 2, "5", ""},
		{"max_iterations", `a: {node: A, program: p, exit: _RC == 5, max_iterations: 3}`, `[{rc: 1}]`, InError, 1, 3, "1", `exit condition "_RC == 5" still FALSE after 3 iterations (max_iterations)`},
		{"an exit condition that fails", `a: {node: A, program: p, exit: 1 / _RC == 1}`, `[{rc: 0}]`, InError, 1, 1, "0", `exit condition "1 / _RC == 1": evaluate condition "1 / _RC == 1": `},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := load(t, head+"activities:\n  "+tc.activity+"\n")
			a := activity(t, run(t, p, "", "{a: "+tc.results+"}"), "a")
			rc := "none"
			if a.RC != nil {
				rc = fmt.Sprint(*a.RC)
			}
			if a.State != tc.state || a.Attempts != tc.attempts || a.Iterations != tc.iterations || rc != tc.rc {
				t.Errorf("%s, attempts %d, iterations %d, rc %s; want %s, %d, %d, %s",
					a.State, a.Attempts, a.Iterations, rc, tc.state, tc.attempts, tc.iterations, tc.rc)
			}
			if !strings.HasPrefix(a.Error, tc.reason) || tc.reason == "" && a.Error != "" {
				t.Errorf("reason %q, want %q", a.Error, tc.reason)
			}
		})
	}
}

// An output that is not the output container fails the attempt, unless a return code
// other than 0 is data: then it counts as empty.
func TestBadOutput(t *testing.T) {
	other := container.New(container.NewStructure("Other", nil))
	large := func(s *container.Struct) *container.Struct {
		s.Fields[1] = strings.Repeat("x", container.MaxEncoded)
		return s
	}
	for _, tc := range []struct {
		name    string
		onRC    string
		outcome func(s *container.Struct) Outcome
		want    string
	}{
		{"said so", "", func(*container.Struct) Outcome { return Outcome{BadOutput: "not JSON"} }, "in-error: output: not JSON"},
		{"said so, with a return code as data", "continue", func(*container.Struct) Outcome { return Outcome{RC: 1, BadOutput: "not JSON"} }, `terminated: {"n":0,"s":"","b":false,"l":[]}`},
		{"said so, with return code 0 as data", "continue", func(*container.Struct) Outcome { return Outcome{BadOutput: "not JSON"} }, "in-error: output: not JSON"},
		{"of another type", "", func(*container.Struct) Outcome { return Outcome{Output: other} }, "in-error: output: expected S, found Other"},
		{"of another type, with a return code as data", "continue", func(*container.Struct) Outcome { return Outcome{RC: 1, Output: other} }, `terminated: {"n":0,"s":"","b":false,"l":[]}`},
		{"too large", "", func(s *container.Struct) Outcome { return Outcome{Output: large(s)} }, "in-error: output: "},
		{"none", "", func(*container.Struct) Outcome { return Outcome{} }, `terminated: {"n":0,"s":"","b":false,"l":[]}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			onRC := ""
			if tc.onRC != "" {
				onRC = ", on_rc: " + tc.onRC
			}
			p := load(t, head+"activities:\n  a: {node: A, program: p, output: S"+onRC+"}\n")
			r, err := Run(p, nil, ProgramFunc(func(a *definition.Activity, _ Call) Outcome {
				return tc.outcome(container.New(a.Output))
			}), Options{})
			if err != nil {
				t.Fatal(err)
			}
			a := activity(t, r, "a")
			got := string(a.State) + ": " + a.Error
			if a.Output != nil {
				got += jsonOf(t, a.Output)
			}
			if !strings.HasPrefix(got, tc.want) {
				t.Errorf("%s\nwant %s", got, tc.want)
			}
		})
	}
}

// Containers have a limit, also where each part of one is within it.
func TestContainersAreBounded(t *testing.T) {
	half := strings.Repeat("x", container.MaxEncoded/2)
	p := load(t, head+`
activities:
  a: {node: A, program: p, output: Pair}
  b: {node: A, program: p, input: Pair, output: Pair, exit: left.n > 0}
data:
  - a -> b
  - b -> b: {right.s: right.s}
control: [a -> b]
`)
	r, err := Run(p, nil, ProgramFunc(func(a *definition.Activity, _ Call) Outcome {
		o := container.New(a.Output)
		side := 0
		if a.Name == "b" {
			side = 1
		}
		o.Fields[side].(*container.Struct).Fields[1] = half
		return Outcome{Output: o}
	}), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if b := activity(t, r, "b"); b.State != InError || !strings.HasPrefix(b.Error, "encode the next iteration's input: ") {
		t.Errorf("b is %s: %q", b.State, b.Error)
	}

	p = load(t, strings.Replace(head, "output: S", "output: Pair", 1)+`
activities:
  a: {node: A, program: p, output: S}
  b: {node: A, program: p, output: S}
data: [a -> sink: {left.s: s}, b -> sink: {right.s: s}]
`)
	r, err = Run(p, nil, ProgramFunc(func(a *definition.Activity, _ Call) Outcome {
		o := container.New(a.Output)
		o.Fields[1] = half
		return Outcome{Output: o}
	}), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.State != InError || r.Output != nil || !strings.HasPrefix(r.Error, "encode the process's output: ") {
		t.Errorf("%s %q", r.State, r.Error)
	}
}

func TestObserveSeesEveryAttempt(t *testing.T) {
	p := load(t, head+`
activities:
  a: {node: A, program: p, exit: _RC == 0, retry: {attempts: 2}}
  b: {node: A, empty: true}
control: [a -> b]
`)
	var seen []string
	_, err := Run(p, nil, parsed(t, p, `{a: [{rc: 1}, {error: x}, {}]}`), Options{
		Observe: func(a *definition.Activity, call Call, o Outcome) {
			seen = append(seen, fmt.Sprintf("%s %d.%d rc %d %s", a.Name, call.Iteration, call.Attempt, o.RC, o.Err))
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := "[a 1.1 rc 1  a 2.1 rc 0 x a 2.2 rc 0 ]"
	if got := fmt.Sprint(seen); got != want {
		t.Errorf("observed %s, want %s", got, want)
	}
}

func TestRunRefuses(t *testing.T) {
	p := load(t, head+"activities:\n  a: {node: A, program: p}\n")
	wrong := container.New(container.NewStructure("Other", nil))
	if _, err := Run(p, wrong, EchoAll, Options{}); err == nil || !strings.Contains(err.Error(), "run p@1: input: expected S, found Other") {
		t.Errorf("wrong input: %v", err)
	}
	if _, err := Run(nil, nil, EchoAll, Options{}); err == nil {
		t.Error("no process: no error")
	}
	if _, err := Run(p, nil, nil, Options{}); err == nil {
		t.Error("no programs: no error")
	}
	p.Control = append(p.Control, &definition.Control{Source: "a", Target: "nobody"})
	if _, err := Run(p, nil, EchoAll, Options{}); err == nil || !strings.Contains(err.Error(), "control connector a -> nobody: there is no such activity") {
		t.Errorf("unchecked process: %v", err)
	}
	p.Control[0].Target = "a"
	if _, err := Run(p, nil, EchoAll, Options{}); err == nil || !strings.Contains(err.Error(), "its connectors have a cycle") {
		t.Errorf("cycle: %v", err)
	}
}

func TestBuiltins(t *testing.T) {
	in := container.New(container.NewStructure("In", []container.Member{
		{Name: "rc", Type: container.Scalar(container.Int), Default: int64(4)},
		{Name: "n", Type: container.Scalar(container.Int), Default: int64(5)},
	}))
	out := container.NewStructure("Out", []container.Member{
		{Name: "n", Type: container.Scalar(container.Int), Default: int64(1)},
		{Name: "rc", Type: container.Scalar(container.String)},
	})
	for name, want := range map[string]string{
		"noop":  `0 {"n":1,"rc":""}`,
		"echo":  `0 {"n":5,"rc":""}`,
		"sleep": `0 {"n":5,"rc":""}`,
		"fail":  `4 {"n":5,"rc":""}`,
	} {
		program, ok := Builtin(name)
		if !ok {
			t.Errorf("there is no builtin %s", name)
			continue
		}
		o := program(in, out)
		if got := fmt.Sprintf("%d %s", o.RC, jsonOf(t, o.Output)); got != want {
			t.Errorf("%s gives %s, want %s", name, got, want)
		}
	}
	if _, ok := Builtin("nothing"); ok {
		t.Error("there is a builtin nothing")
	}
	if o := Fail(container.New(out), out); !strings.Contains(o.Err, "has no member rc of type int") {
		t.Errorf("fail without rc: %v", o)
	}
}

// What all conditions about one output take together is bounded, as at a node.
func TestConditionsTogetherAreBounded(t *testing.T) {
	var activities, control strings.Builder
	for i := range 60 {
		fmt.Fprintf(&activities, "  y%d: {node: A, program: p}\n", i)
		fmt.Fprintf(&control, "  - x -> y%d: '!s.matches(\"b$\") || n == %d'\n", i, i)
	}
	p := load(t, head+"activities:\n  x: {node: A, program: p, output: S}\n"+activities.String()+"control:\n"+control.String())
	for _, test := range []struct {
		length int
		state  State
	}{{1_000, Terminated}, {400_000, InError}} {
		r, err := Run(p, nil, ProgramFunc(func(a *definition.Activity, _ Call) Outcome {
			o := container.New(a.Output)
			if a.Name == "x" {
				o.Fields[1] = strings.Repeat("a", test.length)
			}
			return Outcome{Output: o}
		}), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if x := activity(t, r, "x"); x.State != test.state || x.State == InError && !strings.Contains(x.Error, "took more than 10000000 steps together") {
			t.Errorf("%d: x is %s: %q", test.length, x.State, x.Error)
		}
	}
}
