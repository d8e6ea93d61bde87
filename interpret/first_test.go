package interpret

import (
	"strings"
	"testing"
)

// asked are two that are asked, and order, which begins with the first.
const asked = `
activities:
  north: {node: A, program: p, input: S, output: S}
  south: {node: B, program: p, output: S, exit: b}
  order: {node: A, program: p, input: S, output: S, start: first}
control:
  - north -> order: n > 0
  - south -> order
data:
  - north -> order: {n: n}
  - south -> order: {n: n, s: s}
  - order -> sink
`

// An activity that begins with the first connectors has the data of what counted, and of nothing else (N14).
func TestFirst(t *testing.T) {
	for _, tc := range []struct {
		rule, process, results, want string
	}{
		{
			"as they end in the run", asked, `{north: [{output: {n: 1}}], south: [{output: {n: 2, s: x, b: true}}]}`,
			`finished {"n":1,"s":"","b":false,"l":[]}`,
		},
		{
			"as the results say", asked, `{north: [{output: {n: 1}}], south: [{output: {n: 2, s: x, b: true}}], order: [{first: [south]}]}`,
			`finished {"n":2,"s":"x","b":false,"l":[]}`,
		},
		{
			"as the results say, with the data of source, which are always there", strings.Replace(asked, "data:", "data:\n  - source -> order: {l: \"([7])\"}", 1),
			`{north: [{output: {n: 1}}], south: [{output: {n: 2, s: x, b: true}}], order: [{first: [south]}]}`, `finished {"n":2,"s":"x","b":false,"l":[7]}`,
		},
		{
			"with the first that is TRUE", asked, `{south: [{output: {n: 2, s: x, b: true}}]}`,
			`finished {"n":2,"s":"x","b":false,"l":[]}`,
		},
		{
			"skipped when so many are FALSE", strings.Replace(strings.Replace(asked, "south -> order", "south -> order: n > 5", 1), "start: first", "start: first", 1),
			`{south: [{output: {n: 2, b: true}}]}`, `finished {"n":0,"s":"","b":false,"l":[]} order:skipped`,
		},
		{
			"while another goes on, which the instance waits for", strings.Replace(asked, "exit: b", "retry: {attempts: 1}", 1),
			`{north: [{output: {n: 1}}], south: [{error: no}]}`, `in-error south:in-error`,
		},
		{
			"with data of what has come", strings.Replace(strings.Replace(asked, "- north -> order: n > 0\n", "- north -> order\n  - source -> order: b\n", 1), "data:", "data:\n  - source -> order: {s: s}", 1),
			`{north: [{output: {n: 1}}], south: [{output: {n: 2, b: true}}]}`, `finished {"n":1,"s":"","b":false,"l":[]}`,
		},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			p := load(t, head+tc.process)
			r, err := Run(p, nil, parsed(t, p, tc.results), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := told(t, r); !strings.HasPrefix(got, tc.want) {
				t.Errorf("%s\nwant %s", got, tc.want)
			}
		})
	}
}

// What cannot have counted is refused: by the file of results where that is seen there, else by the run.
func TestFirstThatCannotBe(t *testing.T) {
	p := load(t, head+asked)
	for results, want := range map[string]string{
		`{order: [{first: [north, south]}]}`:       "order begins with 1 of the activities before it: name as many",
		`{order: [{first: [order]}]}`:              "no connector leads from order to order",
		`{order: [{first: []}]}`:                   "order: first: expected the activities with which it begins, such as [credit]",
		`{order: [{}, {first: [north]}]}`:          "it begins once, as its first entry says: move `first` there",
		`{north: [{first: [south]}]}`:              "north waits for all that leads to it: write `start: first` at it, or remove this",
		`{order: [{first: [south], error: late}]}`: "",
	} {
		_, err := ParseResults(p, []byte(results))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", results, err, want)
		}
	}
	_, err := Run(p, nil, parsed(t, p, `{south: [{output: {b: true}}], order: [{first: [north]}]}`), Options{})
	if want := "order: it cannot have begun with north: TRUE are the connectors of south"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// What is dead with its only control connector is passed around (R18): it is skipped, and what follows on it is decided,
// although data for it is still to come, of an activity in error before one that did not wait for that.
func TestPassedAround(t *testing.T) {
	const text = `
activities:
  south: {node: A, program: p, output: S, retry: {attempts: 1}}
  north: {node: A, program: p, output: S}
  order: {node: A, program: p, output: S, start: first}
  dead: {node: A, program: p, input: S}
  beyond: {node: A, program: p}
  other: {node: A, program: p, start: "!dead"}
control:
  - north -> order
  - south -> order
  - order -> dead: n > 5
  - dead -> beyond
  - dead -> other
data:
  - south -> dead: {n: n}
`
	p := load(t, head+text)
	for results, want := range map[string]string{
		`{north: [{}], south: [{error: no}]}`: "in-error south:in-error dead:skipped beyond:skipped",
		`{north: [{}], south: [{}]}`:          `finished {"n":0,"s":"","b":false,"l":[]} dead:skipped beyond:skipped`,
	} {
		r, err := Run(p, nil, parsed(t, p, results), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := told(t, r); got != want {
			t.Errorf("%s: %s\nwant %s", results, got, want)
		}
	}
}
