package definition

import (
	"slices"
	"strings"
	"testing"

	"fmqm/processtable"
)

// What a source chooses, and an activity with a deadline that takes the first match.
const choiceAtDeadline = `process: p
version: 1
structures:
  In: {fast: bool, amount: int}
  Out: {grade: int}
input: In
output: Out
activities:
  check: {node: A, program: p, input: In, output: Out, deadline: {after: 2h}, choice: first_match}
  skim:  {node: B, empty: true}
  poor:  {node: C, program: p}
  good:  {node: B, program: p}
  chase: {node: C, program: p, output: Out, cancels: [skim]}
control:
  - source -> skim: fast && amount < 100
  - source -> check: otherwise
  - check -> chase: _TIMEOUT
  - check -> poor: grade < 5
  - check -> good
data:
  - source -> check
  - check -> sink
  - chase -> sink
`

// A choice with a deadline, behind a choice of source, is one process: nothing is said of it, and each
// table has its part.
func TestFirstMatchAtADeadlineBehindConditionsOfSource(t *testing.T) {
	if _, diagnostics := Load("p.yaml", []byte(choiceAtDeadline)); len(diagnostics) > 0 {
		t.Fatalf("got %v, want no diagnostics", diagnostics)
	}
	c := compileOne(t, choiceAtDeadline)
	if c.Manifest.Format != processtable.BlockFormat {
		t.Errorf("got format %d, want %d", c.Manifest.Format, processtable.BlockFormat)
	}
	source := c.at(t, "A").Activity(processtable.RowID{Name: processtable.Source})
	if len(source.OutControl) != 2 || source.OutControl[0].Condition == nil || !source.OutControl[1].Otherwise {
		t.Errorf("got %+v out of source, want a condition and an otherwise", source.OutControl)
	}
	check := c.at(t, "A").Activity(processtable.RowID{Name: "check"})
	if !check.FirstMatch || check.Deadline == nil {
		t.Errorf("got first match %t and deadline %v, want both", check.FirstMatch, check.Deadline)
	}
}

// Where the first match is taken, who comes first decides what is said of an end without an output.
func TestFirstMatchDecidesWhoTakesThePathAtADeadline(t *testing.T) {
	lines := func(all ...string) string { return strings.Join(all, "\n  - ") }
	late, poor, good := "check -> chase: _TIMEOUT", "check -> poor: grade < 5", "check -> good"
	for _, c := range []struct{ name, written, code string }{
		{"the deadline before", lines(late, poor, good), ""},
		{"the deadline behind", lines(poor, late, good), codeDefaultTaken},
		{"the others take it", lines("check -> poor: grade > 5", "check -> chase: grade > 3", good), ""},
		{"there are no others", lines("check -> poor: grade > 5", "check -> chase: grade > 3", "check -> good: grade > 1"), codeDeadlineUnread},
	} {
		text := strings.Replace(choiceAtDeadline, lines(late, poor, good), c.written, 1)
		_, diagnostics := Load("p.yaml", []byte(text))
		found := ""
		for _, d := range diagnostics {
			if d.Code == codeDefaultTaken || d.Code == codeDeadlineUnread {
				found = d.Code
			}
		}
		if found != c.code {
			t.Errorf("%s: got %q, want %q, of %v", c.name, found, c.code, diagnostics)
		}
	}
}

// Behind what takes every end by itself, a branch only runs at the deadline: it sets nothing twice.
func TestFirstMatchOnlyAtTheDeadlineIsNoSecondSource(t *testing.T) {
	for _, c := range []struct {
		good, chase string
		twice       bool
	}{
		{": !_TIMEOUT", "", false},
		{": grade > 5 && !_TIMEOUT", "", true},
		{": !_TIMEOUT", ": grade < 5", false},
		{": _TIMEOUT", ": grade < 5", true},
	} {
		text := strings.NewReplacer(
			"check -> chase: _TIMEOUT", "check -> good"+c.good, "check -> poor: grade < 5", "check -> chase"+c.chase, "check -> good", "check -> poor",
		).Replace(choiceAtDeadline)
		_, diagnostics := Load("p.yaml", []byte(text))
		if twice := slices.ContainsFunc(diagnostics, func(d Diagnostic) bool { return d.Code == codeTwoSources }); twice != c.twice {
			t.Errorf("good%s, chase%s: set twice: %t, want %t: %v", c.good, c.chase, twice, c.twice, diagnostics)
		}
	}
}

// What an activity cancels may also have its way from source.
func TestWhatCancelsIsLookedForBehindSource(t *testing.T) {
	text := strings.Replace(choiceAtDeadline, "cancels: [skim]", "cancels: [good]", 1)
	text = strings.Replace(text, "control:\n", "control:\n  - source -> good\n  - chase -> good\n", 1)
	_, diagnostics := Load("p.yaml", []byte(text))
	if len(diagnostics) == 0 || diagnostics[0].Code != codeSuccessor {
		t.Errorf("got %v, want %s", diagnostics, codeSuccessor)
	}
}
