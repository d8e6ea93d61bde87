package definition

import (
	"fmt"
	"strings"
	"testing"
)

// choice is a process of several choices with so many ways each, which set one member of
// the output, or nothing in common.
func choice(choices, ways int, common bool) string {
	var activities, control, data strings.Builder
	for c := range choices {
		fmt.Fprintf(&activities, "  c%d: {node: A, program: p, output: S}\n", c)
		for w := range ways {
			fmt.Fprintf(&activities, "  w%d_%d: {node: A, program: p, output: S}\n  v%d_%d: {node: A, program: p, input: S}\n", c, w, c, w)
			fmt.Fprintf(&control, "  - c%d -> w%d_%d: n == %d\n  - w%d_%d -> v%d_%d\n", c, c, w, w, c, w, c, w)
			if fmt.Fprintf(&data, "  - w%d_%d -> v%d_%d\n", c, w, c, w); common {
				fmt.Fprintf(&data, "  - w%d_%d -> sink\n", c, w)
			}
		}
	}
	output := ""
	if common {
		output = "output: S\n"
	}
	return "process: p\nversion: 1\nstructures: {S: {n: int}}\n" + output +
		"activities:\n" + activities.String() + "control:\n" + control.String() + "data:\n" + data.String()
}

// Ways that have nothing in common are not compared, so that they cost nothing however
// many there are; and a choice of hundreds of ways that all meet is compared whole.
func TestOnlyWhatMeetsIsCompared(t *testing.T) {
	const choices, ways = 3, 100
	most := languageBounds
	most.comparing = ways * readClaim // each condition is read once, also for the next choice
	for _, test := range []struct {
		text string
		most bounds
	}{{choice(choices, ways, false), most}, {choice(1, 400, true), languageBounds}} {
		if _, diagnostics := loadWithin("test.yaml", []byte(test.text), test.most); len(diagnostics) > 0 {
			t.Errorf("%d diagnostics, such as %v", len(diagnostics), diagnostics[0])
		}
	}
}

// Where not all conditions are compared, that is said, and a warning that rests on it does
// not claim more than is known.
func TestWhatIsNotComparedIsSaid(t *testing.T) {
	most := languageBounds
	most.comparing = 60 * readClaim
	_, diagnostics := loadWithin("test.yaml", []byte(choice(1, 50, true)), most)
	if len(diagnostics) < 2 {
		t.Fatal(diagnostics)
	}
	if d := diagnostics[0]; d.Code != codeRunsUndecided || !strings.Contains(d.Message, "the conditions out of c0 are not all compared") {
		t.Error(d)
	}
	for _, d := range diagnostics[1:] {
		if d.Code != codeTwoSources || !strings.Contains(d.Message, "and both may run") {
			t.Error(d)
		}
	}
}
