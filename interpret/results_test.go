package interpret

import (
	"fmt"
	"strings"
	"testing"

	"fmqm/container"
	"fmqm/definition"
)

const played = `
process: p
version: 1
structures:
  S: {i: int, d: double, s: string, b: bool, raw: bytes, at: timestamp, len: duration, l: [int]}
input: S
activities:
  a: {node: A, program: p, input: S, output: S, on_rc: continue}
  silent: {node: A, program: p}
  none: {node: A, empty: true, input: S}
data: [source -> a, a -> none]
control: [a -> none]
`

func playedProcess(t testing.TB) *definition.Process { return load(t, played) }

// Each attempt takes the next entry; the last one repeats; a new run begins anew.
func TestEntriesArePlayedInOrder(t *testing.T) {
	p := playedProcess(t)
	programs := parsed(t, p, `
a:
  - {rc: 1}
  - error: no paper
  - output: {i: 2}
  - rc: 7
    output: {i: 3, s: x}
`)
	in := container.New(p.Input)
	in.Fields[0], in.Fields[2] = int64(9), "echoed"
	for run := range 2 {
		var got []string
		for attempt := range 6 {
			call := Call{Iteration: 1 + attempt/2, Attempt: 1 + attempt%2, Input: in.Clone()}
			o := programs.Run(p.Activities[0], call)
			line := fmt.Sprintf("%d %s", o.RC, o.Err)
			if o.Output != nil {
				line += fmt.Sprintf("%v %v", o.Output.Fields[0], o.Output.Fields[2])
				o.Output.Fields[0] = int64(-1) // the caller's own
			}
			got = append(got, line)
		}
		want := []string{"1 9 echoed", "0 no paper", "0 2 ", "7 3 x", "7 3 x", "7 3 x"}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("run %d: %q, want %q", run, got, want)
		}
	}
	o := programs.Run(p.Activities[1], Call{Iteration: 1, Attempt: 1, Input: container.New(container.Empty)})
	if o.RC != 0 || o.Err != "" || o.Output == nil {
		t.Errorf("an activity without entries gives %+v, want echo", o)
	}
}

// YAML and JSON give the same, and values keep what they say.
func TestOutputs(t *testing.T) {
	const want = `{"i":9007199254740993,"d":1.5,"s":"2026-01-02","b":true,"raw":"AQI=","at":"2026-01-02T03:04:05Z","len":"1m30s","l":[1,2]}`
	p := playedProcess(t)
	for what, text := range map[string]string{
		"json":  `{"a": [{"output": ` + want + `}]}`,
		"flow":  `{a: [{output: {i: 9007199254740993, d: 1.5, s: "2026-01-02", b: true, raw: AQI=, at: 2026-01-02T03:04:05Z, len: 1m30s, l: [1, 2]}}]}`,
		"block": "a:\n- output:\n    i: 0x20000000000001\n    d: 15e-1\n    s: '2026-01-02'\n    b: True\n    raw: AQI=\n    at: 2026-01-02T03:04:05Z\n    len: 1m30s\n    l:\n    - 1\n    - 2\n",
	} {
		o := parsed(t, p, text).Run(p.Activities[0], Call{Iteration: 1, Attempt: 1, Input: container.New(p.Input)})
		if got := jsonOf(t, o.Output); got != want {
			t.Errorf("%s gives\n%s\nwant\n%s", what, got, want)
		}
	}
	o := parsed(t, p, `{a: [{output: {s: null}}]}`).Run(p.Activities[0], Call{Iteration: 1, Attempt: 1, Input: container.New(p.Input)})
	if got := jsonOf(t, o.Output); !strings.Contains(got, `"s":""`) {
		t.Errorf("null gives %s, want the default", got)
	}
}

func TestNoResultsAtAll(t *testing.T) {
	p := playedProcess(t)
	for _, text := range []string{"", "{}", "# nothing\n", "null", "---\n"} {
		if _, err := ParseResults(p, []byte(text)); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestBadResults(t *testing.T) {
	p := playedProcess(t)
	for _, tc := range []struct{ name, text, want string }{
		{"syntax", "{a: [", "results: "},
		{"two documents", "{}\n---\n{}\n", "results: there is more than one document: remove the second"},
		{"a list", "[1]", "1:1: expected a mapping from activities to lists of results"},
		{"unknown activity", "\nsilnet: [{rc: 1}]", "2:1: unknown activity silnet: did you mean silent?"},
		{"unknown activity, far off", "elsewhere: [{rc: 1}]", "1:1: unknown activity elsewhere: the process has a, silent, none"},
		{"empty activity", "none: [{rc: 1}]", "1:1: activity none is empty and runs no program: remove it here"},
		{"activity twice", "{a: [{rc: 1}], a: [{rc: 2}]}", "1:16: a is there twice: remove one"},
		{"no list", "a: {rc: 1}", "1:4: a: expected a list of results, one for each attempt, such as [{rc: 0}]"},
		{"empty list", "a: []", "1:4: a: expected a list of results"},
		{"entry is a number", "a: [1]", "1:5: expected a result, such as {rc: 0, output: {...}} or {error: text}"},
		{"unknown key", "a: [{rcc: 1}]", "1:6: a: unknown key rcc: a result has rc and output, or error"},
		{"key twice", "a: [{rc: 1, rc: 2}]", "1:13: rc is there twice"},
		{"key is a list", "a: [{[x]: 1}]", "1:6: expected a name"},
		{"rc is text", "a: [{rc: one}]", "1:10: a: rc: expected a whole number"},
		{"rc is a fraction", "a: [{rc: 1.5}]", "1:10: a: rc: expected a whole number"},
		{"rc is too large", "a: [{rc: 99999999999999999999}]", "1:10: a: rc: expected a whole number"},
		{"error with rc", "a: [{error: x, rc: 1}]", "1:5: a: a failed attempt has neither rc nor output"},
		{"error without text", "a: [{error: ''}]", "1:13: a: error: expected a text that says why"},
		{"error is a list", "a: [{error: [x]}]", "1:13: a: error: expected a text"},
		{"output: unknown member", "a: [{output: {ii: 1}}]", "1:14: a: output: ii: unknown member"},
		{"output: wrong type", "a: [{output: {i: x}}]", "1:14: a: output: i: expected int"},
		{"output: text", "a: [{output: x}]", "1:14: a: output: "},
		{"output: infinite", "a: [{output: {d: .inf}}]", "1:18: .inf is not a value of a double"},
		{"output: member twice", "a: [{output: {i: 1, i: 2}}]", "1:14: a: output: i: "},
		{"output: alias", "a: [{output: &x {i: 1}}, {output: *x}]", "1:35: expected a plain value: write it out, without anchors and aliases"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			programs, err := ParseResults(p, []byte(tc.text))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v\nwant %s", err, tc.want)
			}
			if programs != nil {
				t.Error("programs are given beside the error")
			}
		})
	}
	_, err := ParseResults(p, []byte("a: [{rc: x}]\nb: []\n"))
	if err == nil || !strings.Contains(err.Error(), "1:10:") || !strings.Contains(err.Error(), "2:1:") {
		t.Errorf("not all errors are reported: %v", err)
	}
	if _, err := ParseResults(p, make([]byte, MaxResults+1)); err == nil || !strings.Contains(err.Error(), "above the limit") {
		t.Errorf("too large a file: %v", err)
	}
}

// Outcomes of races are said only where the definition has them.
func TestBadOutcomesInResults(t *testing.T) {
	p := endings(t, loadBlocks(t, rivals, blocks{"b": inStages["documents"]}), "a: cancels c\nafter: wait\nlook: wait\nb: deadline\nask: deadline")
	for _, tc := range []struct{ text, want string }{
		{"c: [{timeout: true}]", "1:6: c has no deadline: write `deadline: {after: 5d}` at it, or remove this"},
		{"a: [{cancelled: true}]", "1:6: nothing cancels a: name it under `cancels` of another activity, or remove this"},
		{"b: [{cancelled: true}]", "1:6: nothing cancels b: name it under `cancels` of another activity, or remove this"},
		{"ask: [{timeout: yes}]", "1:17: timeout: expected true"},
		{"c: [{cancelled: false}]", "1:17: cancelled: expected true"},
		{"c: [{cancelled: true, rc: 1}]", "1:5: c: what is cancelled has no result: remove cancelled or the others"},
		{"ask: [{timeout: true, output: {n: 1}}]", "1:7: ask: what the deadline has ended has no result: remove timeout or the others"},
		{"ask: [{timeout: true, cancelled: true}]", "1:7: ask: what the deadline has ended has no result: remove timeout or the others"},
		{"b: [{rc: 1}]", "1:6: b is a block and runs no program: give the results of what is inside it"},
		{"look: [{output: {}}]", "1:9: activity look waits and runs no program: remove it here"},
		{"after: [{}]", "1:1: activity after waits and runs no program: remove it here"},
	} {
		if _, err := ParseResults(p, []byte(tc.text)); err == nil || err.Error() != "results: "+tc.want {
			t.Errorf("%s: %v\nwant results: %s", tc.text, err, tc.want)
		}
	}
	parsed(t, p, "{c: [{rc: 1}, {cancelled: true}], b: [{}, {timeout: true}], ask: [{timeout: true}], look: [{cancelled: true}]}")
}

func FuzzParseResults(f *testing.F) {
	for _, text := range []string{`{a: [{rc: 1}, {rc: 0, output: {i: 1}}]}`, "a:\n- error: x\n", `{"a":[{"output":{"l":[1]}}]}`, "a: [{output: {d: 1e400}}]", "pick: [{output: {n: 2}}]\norder#2/pack: [{output: {n: 3}}]\n", "order#1/line#2/pick: [{rc: 1}]"} {
		f.Add([]byte(text))
	}
	ps := []*definition.Process{playedProcess(f), nested(f)}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, p := range ps {
			programs, err := ParseResults(p, text)
			if err != nil {
				continue
			}
			if _, err := Run(p, nil, programs, Options{}); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
		}
	})
}
