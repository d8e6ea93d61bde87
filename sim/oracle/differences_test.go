package oracle_test

import (
	"slices"
	"strings"
	"testing"

	"fmqm/api"
	"fmqm/definition"
	"fmqm/sim/generate"
	"fmqm/sim/oracle"
)

// N21: what a bundle gives is compared, also where nobody reads it but a person.
func TestN21WhatABundleGivesIsCompared(t *testing.T) {
	c := generate.Given(`
structures:
  In: {n: int}
  Out: {all: int}
output: Out
activities:
  e: {node: A, program: many, input: In, for_each: n}
data: [{source -> e: {n: '([1, 2])'}}, {e -> sink: {all: _COUNT}}]
`)
	processes, wrong := definition.Load("p.yaml", []byte(c.Text("p")))
	if len(processes) != 1 {
		t.Fatal(wrong)
	}
	expected, err := oracle.Expect(processes[0], nil, generate.Interpreted(c))
	if err != nil {
		t.Fatal(err)
	}
	for output, want := range map[string]bool{`{"_COUNT":2,"_DONE":2,"_FAILED":0}`: false, `{"_COUNT":3,"_DONE":2,"_FAILED":0}`: true} {
		differ := oracle.Differences(api.Status{Activities: []api.Activity{{Activity: "e", Output: []byte(output)}}}, expected.Result)
		if got := slices.ContainsFunc(differ, func(text string) bool { return strings.HasPrefix(text, "e: results is ") }); got != want {
			t.Errorf("%s: %q", output, differ)
		}
	}
}
