package definition

import (
	"strings"
	"testing"
	"time"

	"fmqm/container"
)

func hashOf(t *testing.T, p *Process) string {
	t.Helper()
	h, err := definitionHash(p)
	if err != nil {
		t.Fatal(err)
	}
	return h.String()
}

// name@version is bound to one hash for ever (N3), so the hash of a definition must
// not change with this code. If this fails, sites refuse what they have.
func TestTheDefinitionHashDoesNotChange(t *testing.T) {
	const want = "41d16d89b0ff1ee323bfdc4383847dfacf4ffdc473fb28d60d8f1270e3ff30f4"
	if got := hashOf(t, loadOne(t, purchaseOrder(t))); got != want {
		t.Errorf("the definition hash of the purchase order is %s, want %s", got, want)
	}
}

const hashed = `
process: p
version: 1
description: what it is for
structures:
  Unused: {x: int}
  Part: {n: int}
  S: {a: int, b: string, parts: [Part], d: {type: double, default: 1.5}}
input: S
output: S
starts: [A, B]
activities:
  one: {node: A, program: first, input: S, output: S, description: the first}
  two: {node: B, program: second, input: S, output: S, exit: _RC == 0, start: any}
  six: {node: C, program: third, input: S, output: S, start: "one || two"}
control:
  - one -> two: a > 1
  - one -> six: otherwise
  - two -> six
data:
  - source -> one
  - one -> six: {a: a, b: b}
  - two -> six: {a: a}
  - six -> sink
`

// What is written otherwise and means the same has the same hash.
func TestTheHashIsOfTheMeaning(t *testing.T) {
	want := hashOf(t, loadOne(t, hashed))
	for what, text := range map[string]string{
		"comments and blank lines":     strings.ReplaceAll(hashed, "\n", "  # note\n\n"),
		"descriptions":                 strings.Replace(strings.Replace(hashed, "what it is for", "something", 1), "the first", "1st", 1),
		"an unused structure":          strings.Replace(hashed, "  Unused: {x: int}\n", "", 1),
		"the order of structures":      strings.Replace(strings.Replace(hashed, "  Part: {n: int}\n", "", 1), "input: S\n", "  Part: {n: int}\ninput: S\n", 1),
		"the order of starts":          strings.Replace(hashed, "[A, B]", "[B, A]", 1),
		"the order of control":         strings.Replace(strings.Replace(hashed, "  - two -> six\n", "", 1), "control:\n", "control:\n  - two -> six\n", 1),
		"the order of targets of data": strings.Replace(strings.Replace(hashed, "  - source -> one\n", "", 1), "  - six -> sink\n", "  - six -> sink\n  - source -> one\n", 1),
		"a default that is the zero":   strings.Replace(hashed, "{n: int}", "{n: {type: int, default: 0}}", 1),
		"defaults written out":         strings.Replace(hashed, "start: any}", "start: any, max_iterations: 10000, retry: {attempts: 1}}", 1),
		"spaces in conditions":         strings.NewReplacer("a > 1", "a>1", "_RC == 0", "'_RC  ==0'", "one || two", " one|| two ").Replace(hashed),
		"on_rc as it is anyway":        strings.Replace(hashed, "program: first,", "program: first, on_rc: error,", 1),
	} {
		if text == hashed {
			t.Errorf("%s: the test changes nothing", what)
		}
		if got := hashOf(t, loadOne(t, text)); got != want {
			t.Errorf("%s: another hash", what)
		}
	}
}

// Whatever can change a run changes the hash.
func TestEveryChangeOfMeaningChangesTheHash(t *testing.T) {
	want := hashOf(t, loadOne(t, hashed))
	seen := map[string]string{want: "the original"}
	check := func(what, got string) {
		t.Helper()
		if other, ok := seen[got]; ok {
			t.Errorf("%s: the same hash as %s", what, other)
		}
		seen[got] = what
	}
	for what, change := range map[string][2]string{
		"process name":               {"process: p", "process: q"},
		"version":                    {"version: 1", "version: 2"},
		"a member's name":            {"{n: int}", "{m: int}"},
		"a member's type":            {"{n: int}", "{n: string}"},
		"a default":                  {"default: 1.5", "default: 2.5"},
		"the order of members":       {"{a: int, b: string,", "{b: string, a: int,"},
		"starts":                     {"[A, B]", "[A]"},
		"node":                       {"node: C", "node: D"},
		"program":                    {"program: third", "program: fourth"},
		"exit":                       {"exit: _RC == 0", "exit: _RC == 1"},
		"start kind":                 {"start: any", "start: all"},
		"start expression":           {"one || two", "one && two"},
		"transition condition":       {"a > 1", "a > 2"},
		"otherwise":                  {"one -> six: otherwise", "one -> six"},
		"a connector":                {"  - six -> sink\n", ""},
		"a mapping":                  {"{a: a, b: b}", "{a: a}"},
		"the order of mappings":      {"{a: a, b: b}", "{b: b, a: a}"},
		"the order of data sources":  {"  - one -> six: {a: a, b: b}\n  - two -> six: {a: a}\n", "  - two -> six: {a: a}\n  - one -> six: {a: a, b: b}\n"},
		"max_iterations":             {"start: any", "start: any, max_iterations: 3"},
		"again":                      {"start: any", "start: any, again: {after: 3s}"},
		"again, max":                 {"start: any", "start: any, again: {max: 3m}"},
		"retry":                      {"start: any", "start: any, retry: {attempts: 2}"},
		"retry, backoff":             {"start: any", "start: any, retry: {attempts: 1, backoff: 3s}"},
		"retry, max_backoff":         {"start: any", "start: any, retry: {attempts: 1, max_backoff: 3m}"},
		"on_rc":                      {"program: first", "program: first, on_rc: continue"},
		"a schedule":                 {"version: 1", "version: 1\nschedule: {node: A, every: 6h}"},
		"another interval":           {"version: 1", "version: 1\nschedule: {node: A, every: 7h}"},
		"cron":                       {"version: 1", "version: 1\nschedule: {node: A, cron: 0 6 * * *}"},
		"another node":               {"version: 1", "version: 1\nschedule: {node: B, cron: 0 6 * * *}"},
		"a zone":                     {"version: 1", "version: 1\nschedule: {node: A, cron: 0 6 * * *, zone: Europe/Berlin}"},
		"missed":                     {"version: 1", "version: 1\nschedule: {node: A, every: 6h, missed: all}"},
		"overlap":                    {"version: 1", "version: 1\nschedule: {node: A, every: 6h, overlap: skip}"},
		"a deadline":                 {"version: 1", "version: 1\ndeadline: {after: 6h}"},
		"another deadline":           {"version: 1", "version: 1\ndeadline: {after: 7h}"},
		"a deadline of the calendar": {"version: 1", "version: 1\ndeadline: {at: 2026-01-31T09:00:00Z}"},
		"search":                     {"version: 1", "version: 1\nsearch: [a]"},
		"search, another member":     {"version: 1", "version: 1\nsearch: [a, b]"},
		"two schedules":              {"version: 1", "version: 1\nschedule: [{node: A, every: 6h}, {node: B, every: 6h}]"},
		"on_rc: error":               {"exit: _RC == 0", "exit: _RC == 0, on_rc: error"},
	} {
		text := strings.Replace(hashed, change[0], change[1], 1)
		if text == hashed {
			t.Errorf("%s: the test changes nothing", what)
		}
		check(what, hashOf(t, loadOne(t, text)))
	}
	for what, change := range map[string]func(p *Process){
		"input":       func(p *Process) { p.Input = container.Empty },
		"output":      func(p *Process) { p.Output = container.Empty },
		"empty":       func(p *Process) { p.Activities[0].Program, p.Activities[0].Empty = "", true },
		"no output":   func(p *Process) { p.Activities[0].NoOutput = true },
		"at_least":    func(p *Process) { p.Activities[2].Start = Start{Kind: StartAtLeast, N: 1} },
		"at_least n":  func(p *Process) { p.Activities[2].Start = Start{Kind: StartAtLeast, N: 2} },
		"_RC instead": func(p *Process) { m := &p.Data[2].Mappings[0]; m.RC, m.From = true, nil },
		"long again":  func(p *Process) { p.Activities[0].AgainMax = time.Hour },
	} {
		p := loadOne(t, hashed)
		change(p)
		check(what, hashOf(t, p))
	}
}

// As the file has it a definition has the hash that versions before canonical texts gave,
// and tables with those texts.
func TestAsWritten(t *testing.T) {
	crowded := strings.NewReplacer("a > 1", "a>1", "_RC == 0", "_RC==0", "one || two", "one||two").Replace(hashed)
	compiled := func(text string, o CompileOptions) *Compiled {
		t.Helper()
		c, err := CompileWith(loadOne(t, text), o)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	as := CompileOptions{AsWritten: true}
	if compiled(hashed, as).Hash != compiled(hashed, CompileOptions{}).Hash {
		t.Error("what is canonical has another hash as written")
	}
	written := compiled(crowded, as)
	const before = "5e63d1d5" // of version 0.1.0 at the commit before texts became canonical
	if got := written.Hash.String()[:len(before)]; got != before {
		t.Errorf("the hash as written is %s..., want %s...", got, before)
	}
	var texts []string
	for _, table := range written.Tables {
		for _, a := range table.Activities {
			if a.Exit != nil {
				texts = append(texts, a.Exit.Text)
			}
		}
	}
	if len(texts) != 1 || texts[0] != "_RC==0" {
		t.Errorf("texts %q", texts)
	}
}
