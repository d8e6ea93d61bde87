package interpret

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fmqm/container"
	"fmqm/definition"
)

// blocks are the graphs of activities that are blocks, by name; those may be in one another.
type blocks map[string]string

// loadBlocks loads a process whose blocks are written as programs. Their graphs, written as
// processes of their own, become what is inside.
func loadBlocks(t testing.TB, text string, inside blocks) *definition.Process {
	t.Helper()
	p := load(t, head+text)
	for _, a := range p.Activities {
		if text, ok := inside[a.Name]; ok {
			a.Program, a.Block = "", &loadBlocks(t, text, inside).Graph
		}
	}
	return p
}

// documents is a block with a loop: once more until n is 3 or more.
const documents = `
activities:
  documents: {node: A, program: block, input: S, output: S, exit: n >= 3, max_iterations: 4}
  pay: {node: B, program: p, input: S}
control: [documents -> pay]
data:
  - source -> documents
  - documents -> documents: {n: n}
  - documents -> pay
  - documents -> sink
`

const checkAndAsk = `
activities:
  check: {node: A, program: p, input: S, output: S}
  ask: {node: B, program: p, input: S, output: S}
control: [check -> ask: b]
data: [source -> check, check -> ask, check -> sink: {n: n}, ask -> sink: {s: s}]
`

func TestBlocks(t *testing.T) {
	for _, tc := range []struct {
		rule    string
		process string
		inside  blocks
		input   string
		results string
		want    string
	}{
		{
			"a block without exit condition runs once, from its input to its output", `
activities:
  once: {node: A, program: block, input: S, output: S}
data: [source -> once, once -> sink]
`,
			blocks{"once": "activities: {a: {node: A, program: p, input: S, output: S}}\ndata: [source -> a, a -> sink]"},
			`{"n":7,"l":[1]}`, ``, `finished {"n":7,"s":"","b":false,"l":[1]}`,
		},

		{
			"its loop ends when the exit condition holds", documents,
			blocks{"documents": checkAndAsk},
			``, `{check: [{output: {n: 1}}], documents#2/check: [{output: {n: 3}}]}`,
			`finished {"n":3,"s":"","b":false,"l":[]} documents:2 documents#1/ask:skipped documents#2/ask:skipped`,
		},

		{
			"its source chooses by the input of each iteration", documents,
			blocks{"documents": `
activities:
  one: {node: A, program: p, input: S, output: S}
  two: {node: A, program: p, input: S, output: S}
control: [source -> one: n == 0, source -> two: otherwise]
data: [source -> one, source -> two, one -> sink, two -> sink]
`},
			``, `{one: [{output: {n: 1}}], two: [{output: {n: 3}}]}`,
			`finished {"n":3,"s":"","b":false,"l":[]} documents:2 documents#1/two:skipped documents#2/one:skipped`,
		},

		{
			"where a condition out of its source fails nothing inside runs, and it is in error", documents,
			blocks{"documents": `
activities:
  one: {node: A, program: p, input: S, output: S}
  two: {node: A, program: block, input: S, output: S}
control: [source -> one: 1 / (n - 1) < 0, source -> two: otherwise]
data: [source -> one, one -> sink]
`, "two": "activities: {deep: {node: A, program: p}}"},
			``, `{one: [{output: {n: 1}}]}`,
			`in-error documents:in-error documents#1/two:skipped documents#1/two/deep:skipped documents#2/one:skipped documents#2/two:skipped documents#2/two/deep:skipped pay:inactive`,
		},

		{
			"its output begins with the defaults in each iteration", documents,
			blocks{"documents": checkAndAsk},
			``, `{check: [{output: {n: 1, b: true}}], documents#2/check: [{output: {n: 3}}], ask: [{output: {s: asked}}]}`,
			`finished {"n":3,"s":"","b":false,"l":[]} documents:2 documents#2/ask:skipped`,
		},

		{
			"the last permitted iteration counts", documents,
			blocks{"documents": checkAndAsk},
			``, `{check: [{output: {n: 1, b: true}}], documents#4/check: [{output: {n: 3, b: true}}]}`,
			`finished {"n":3,"s":"","b":false,"l":[]} documents:4`,
		},

		{
			"over max_iterations it is in error, and all inside has ended", documents,
			blocks{"documents": checkAndAsk},
			``, `{check: [{output: {n: 1, b: true}}]}`, `in-error documents:in-error pay:inactive`,
		},

		{
			"an error inside leaves it running, and what else can goes on", `
activities:
  block: {node: A, program: block}
  after: {node: A, program: p, start: any}
  beside: {node: A, program: p}
control: [block -> after, beside -> after]
`,
			blocks{"block": `
activities:
  bad: {node: A, program: p}
  behind: {node: A, program: p}
  good: {node: A, program: p, exit: _RC == 2}
  join: {node: A, program: p, start: any}
control: [bad -> behind, good -> join, behind -> join]
`},
			``, `{bad: [{error: no paper}], good: [{rc: 1}, {rc: 2}]}`,
			`in-error block:running block#1/bad:in-error block#1/behind:inactive block#1/good:2 block#1/join:waiting after:waiting`,
		},

		{
			"a condition that fails inside leaves it running", documents,
			blocks{"documents": strings.Replace(checkAndAsk, "ask: b", "ask: 1 / n > 0", 1)},
			``, ``, `in-error documents:running documents#1/check:in-error documents#1/ask:inactive pay:inactive`,
		},

		{
			"a running block leaves the one around it running", documents,
			blocks{
				"documents": "activities: {inner: {node: A, program: block}}", "inner": "activities: {bad: {node: A, program: p}}",
			},
			``, `{bad: [{error: x}]}`,
			`in-error documents:running documents#1/inner:running documents#1/inner#1/bad:in-error pay:inactive`,
		},

		{
			"its own conditions that fail put it in error", strings.Replace(documents, "n >= 3", "1 / n > 0", 1),
			blocks{"documents": checkAndAsk},
			``, `{check: [{output: {b: true}}]}`, `in-error documents:in-error pay:inactive`,
		},

		{
			"a transition condition out of it that fails sends nothing", strings.Replace(documents, "documents -> pay]", "documents -> pay: 3 / (n - 3) > 0]", 1),
			blocks{"documents": checkAndAsk},
			``, `{check: [{output: {n: 3, b: true}}]}`, `in-error documents:in-error pay:inactive`,
		},

		{
			"its _RC is 0, whatever is inside", strings.Replace(documents, "documents -> pay]", "documents -> pay: _RC == 0]", 1),
			blocks{"documents": strings.Replace(checkAndAsk, "ask: b", "ask: _RC == 5", 1)},
			``, `{check: [{rc: 5, output: {n: 3}}]}`,
			`finished {"n":3,"s":"","b":false,"l":[]}`,
		},

		{
			"with it all inside is skipped, in no iteration", `
activities:
  a: {node: A, program: p, output: S}
  outer: {node: A, program: block}
  z: {node: A, program: p, start: any}
control: [a -> outer: b, a -> z, outer -> z]
`,
			blocks{"outer": "activities: {inner: {node: A, program: block}, x: {node: A, program: p}}", "inner": "activities: {y: {node: A, program: p}}"},
			``, ``, `finished {"n":0,"s":"","b":false,"l":[]} outer:skipped outer/inner:skipped outer/inner/y:skipped outer/x:skipped`,
		},

		{
			"in an iteration a block may be skipped, and run in the next", documents,
			blocks{"documents": `
activities:
  check: {node: A, program: p, output: S}
  inner: {node: A, program: block}
control: [check -> inner: b]
data: [check -> sink: {n: n}]
`, "inner": "activities: {y: {node: A, program: p}}"},
			``, `{check: [{}], documents#2/check: [{output: {n: 3, b: true}}]}`,
			`finished {"n":3,"s":"","b":false,"l":[]} documents:2 documents#1/inner:skipped documents#1/inner/y:skipped`,
		},

		{
			"to its sink the source listed last wins, if it ran", documents,
			blocks{"documents": `
activities:
  check: {node: A, program: p, output: S}
  ask: {node: A, program: p, output: S}
control: [check -> ask: b]
data: [check -> sink: {n: n}, ask -> sink: {n: n}]
`},
			``, `{check: [{output: {n: 4, b: true}}], ask: [{output: {n: 1}}], documents#2/check: [{output: {n: 5}}]}`,
			`finished {"n":5,"s":"","b":false,"l":[]} documents:2 documents#2/ask:skipped`,
		},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			if got := summary(t, run(t, loadBlocks(t, tc.process, tc.inside), tc.input, tc.results)); got != tc.want {
				t.Errorf("%s\nwant %s", got, tc.want)
			}
		})
	}
}

// N18, and the language: the feedback of a block is applied onto a copy of the iteration's
// input; in each scope the iterations of an activity are counted from 1.
func TestIterationsOfABlock(t *testing.T) {
	p := loadBlocks(t, documents, blocks{"documents": strings.Replace(checkAndAsk, "output: S}", "output: S, exit: b}", 1)})
	var seen []string
	r, err := Run(p, input(t, p, `{"s":"kept","l":[5]}`), ProgramFunc(func(a *definition.Activity, call Call) Outcome {
		seen = append(seen, fmt.Sprintf("%s %d n=%v s=%v", call.Scope.Path(a.Name), call.Iteration, call.Input.Fields[0], call.Input.Fields[1]))
		o := Echo(call.Input, a.Output)
		if a.Name == "check" {
			o.Output.Fields[0], o.Output.Fields[2] = call.Input.Fields[0].(int64)+2, call.Iteration == 2
		}
		return o
	}), Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"documents#1/check 1 n=0 s=kept", "documents#1/check 2 n=0 s=kept", "documents#1/ask 1 n=2 s=kept",
		"documents#2/check 1 n=2 s=kept", "documents#2/check 2 n=2 s=kept", "documents#2/ask 1 n=4 s=kept", "pay 1 n=4 s=kept",
	}
	if !slices.Equal(seen, want) {
		t.Errorf("ran %q\nwant %q", seen, want)
	}
	if got := summary(t, r); got != `finished {"n":4,"s":"kept","b":false,"l":[]} documents:2 documents#1/check:2 documents#2/check:2` {
		t.Error(got)
	}
	block := activity(t, r, "documents")
	if got := jsonOf(t, block.Input) + jsonOf(t, block.Output); got != `{"n":2,"s":"kept","b":false,"l":[5]}{"n":4,"s":"kept","b":false,"l":[]}` || *block.RC != 0 {
		t.Errorf("of the last iteration: %s, _RC %d", got, *block.RC)
	}
}

// The reasons are those of every activity.
func TestReasonsOfBlocks(t *testing.T) {
	half := strings.Repeat("x", container.MaxEncoded/2)
	const pair = "activities: {block: {node: A, program: block, output: Pair}}"
	for _, tc := range []struct{ process, inside, results, want string }{
		{documents, checkAndAsk, `{check: [{}]}`, `exit condition "n >= 3" still FALSE after 4 iterations (max_iterations)`},
		{strings.Replace(documents, "n >= 3", "1 / n > 0", 1), checkAndAsk, ``, `exit condition "1 / n > 0": evaluate condition "1 / n > 0": `},
		{
			pair, "activities: {a: {node: A, program: p, output: S}, c: {node: A, program: p, output: S}}\noutput: Pair\ndata: [a -> sink: {left.s: s}, c -> sink: {right.s: s}]",
			fmt.Sprintf("{a: [{output: {s: %s}}], c: [{output: {s: %s}}]}", half, half), "encode the block's output: the encoded container has over 1048576 bytes",
		},
	} {
		outer := load(t, head+tc.process)
		inner := load(t, strings.Replace(head, "output: S\n", "", strings.Count(tc.inside, "\noutput: Pair"))+tc.inside)
		outer.Activities[0].Program, outer.Activities[0].Block = "", &inner.Graph
		r := run(t, outer, "", tc.results)
		if got := r.Activities[0]; got.State != InError || !strings.HasPrefix(got.Error, tc.want) {
			t.Errorf("%s: %q\nwant %q", got.State, got.Error, tc.want)
		}
	}
}

// Blocks in one another, as deep as they may be.
func TestNestedBlocks(t *testing.T) {
	const deep = 16
	inside := blocks{}
	var path Scope
	for i := range deep - 1 {
		inside[fmt.Sprintf("b%d", i)] = fmt.Sprintf("activities: {b%d: {node: A, program: block, input: S, output: S}}\ndata: [source -> b%d, b%d -> sink]", i+1, i+1, i+1)
		path = path.iteration(fmt.Sprintf("b%d", i), 1)
	}
	path = path.iteration(fmt.Sprintf("b%d", deep-1), 1)
	inside[fmt.Sprintf("b%d", deep-1)] = "activities: {leaf: {node: A, program: p, input: S, output: S}}\ndata: [source -> leaf, leaf -> sink]"
	p := loadBlocks(t, "activities: {b0: {node: A, program: block, input: S, output: S}}\ndata: [source -> b0, b0 -> sink]", inside)
	r := run(t, p, `{"n":5}`, ``)
	if got := summary(t, r); got != `finished {"n":5,"s":"","b":false,"l":[]}` {
		t.Error(got)
	}
	if leaf := activity(t, r, path.Path("leaf")); leaf.State != Terminated || strings.Count(string(leaf.Scope), "/") != deep-1 {
		t.Errorf("leaf is %s in %s", leaf.State, leaf.Scope)
	}
}

// What is kept of a long loop is what was asked for; its results are found at once.
func TestLongLoops(t *testing.T) {
	const iterations = 10_000
	p := loadBlocks(t, `
activities:
  outer: {node: A, program: block, input: S, output: S, exit: n >= 10000}
data: [source -> outer, outer -> outer: {n: n}]
`, blocks{"outer": `
activities:
  inner: {node: A, program: block, input: S, output: S, exit: n > 1}
  leaf: {node: A, program: p, input: S, output: S}
data: [source -> leaf, leaf -> sink: {n: n}]
`, "inner": `
activities:
  step: {node: A, empty: true, input: S, output: S}
  two: {node: A, program: p, output: S}
data: [source -> step, two -> sink: {n: n}]
`})
	var results strings.Builder
	for i := 1; i <= iterations; i++ {
		fmt.Fprintf(&results, "outer#%d/leaf: [{output: {n: %d}}]\n", i, i)
	}
	results.WriteString("two: [{}]\nouter#1/inner#2/two: [{output: {n: 2}}]\n")
	programs := parsed(t, p, results.String())
	for _, tc := range []struct {
		last bool
		want int
	}{{true, 1 + 2 + 2}, {false, 1 + iterations*(2+4)}} {
		r, err := Run(p, nil, programs, Options{LastIterations: tc.last})
		if err != nil {
			t.Fatal(err)
		}
		kept := 0
		for range r.All() {
			kept++
		}
		if outer := r.Activities[0]; outer.State != Terminated || outer.Iterations != iterations || kept != tc.want {
			t.Errorf("outer is %s after %d iterations, %d executions are kept, want %d", outer.State, outer.Iterations, kept, tc.want)
		}
		if a := activity(t, r, "outer#10000/inner#2/two"); a.State != Terminated {
			t.Errorf("two is %s", a.State)
		}
	}
}

func TestRunRefusesBlocks(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(g *definition.Graph)
		want   string
	}{
		{"a connector across the border", func(g *definition.Graph) { g.Control[0].Target = "pay" }, "run p@1: block documents: control connector check -> pay: there is no such activity"},
		{"a data connector across the border", func(g *definition.Graph) { g.Data[1].Source = "pay" }, "run p@1: block documents: data connector pay -> ask: there is no such activity"},
		{"nothing inside", func(g *definition.Graph) { *g = definition.Graph{} }, "run p@1: block documents: there are no activities"},
		{"a cycle", func(g *definition.Graph) { g.Control[0].Source = "ask" }, "its connectors have a cycle"},
	} {
		p := loadBlocks(t, documents, blocks{"documents": checkAndAsk})
		tc.change(p.Activities[0].Block)
		if _, err := Run(p, nil, EchoAll, Options{}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}
