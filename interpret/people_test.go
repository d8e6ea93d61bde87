package interpret

import (
	"strings"
	"testing"
)

const claim = `process: claim
version: 1
structures:
  Claim: {claim: string, amount: double, lines: [string]}
  Case: {claim: string, sum: double, note: string}
  Line: {line: string}
  Result: {decided_by: string, sum: double, started_by: string}
input: Claim
output: Result
activities:
  assess: {node: branch, staff: role("adjuster"), input: Claim, output: Case}
  approve: {node: office, staff: role("approver") && !did(assess), input: Case, output: Case, deadline: {after: 5d}, exit: sum > 10.0}
  board: {node: office, staff: did(assess) && sum < 5000.0, input: Case, output: Case}
  look: {node: office, staff: "!did(assess)", input: Line, for_each: line}
control:
  - assess -> approve
  - approve -> board: _TIMEOUT
  - approve -> look: _BY == "bob@office"
data:
  - source -> assess
  - assess -> approve
  - assess -> board
  - approve -> approve: {sum: sum}
  - source -> look: {line: lines}
  - source -> sink: {started_by: _BY}
  - approve -> sink: {decided_by: _BY, sum: sum}
  - board -> sink: {decided_by: _BY, sum: sum}
`

// What a person does is merged into the draft, and _BY says who it was.
func TestResultsOfPeople(t *testing.T) {
	p := load(t, claim)
	const input = `{"claim": "C-1", "lines": ["a", "b"]}`
	for _, tc := range []struct{ results, want string }{
		{
			`{assess: [{by: ann, output: {sum: 1200}}], approve: [{by: bob, output: {note: good}}]}`,
			`finished {"decided_by":"bob@office","sum":1200,"started_by":""} board:skipped`,
		},
		{
			`{assess: [{by: ann, output: {sum: 1200}}], approve: [{by: carl}], look: [{by: dora}]}`,
			`finished {"decided_by":"carl@office","sum":1200,"started_by":""} board:skipped look:skipped`,
		},
		{
			`{assess: [{by: ann, output: {sum: 1200}}], approve: [{timeout: true}], board: [{by: ann@branch, output: {sum: 3}}]}`,
			`finished {"decided_by":"ann@branch","sum":3,"started_by":""} look:skipped`,
		},
		{`{assess: [{output: {sum: 12}}]}`, `finished {"decided_by":"","sum":12,"started_by":""} board:skipped look:skipped`},
		{`{approve: [{by: bob}, {by: carl, output: {sum: 11}}]}`, `finished {"decided_by":"carl@office","sum":11,"started_by":""} approve:2 board:skipped look:skipped`},
	} {
		r := run(t, p, input, tc.results)
		if got := summary(t, r); got != tc.want {
			t.Errorf("%s\n got %s\nwant %s", tc.results, got, tc.want)
		}
	}
	r := run(t, p, input, `{assess: [{by: ann, output: {sum: 1200}}], approve: [{by: bob}]}`)
	status, err := StatusJSON(r)
	if err != nil || !strings.Contains(string(status), `{"activity":"assess","kind":"manual","node":"branch","state":"terminated","iterations":1,"rc":0,"output":{"claim":"C-1","sum":1200,"note":""}}`) {
		t.Errorf("%v: %s", err, status)
	}
}

// Who is barred by what was done before cannot have done it, and the place in the file says so.
func TestResultsOfWhoIsBarred(t *testing.T) {
	p := load(t, claim)
	const assessed = `{assess: [{by: ann, output: {sum: 1200}}], `
	for results, want := range map[string]string{
		assessed + `approve: [{by: ann}]}`:                                                                  "1:59: approve: `!did(assess)` bars ann, who did assess: name somebody else",
		assessed + `approve: [{by: ann@office}]}`:                                                           "1:59: approve: `!did(assess)` bars ann, who did assess: name somebody else",
		assessed + `approve: [{timeout: true}], board: [{by: bob}]}`:                                        "1:85: board: `did(assess)` holds for ann, who did assess, and not for bob: name somebody else",
		`{approve: [{timeout: true}], board: [{by: bob}]}`:                                                  "1:43: board: `did(assess)` holds for nobody, since nobody did assess: name somebody else",
		assessed + `approve: [{by: bob}], look: [{by: ann}]}`:                                               "1:78: look: `!did(assess)` bars ann, who did assess: name somebody else",
		`{assess: [{by: ann, output: {sum: 9000}}], approve: [{timeout: true}], board: [{by: ann@branch}]}`: "1:85: board: `sum < 5000.0` does not hold for this input: name somebody else",
	} {
		programs, err := ParseResults(p, []byte(results))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = Run(p, input(t, p, `{"lines": ["a"]}`), programs, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n got %v\nwant %s", results, err, want)
		}
	}
	for results, want := range map[string]string{
		`{assess: [{by: "Ann Ames"}]}`:         `1:16: assess: by: expected the name of a person, such as ann, or ann@ward for somebody of another site`,
		`{assess: [{rc: 0}]}`:                  "1:12: assess: the _RC of a manual activity is 0: write by and output",
		`{assess: [{error: no}]}`:              "1:12: assess: a person does it, and gives no error: write by and output, or timeout",
		`{assess: [{by: ann, timeout: true}]}`: "assess has no deadline",
	} {
		if _, err := ParseResults(p, []byte(results)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n got %v\nwant %s", results, err, want)
		}
	}
}

// Of whom the data do not say whether he may do it, or how urgent it is, nobody is asked: the activity is in error.
func TestWhatHasNoAnswerIsDoneByNobody(t *testing.T) {
	for key, want := range map[string]string{
		`staff: "role(station[0])"`:                                       "who may do it: ",
		`staff: "role(\"nurse\") || station[0] == \"ward\""`:              "who may do it: ",
		`staff: role("nurse"), priority: station.size() / station.size()`: "priority: ",
	} {
		p := load(t, "process: sample\nversion: 1\nstructures:\n  Sample: {station: [string]}\ninput: Sample\nstarts: [ward]\nactivities:\n  take: {node: ward, input: Sample, "+key+"}\ndata:\n  - source -> take\n")
		r := run(t, p, `{}`, `{}`)
		for a := range r.All() {
			if a.State != InError || !strings.HasPrefix(a.Error, want) {
				t.Errorf("%s: %s: %s: %q", key, a.Path(), a.State, a.Error)
			}
		}
	}
}
