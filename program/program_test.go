package program_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"fmqm/container"
	"fmqm/processtable"
	"fmqm/program"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	order = container.NewStructure("Order", []container.Member{
		{Name: "customer", Type: container.Scalar(container.String)},
		{Name: "quantity", Type: container.Scalar(container.Int)},
		{Name: "limit", Type: container.Scalar(container.Double), Default: 2.5},
	})
	other = container.NewStructure("Other", []container.Member{
		{Name: "quantity", Type: container.Scalar(container.Double)}, // another type
		{Name: "customer", Type: container.Scalar(container.String)},
		{Name: "tags", Type: container.NewList(container.Scalar(container.String))},
	})
	failing = container.NewStructure("Failing", []container.Member{
		{Name: "rc", Type: container.Scalar(container.Int)},
		{Name: "sleep_ms", Type: container.Scalar(container.Int)},
		{Name: "customer", Type: container.Scalar(container.String)},
	})
)

// value makes a container of type t from its JSON.
func value(t *testing.T, typ *container.Type, json string) *container.Struct {
	t.Helper()
	s, err := container.DecodeJSON(typ, []byte(json))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ownKey is this run's own: a later attempt kills what it finds of the earlier ones, on
// the whole machine.
var ownKey = uuid.NewString()

// call gives the invocation that tests change as they need.
func call(t *testing.T) *program.Call {
	return &program.Call{
		Process: "purchase-order@1", Instance: "0197c0de-0000-7000-8000-000000000001", Activity: "credit", Scope: "orders#4/credit", Node: "B",
		Iteration: 2, Attempt: 3, Key: ownKey,
		Input: value(t, order, `{"customer": "ann", "quantity": 4}`), OutputType: order,
	}
}

// register gives the only program of a registry.
func register(t testing.TB, s program.Spec, o program.Options) program.Program {
	t.Helper()
	r, err := program.NewRegistry(map[processtable.ProgramID]program.Spec{"p": s}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	e, ok := r.Lookup("p")
	if !ok {
		t.Fatal("a registered program is not found")
	}
	return e.Program
}

func json(t *testing.T, s *container.Struct) string {
	t.Helper()
	if s == nil {
		return "nil"
	}
	b, err := container.EncodeJSON(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// wantError checks the text of an error, in which every part of want must occur.
func wantError(t *testing.T, err error, want ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one that says %q", want)
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
}

func TestBuiltins(t *testing.T) {
	for _, tc := range []struct {
		name, builtin, input string
		in, out              *container.Type
		rc                   int64
		output               string
	}{
		{
			name: "noop gives the defaults", builtin: "noop", in: order, out: order,
			input: `{"customer": "ann"}`, output: `{"customer":"","quantity":0,"limit":2.5}`,
		},
		{
			name: "echo gives members of the same name and type", builtin: "echo", in: order, out: other,
			input: `{"customer": "ann", "quantity": 4}`, output: `{"quantity":0,"customer":"ann","tags":[]}`,
		},
		{
			name: "sleep echoes", builtin: "sleep", in: failing, out: order,
			input: `{"customer": "ann", "sleep_ms": 1}`, output: `{"customer":"ann","quantity":0,"limit":2.5}`,
		},
		{
			name: "fail echoes, with the return code that its input says", builtin: "fail", in: failing, out: order, rc: -7,
			input: `{"customer": "ann", "rc": -7}`, output: `{"customer":"ann","quantity":0,"limit":2.5}`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := register(t, program.Spec{Kind: program.KindBuiltin, Builtin: tc.builtin, Timeout: time.Minute}, program.Options{})
			c := call(t)
			c.Input, c.OutputType = value(t, tc.in, tc.input), tc.out
			r := p.Run(context.Background(), c)
			if r.Err != nil || r.RC != tc.rc {
				t.Errorf("rc %d, error %v; want rc %d", r.RC, r.Err, tc.rc)
			}
			if got := json(t, r.Output); got != tc.output {
				t.Errorf("output %s, want %s", got, tc.output)
			}
			if r.Started.IsZero() || r.Ended.Before(r.Started) {
				t.Errorf("started %v, ended %v", r.Started, r.Ended)
			}
		})
	}
}

func TestEchoSharesNothing(t *testing.T) {
	p := register(t, program.Spec{Kind: program.KindBuiltin, Builtin: "echo"}, program.Options{})
	c := call(t)
	c.Input, c.OutputType = value(t, other, `{"tags": ["a"]}`), other
	r := p.Run(context.Background(), c)
	r.Output.Fields[2].([]container.Value)[0] = "changed"
	if got := json(t, c.Input); !strings.Contains(got, `["a"]`) {
		t.Errorf("changing the output changed the input: %s", got)
	}
}

func TestBuiltinsThatLackTheirMemberFailAndSayWhich(t *testing.T) {
	for builtin, member := range map[string]string{"sleep": "sleep_ms", "fail": "rc"} {
		p := register(t, program.Spec{Kind: program.KindBuiltin, Builtin: builtin}, program.Options{})
		r := p.Run(context.Background(), call(t))
		wantError(t, r.Err, "builtin "+builtin, "Order has no member "+member, "`"+member+": int`")
	}
}

func TestASleeperIsEndedByItsTimeoutAndByItsNode(t *testing.T) {
	c := call(t)
	c.Input = value(t, failing, `{"sleep_ms": 3600000}`)
	p := register(t, program.Spec{Kind: program.KindBuiltin, Builtin: "sleep", Timeout: time.Millisecond}, program.Options{})
	wantError(t, p.Run(context.Background(), c).Err, "overran its timeout of 1ms", "raise `timeout`")

	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	p = register(t, program.Spec{Kind: program.KindBuiltin, Builtin: "sleep"}, program.Options{})
	wantError(t, p.Run(canceled, c).Err, "stopped by the node: context canceled")
}

func TestARegistryRefusesWhatCannotRun(t *testing.T) {
	_, err := program.NewRegistry(map[processtable.ProgramID]program.Spec{
		"a": {Kind: program.KindBuiltin, Builtin: "nope"},
		"b": {Kind: program.KindExec},
		"c": {Kind: program.KindHTTP, URL: "ftp://x"},
		"d": {},
	}, program.Options{})
	wantError(t, err, `program a: no builtin program "nope": there are echo, fail, noop, sleep`,
		"program b: exec: the program is missing", `program c: http: "ftp://x" is not an address of a web service`,
		"program d: there is no kind 0 of program")
}

func TestARegistryKnowsItsNamesAndLimits(t *testing.T) {
	r, err := program.NewRegistry(map[processtable.ProgramID]program.Spec{
		"quick": {Kind: program.KindBuiltin, Builtin: "noop"},
		"few":   {Kind: program.KindExec, Exec: []string{"true"}, Concurrency: 3},
	}, program.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if n := r.Names(); len(n) != 2 || n[0] != "few" || n[1] != "quick" {
		t.Errorf("names %v", n)
	}
	few, _ := r.Lookup("few")
	quick, _ := r.Lookup("quick")
	if few.Concurrency != 3 || quick.Concurrency != 256 {
		t.Errorf("limits %d and %d, want 3 and the builtins' 256", few.Concurrency, quick.Concurrency)
	}
	if _, ok := r.Lookup("absent"); ok {
		t.Error("found a program that nobody registered")
	}
}

func BenchmarkNoop(b *testing.B) {
	r, err := program.NewRegistry(map[processtable.ProgramID]program.Spec{"p": {Kind: program.KindBuiltin, Builtin: "noop"}}, program.Options{})
	if err != nil {
		b.Fatal(err)
	}
	e, _ := r.Lookup("p")
	c := &program.Call{Input: container.New(order), OutputType: order}
	for b.Loop() {
		e.Program.Run(b.Context(), c)
	}
}
