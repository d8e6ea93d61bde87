package world

import (
	"fmt"
	"strings"
	"testing"

	"fmqm/queue/record"
)

// R31: what a bundle ends with has the outcomes that were put together before, in the list's order: where until leaves the
// rest, and where there are more than lie in the entry one by one. (The mutant chunk-lost.)
func TestR31OutcomesThatWerePutTogetherAreAmongTheResults(t *testing.T) {
	for _, tc := range []struct {
		what, list, until string
		left              bool
	}{
		{"until leaves the rest", "[1, 2, 3, 4, 5]", ", until: _DONE >= 2", true},
		{"a long list", "[" + strings.Repeat("1, 2, 3, ", 100) + "4]", "", false},
	} {
		t.Run(tc.what, func(t *testing.T) {
			r := Run(given(1, `
structures:
  One: {n: int}
  All: {each: [One], codes: [int], why: [string]}
output: All
starts: [A]
activities:
  each: {node: A, for_each: n`+tc.until+`, program: many, input: One, output: One}
data:
  - source -> each: {n: '(`+tc.list+`)'}
  - each -> sink: {each: _RESULTS, codes: _RCS, why: _ERRORS}
`), Options{Lines: true})
			if r.Broken != nil {
				t.Fatal(Story(r))
			}
			if left := says(r, fmt.Sprintf("A records event %d of each", record.EventCancelled)); left != tc.left {
				t.Errorf("elements are left: %t\n%s", left, Story(r))
			}
		})
	}
}
