package interpret

import (
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
