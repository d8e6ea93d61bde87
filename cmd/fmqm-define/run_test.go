package main

import (
	"errors"
	"slices"
	"strings"
	"testing"

	shared "fmqm/cmd/internal/cli"
	"fmqm/container"
	"fmqm/definition"
	"fmqm/interpret"
)

// What is shown of a process with blocks: the top, with a line for each, what is in a scope,
// or everything.
func TestWhatIsShownOfBlocks(t *testing.T) {
	load := func(text string) *definition.Process {
		ps, problems := definition.Load("test.yaml", []byte("process: p\nversion: 1\nstructures: {S: {n: int}}\noutput: S\n"+text))
		if definition.HasErrors(problems) {
			t.Fatal(problems)
		}
		return ps[0]
	}
	p := load("activities: {documents: {node: A, program: x, output: S, exit: n > 1}, pay: {node: B, program: x}}\ncontrol: [documents -> pay]")
	p.Activities[0].Program, p.Activities[0].Block = "", &load("activities: {check: {node: C, program: x, output: S}}\ndata: [check -> sink]").Graph
	results, err := interpret.ParseResults(p, []byte("check: [{}]\ndocuments#2/check: [{output: {n: 2}}]\npay: [{error: no money}]"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := interpret.Run(p, nil, results, interpret.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const documents, pay = `documents A terminated 2 0 {"n":2}`, `pay B in-error 1  no money`
	for _, tc := range []struct {
		view view
		want []string
	}{
		{view{}, []string{documents, pay}},
		{view{scope: "documents"}, []string{`check C terminated 1 0 {"n":2}`}},
		{view{scope: "documents#1"}, []string{`check C terminated 1 0 {"n":0}`}},
		{view{tree: true}, []string{documents, `  documents#1/check C terminated 1 0 {"n":0}`, `  documents#2/check C terminated 1 0 {"n":2}`, pay}},
	} {
		shown, err := tc.view.of(r)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := rowsOf(shown, tc.view)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, row := range rows {
			got = append(got, strings.Join(row, " "))
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%+v shows %q\nwant %q", tc.view, got, tc.want)
		}
	}
	var missing *shared.Error
	if _, err := (view{scope: "documents#3"}).of(r); !errors.As(err, &missing) || missing.Exit != shared.ExitNotFound || missing.Text != "--scope: documents has come to iteration 2: write documents#2" {
		t.Errorf("an iteration that has not been: %v", err)
	}
	if got := reasons(r); got != "pay: no money" {
		t.Errorf("reasons: %s", got)
	}
}

// What did not end by itself says why in the place of its output.
func TestWhatIsShownOfEndings(t *testing.T) {
	a := func(state interpret.State) *interpret.ActivityResult {
		return &interpret.ActivityResult{Activity: "a", State: state}
	}
	late, caught, cancelled := a(interpret.Terminated), a(interpret.Terminated), a(interpret.Cancelled)
	late.TimedOut, caught.Failure, cancelled.Error = true, "check: no paper", "b has ended, and cancels it"
	late.Output = container.New(container.Empty)
	rows, err := rowsOf([]*interpret.ActivityResult{late, caught, cancelled}, view{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"the deadline has come", "check: no paper", "b has ended, and cancels it"} {
		if rows[i][5] != want {
			t.Errorf("%q, want %q", rows[i][5], want)
		}
	}
}
