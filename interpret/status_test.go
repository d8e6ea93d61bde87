package interpret

import (
	"slices"
	"strings"
	"testing"
)

// The keys are those of every status, and API.
func TestStatusJSON(t *testing.T) {
	const loop = head + `
activities:
  a: {node: A, program: p, output: S, exit: _RC == 0}
  b: {node: B, program: p, retry: {attempts: 2}}
  c: {node: C, program: p}
control: [a -> b: n > 0, b -> c]
data: [a -> sink: {n: n}]
`
	for _, tc := range []struct{ name, results, want string }{
		{"finished", `{a: [{rc: 1}, {rc: 0}]}`, `{"process":"p@1","state":"finished","output":{"n":0,"s":"","b":false,"l":[]},"activities":[` +
			`{"activity":"a","node":"A","state":"terminated","iterations":2,"rc":0,"output":{"n":0,"s":"","b":false,"l":[]}},` +
			`{"activity":"b","node":"B","state":"skipped"},{"activity":"c","node":"C","state":"skipped"}],"unreachable":[]}`},
		{"without output", `{a: [{output: {n: 1}}]}`, `{"process":"p@1","state":"finished","output":{"n":1,"s":"","b":false,"l":[]},"activities":[` +
			`{"activity":"a","node":"A","state":"terminated","iterations":1,"rc":0,"output":{"n":1,"s":"","b":false,"l":[]}},` +
			`{"activity":"b","node":"B","state":"terminated","iterations":1,"rc":0},{"activity":"c","node":"C","state":"terminated","iterations":1,"rc":0}],"unreachable":[]}`},
		{"in error", `{a: [{output: {n: 1}}], b: [{error: x}, {rc: 9}]}`, `{"process":"p@1","state":"in-error","in_error":1,"activities":[` +
			`{"activity":"a","node":"A","state":"terminated","iterations":1,"rc":0,"output":{"n":1,"s":"","b":false,"l":[]}},` +
			`{"activity":"b","node":"B","state":"in-error","iterations":1,"attempts":2,"reason":"return code 9, and no condition or mapping of b reads _RC"},` +
			`{"activity":"c","node":"C","state":"inactive"}],"unreachable":[]}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b, err := StatusJSON(run(t, load(t, loop), "", tc.results))
			if err != nil {
				t.Fatal(err)
			}
			if string(b) != tc.want {
				t.Errorf("%s\nwant\n%s", b, tc.want)
			}
		})
	}
}

// Where there are blocks, each activity says what it is, and those inside say where they are.
func TestStatusJSONOfBlocks(t *testing.T) {
	r := run(t, loadBlocks(t, documents, blocks{"documents": strings.Replace(checkAndAsk, "ask: {node: B, program: p,", "ask: {node: B, empty: true,", 1)}), "",
		`{check: [{output: {n: 1}}], documents#2/check: [{error: no paper}]}`)
	const begin = `{"process":"p@1","state":"in-error","in_error":1,`
	const top = `{"activity":"documents","kind":"block","node":"A","state":"running","iterations":2},`
	const second = `{"activity":"check","scope":"documents#2","kind":"program","node":"A","state":"in-error","iterations":1,"reason":"no paper"},` +
		`{"activity":"ask","scope":"documents#2","kind":"empty","node":"B","state":"inactive"}`
	const pay = `{"activity":"pay","kind":"program","node":"B","state":"inactive"}`
	const first = `{"activity":"check","scope":"documents#1","kind":"program","node":"A","state":"terminated","iterations":1,"rc":0,"output":{"n":1,"s":"","b":false,"l":[]}},` +
		`{"activity":"ask","scope":"documents#1","kind":"empty","node":"B","state":"skipped"},`
	inside, err := r.In("documents")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		shown []*ActivityResult
		want  string
	}{
		{pointers(r.Activities), `"activities":[` + top + pay + `],"unreachable":[]}`},
		{inside, `"scope":"documents#2","activities":[` + second + `],"unreachable":[]}`},
		{slices.Collect(r.All()), `"activities":[` + top + first + second + "," + pay + `],"unreachable":[]}`},
	} {
		b, err := StatusJSONOf(r, tc.shown)
		if err != nil {
			t.Fatal(err)
		}
		if string(b) != begin+tc.want {
			t.Errorf("%s\nwant\n%s", b, begin+tc.want)
		}
	}
}

// Beside what it gave, an activity that did not end by itself says what has ended it.
func TestStatusJSONOfEndings(t *testing.T) {
	p := endings(t, loadBlocks(t, rivals, blocks{"a": "activities: {x: {node: C, program: p}}"}), "c: deadline\nc: cancels a\nb: wait\nstart: on_error")
	r := run(t, p, "", `{start: [{error: no paper}], x: [{error: x}], c: [{timeout: true}]}`)
	b, err := StatusJSONOf(r, slices.Collect(r.All()))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"process":"p@1","state":"finished","output":{"n":0,"s":"","b":false,"l":[]},"activities":[` +
		`{"activity":"start","kind":"program","node":"A","state":"terminated","iterations":1,"rc":-1,"error":"no paper","output":{"n":0,"s":"","b":false,"l":[]}},` +
		`{"activity":"a","kind":"block","node":"A","state":"cancelled","iterations":1,"reason":"c has ended, and cancels it"},` +
		`{"activity":"x","scope":"a#1","kind":"program","node":"C","state":"cancelled","iterations":1,"reason":"c has ended, and cancels it"},` +
		`{"activity":"b","kind":"wait","node":"A","state":"skipped"},` +
		`{"activity":"c","kind":"program","node":"B","state":"terminated","iterations":1,"rc":-1,"timeout":true,"output":{"n":0,"s":"","b":false,"l":[]}},` +
		`{"activity":"after","kind":"program","node":"B","state":"terminated","iterations":1,"rc":0}],"unreachable":[]}`
	if string(b) != want {
		t.Errorf("%s\nwant\n%s", b, want)
	}
}
