package interpret

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"fmqm/condition"
	"fmqm/container"
	"fmqm/definition"
)

// lineOfEnding is one of endings.
var lineOfEnding = regexp.MustCompile(`^(\w+)(?: -> (\w+))?: (\w+)?(.*)$`)

// endings says how activities of p end, a line each: "a: deadline", "a: deadline EXPR over its
// input", "a: wait", "a: on_error", "a: cancels b, c"; and what reads the engine's words: the
// transition condition "a -> b: when _TIMEOUT", the mapping "a -> b: sets s _ERROR".
func endings(t testing.TB, p *definition.Process, lines string) *definition.Process {
	t.Helper()
	all := placesOf(p)
	byForm := slices.Collect(strings.Lines(strings.TrimSpace(lines)))
	slices.SortStableFunc(byForm, func(x, y string) int { return strings.Count(x, "->") - strings.Count(y, "->") })
	for _, line := range byForm {
		m := lineOfEnding.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil || all.byName[m[1]].activity == nil {
			t.Fatalf("no ending: %q", line)
		}
		at, rest := all.byName[m[1]], strings.TrimSpace(m[4])
		a, graph := at.activity, &p.Graph
		if n := len(at.around); n > 0 {
			graph = at.around[n-1].Block
		}
		switch m[3] {
		case "deadline":
			a.Deadline = momentOf(t, a, rest)
		case "wait":
			a.Program, a.Wait = "", momentOf(t, a, rest)
		case "on_error":
			a.Continues = true
		case "cancels":
			a.Cancels = strings.Split(rest, ", ")
		case "when":
			i := slices.IndexFunc(graph.Control, func(c *definition.Control) bool { return c.Source == m[1] && c.Target == m[2] })
			graph.Control[i].Condition = &definition.Condition{Checked: checked(t, rest, a)}
		case "sets":
			i := slices.IndexFunc(graph.Data, func(d *definition.Data) bool { return d.Source == m[1] && d.Target == m[2] })
			member, name, _ := strings.Cut(rest, " ")
			word, _ := condition.WordNamed(name)
			to, _ := p.Input.MemberIndex(member)
			graph.Data[i].Mappings = append(graph.Data[i].Mappings, definition.Mapping{RC: word == 0, Word: word, To: container.Path{to}})
		default:
			t.Fatalf("no ending: %q", line)
		}
	}
	return p
}

func momentOf(t testing.TB, a *definition.Activity, text string) *definition.Moment {
	t.Helper()
	if text == "" {
		return &definition.Moment{Fixed: int64(time.Hour)}
	}
	c, problems := condition.CheckExpr(text, condition.Scope{Members: a.Input, Words: condition.WordInstance}, container.Scalar(container.Duration))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return &definition.Moment{Expr: &definition.Condition{Checked: c}}
}

func checked(t testing.TB, text string, a *definition.Activity) condition.Checked {
	t.Helper()
	c, problems := condition.Check(text, condition.Scope{Members: a.Output, RC: true, Words: a.Words()})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return c
}

// told writes a summary with how each activity ended that did not end by itself.
func told(t testing.TB, r *Result) string {
	t.Helper()
	text := summary(t, r)
	for a := range r.All() {
		switch {
		case a.TimedOut:
			text += fmt.Sprintf(" %s timed out, %d", a.Path(), *a.RC)
		case a.Failure != "":
			text += fmt.Sprintf(" %s failed, %d: %s", a.Path(), *a.RC, a.Failure)
		}
	}
	return text
}

// approval has a way for the deadline, and ends with what it has set.
const approval = `
activities:
  approve: {node: A, program: p, input: S, output: S, retry: {attempts: 2}}
  board: {node: B, program: p}
  pay: {node: B, program: p}
  letter: {node: C, program: p}
control: [approve -> board, approve -> pay: n > 0, approve -> letter: otherwise]
data: [source -> approve, source -> sink, approve -> sink: {n: n}]
`

const approvalEnds = `
approve: deadline
approve: on_error
approve -> board: when _TIMEOUT || _ERROR != ""
approve -> sink: sets b _TIMEOUT
approve -> sink: sets s _ERROR
`

// stages is a block of which each iteration has check, then ask, beside look.
const stages = `
activities:
  documents: {node: A, program: block, input: S, output: S, exit: n >= 3}
  pay: {node: B, program: p}
  late: {node: B, program: p}
control: [documents -> pay, documents -> late]
data: [source -> documents, documents -> documents: {n: n}, documents -> sink: {n: n}]
`

var inStages = blocks{"documents": `
activities:
  check: {node: A, program: p, input: S, output: S}
  ask: {node: B, program: p, input: S, output: S}
  look: {node: B, program: p}
control: [check -> ask]
data: [source -> check, check -> ask, ask -> sink: {n: n}]
`}

const stagesEnd = `
documents: deadline
documents: on_error
documents -> late: when _TIMEOUT || _ERROR != ""
documents -> sink: sets b _TIMEOUT
documents -> sink: sets s _ERROR
`

// divided says of 1 / n > 0 that n is 0.
const divided = `evaluate condition "1 / n > 0": division by zero: check first that the divisor is not 0, as in d != 0 && n / d > 2`

// rivals cancel each other; b is behind a.
const rivals = `
activities:
  start: {node: A, program: p, output: S}
  a: {node: A, program: p, input: S, output: S}
  b: {node: A, program: p}
  c: {node: B, program: p, input: S, output: S}
  after: {node: B, program: p, start: any}
control: [start -> a, start -> c, a -> b, b -> after, c -> after]
data: [a -> sink: {n: n}, c -> sink: {s: s}]
`

func TestHowExecutionsEnd(t *testing.T) {
	for _, tc := range []struct {
		rule    string
		process string
		inside  blocks
		ends    string
		results string
		want    string
	}{
		{
			"N23: a deadline comes too late, unless an entry says otherwise", approval, nil, approvalEnds,
			`{approve: [{output: {n: 5}}]}`, `finished {"n":5,"s":"","b":false,"l":[9]} board:skipped letter:skipped`,
		},
		{
			"N23: at the deadline the output has the defaults, and mappings set the words only", approval, nil, approvalEnds,
			`{approve: [{timeout: true}]}`, `finished {"n":1,"s":"","b":true,"l":[9]} pay:skipped letter:skipped approve timed out, -1`,
		},
		{
			"N23: _RC is -1 then, for conditions and mappings", strings.Replace(approval, "approve -> pay: n > 0", "approve -> pay: _RC == -1", 1), nil,
			approvalEnds + "approve -> sink: sets n _RC",
			`{approve: [{timeout: true}]}`, `finished {"n":-1,"s":"","b":true,"l":[9]} letter:skipped approve timed out, -1`,
		},
		{
			"N23: the exit condition is not asked, and iterations before count", strings.Replace(approval, "retry", "exit: n > 7, retry", 1), nil, approvalEnds,
			`{approve: [{output: {n: 2}}, {output: {n: 3}}, {timeout: true}]}`,
			`finished {"n":1,"s":"","b":true,"l":[9]} approve:3 pay:skipped letter:skipped approve timed out, -1`,
		},
		{
			"N23: time in error counts", approval, nil, approvalEnds,
			`{approve: [{error: x}, {timeout: true}]}`, `finished {"n":1,"s":"","b":true,"l":[9]} pay:skipped letter:skipped approve timed out, -1`,
		},
		{
			"N23: also after the last attempt", strings.Replace(approval, "attempts: 2", "attempts: 1", 1), nil,
			"approve: deadline\napprove -> board: when _TIMEOUT",
			`{approve: [{error: x}, {timeout: true}]}`, `finished {"n":1,"s":"","b":false,"l":[9]} pay:skipped letter:skipped approve timed out, -1`,
		},
		{
			"N4: a condition that fails after the deadline puts in error, once", approval, nil,
			"approve: deadline\napprove -> board: when 1 / n > 0",
			`{approve: [{timeout: true}]}`, `in-error approve:in-error board:inactive pay:inactive letter:inactive approve timed out, -1`,
		},
		{
			"N23: a deadline that cannot be evaluated puts in error", approval, nil, `approve: deadline duration(s)`,
			`{approve: [{timeout: true}]}`, `in-error approve:in-error board:inactive pay:inactive letter:inactive`,
		},
		{
			"N23: so does the time of a wait", approval, nil, "approve: wait duration(s)",
			``, `in-error approve:in-error board:inactive pay:inactive letter:inactive`,
		},
		{
			"N23: a wait ends at once, as echo", approval, nil, "approve: wait",
			``, `finished {"n":1,"s":"","b":false,"l":[9]} letter:skipped`,
		},

		{
			"N22: without attempts left it goes on, and _ERROR says why", approval, nil, approvalEnds,
			`{approve: [{error: no paper}]}`, `finished {"n":1,"s":"no paper","b":false,"l":[9]} pay:skipped letter:skipped approve failed, -1: no paper`,
		},
		{
			"N22: it covers attempts: one that succeeds has no _ERROR", approval, nil, approvalEnds,
			`{approve: [{error: no paper}, {output: {n: 4}}]}`, `finished {"n":4,"s":"","b":false,"l":[9]} board:skipped letter:skipped`,
		},
		{
			"N22: _RC is as it was", approval, nil, approvalEnds,
			`{approve: [{rc: 7}]}`,
			`finished {"n":1,"s":"return code 7","b":false,"l":[9]} pay:skipped letter:skipped ` +
				`approve failed, 7: return code 7`,
		},
		{
			"N22: a condition that fails waits for an operator", strings.Replace(approval, "n > 0", "1 / n > 0", 1), nil, approvalEnds,
			`{approve: [{output: {n: 0}}]}`, `in-error approve:in-error board:inactive pay:inactive letter:inactive`,
		},
		{
			"N22: the exit condition is not asked", strings.Replace(approval, "retry", "exit: n > 7, retry", 1), nil, approvalEnds,
			`{approve: [{output: {n: 2}}, {error: x}]}`, `finished {"n":1,"s":"x","b":false,"l":[9]} approve:2 pay:skipped letter:skipped approve failed, -1: x`,
		},

		{
			"N25: what cancels comes too late, unless an entry says otherwise", rivals, nil, "a: cancels c\nc: cancels a, b",
			`{a: [{output: {n: 4}}], c: [{output: {s: x}}]}`, `finished {"n":4,"s":"x","b":false,"l":[]}`,
		},
		{
			"N25: it ends, its connectors are FALSE and it gives no data", rivals, nil, "a: cancels c\nc: cancels a, b",
			`{c: [{cancelled: true}]}`, `finished {"n":0,"s":"","b":false,"l":[]} c:cancelled`,
		},
		{
			"N25: what comes after it is skipped", rivals, nil, "c: cancels a",
			`{a: [{error: x}, {cancelled: true}], c: [{output: {s: x}}]}`, `finished {"n":0,"s":"x","b":false,"l":[]} a:cancelled b:skipped`,
		},
		{
			"N25: what has not been decided ends when all that leads into it is resolved", rivals, nil, "c: cancels b",
			`{b: [{cancelled: true}]}`, `finished {"n":0,"s":"","b":false,"l":[]} b:cancelled`,
		},
		{
			"N25: and not before, since the instance could end while what comes before it runs", rivals, nil, "c: cancels b",
			`{a: [{error: x}]}`, `in-error a:in-error b:waiting after:waiting`,
		},
		{
			"N25: what cannot end by itself is cancelled without an entry", rivals, nil, "c: cancels a, b",
			`{a: [{error: x}]}`, `finished {"n":0,"s":"","b":false,"l":[]} a:cancelled b:skipped`,
		},
		{
			"N25: only what ran cancels", strings.Replace(rivals, "start -> c", "start -> c: b", 1), nil, "c: cancels a",
			`{a: [{error: x}]}`, `in-error a:in-error b:inactive c:skipped after:waiting`,
		},
		{
			"N25: at its deadline it has run, and cancels", rivals, nil, "c: cancels a\nc: deadline",
			`{a: [{error: x}], c: [{timeout: true}]}`, `finished {"n":0,"s":"","b":false,"l":[]} a:cancelled b:skipped c timed out, -1`,
		},

		{
			"N23: at a block's deadline what has not ended inside is cancelled", stages, inStages, stagesEnd,
			`{documents: [{timeout: true}], ask: [{cancelled: true}]}`,
			`finished {"n":0,"s":"","b":true,"l":[]} documents#1/ask:cancelled documents timed out, -1`,
		},
		{
			"N23: what nobody has reached inside as well", stages, inStages, stagesEnd,
			`{documents: [{timeout: true}], check: [{error: x}]}`,
			`finished {"n":0,"s":"","b":true,"l":[]} documents#1/check:cancelled documents#1/ask:cancelled documents timed out, -1`,
		},
		{
			"N23: in a later iteration, those before stay as they were", stages, inStages, stagesEnd,
			`{documents: [{}, {timeout: true}], documents#2/look: [{cancelled: true}]}`,
			`finished {"n":0,"s":"","b":true,"l":[]} documents:2 documents#2/look:cancelled documents timed out, -1`,
		},
		{
			"N22: a block catches what would wait for an operator inside, and names it", stages, inStages, stagesEnd,
			`{check: [{error: no paper}]}`,
			`finished {"n":0,"s":"check: no paper","b":false,"l":[]} documents#1/check:cancelled documents#1/ask:cancelled documents failed, -1: check: no paper`,
		},
		{
			"N22: and cancels the rest of that iteration", stages, inStages, stagesEnd,
			`{check: [{error: no paper}], look: [{cancelled: true}]}`,
			`finished {"n":0,"s":"check: no paper","b":false,"l":[]} documents#1/check:cancelled documents#1/ask:cancelled documents#1/look:cancelled documents failed, -1: check: no paper`,
		},
		{
			"N22: a condition that fails is caught too", stages,
			blocks{"documents": strings.Replace(inStages["documents"], "check -> ask", "check -> ask: 1 / n > 0", 1)},
			"documents: on_error", `{check: [{output: {n: 0}}]}`,
			`finished {"n":0,"s":"","b":false,"l":[]} documents#1/check:cancelled documents#1/ask:cancelled documents failed, -1: check: transition condition "1 / n > 0" to ask: ` + divided,
		},
		{
			"N22: its own conditions are not", strings.Replace(stages, "n >= 3", "1 / n > 0", 1), inStages, stagesEnd,
			`{ask: [{output: {n: 0}}]}`, `in-error documents:in-error pay:inactive late:inactive`,
		},
		{
			"N22: an inner block's are, also from within one that catches nothing", stages,
			blocks{"documents": "activities: {inner: {node: A, program: block, output: S, exit: 1 / n > 0}}", "inner": "activities: {x: {node: A, program: p}}"},
			"documents: on_error", ``,
			`finished {"n":0,"s":"","b":false,"l":[]} documents#1/inner:cancelled documents failed, -1: inner: exit condition "1 / n > 0": ` + divided,
		},
		{
			"N22: the nearest block that catches does", stages,
			blocks{"documents": "activities: {inner: {node: A, program: block, output: S}}\ndata: [inner -> sink: {n: n}]", "inner": "activities: {x: {node: A, program: deep}}", "x": "activities: {y: {node: A, program: p}}"},
			"documents: on_error\ninner: on_error\ninner -> sink: sets n _RC\ndocuments: deadline\n", `{y: [{error: z}], documents: [{timeout: true}]}`,
			`finished {"n":0,"s":"","b":false,"l":[]} documents#1/inner#1/x:cancelled documents#1/inner#1/x#1/y:cancelled documents timed out, -1 documents#1/inner failed, -1: y: z`,
		},
		{
			"N22: what cancels an activity comes too late for its error, which is caught", stages, inStages, stagesEnd + "look: cancels check",
			`{check: [{error: x}]}`,
			`finished {"n":0,"s":"check: x","b":false,"l":[]} documents#1/check:cancelled documents#1/ask:cancelled documents failed, -1: check: x`,
		},
		{
			"N22: unless an entry says otherwise", stages, inStages, stagesEnd + "look: cancels check",
			`{check: [{error: x}, {cancelled: true}], documents#2/check: [{}], ask: [{output: {n: 3}}]}`,
			`finished {"n":3,"s":"","b":false,"l":[]} documents:2 documents#1/check:cancelled documents#1/ask:skipped late:skipped`,
		},
		{
			"N25: a cancelled block cancels all inside that has not ended", rivals,
			blocks{"a": strings.Replace(inStages["documents"], "check -> ask", "check -> ask, ask -> look", 1)},
			"c: cancels a",
			`{ask: [{cancelled: true}], a: [{cancelled: true}]}`, `finished {"n":0,"s":"","b":false,"l":[]} a:cancelled a#1/ask:cancelled a#1/look:cancelled b:skipped`,
		},
		{
			"N25: also one that stands still", rivals,
			blocks{"a": inStages["documents"]},
			"c: cancels a",
			`{check: [{error: x}]}`, `finished {"n":0,"s":"","b":false,"l":[]} a:cancelled a#1/check:cancelled a#1/ask:cancelled b:skipped`,
		},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			p := endings(t, loadBlocks(t, tc.process, tc.inside), tc.ends)
			if got := told(t, run(t, p, `{"n":1,"l":[9]}`, tc.results)); got != tc.want {
				t.Errorf("%s\nwant %s", got, tc.want)
			}
		})
	}
}

// _INSTANCE is what the run is told.
func TestInstance(t *testing.T) {
	p := endings(t, load(t, head+approval), `approve: deadline duration(_INSTANCE == "x" ? "1h" : "never")`)
	d := p.Data[1]
	d.Mappings = append(d.Mappings, definition.Mapping{Word: condition.WordInstance, To: container.Path{1}})
	for instance, want := range map[string]string{
		"x": `finished {"n":0,"s":"x",`, "y": "in-error",
	} {
		r, err := Run(p, nil, EchoAll, Options{Instance: instance})
		if err != nil {
			t.Fatal(err)
		}
		if got := told(t, r); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s\nwant %s", instance, got, want)
		}
	}
}
