// Package patterns_test runs the workflow patterns that the language can say, and holds the page about
// them against their files.
package patterns_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fmqm/definition"
	"fmqm/interpret"
)

// Each definition is checked without a word, and the first process of its file comes to what the first line of its results says: the
// state of the instance, and of activities by their paths.
func TestPatternsRun(t *testing.T) {
	for _, file := range files(t) {
		t.Run(file, func(t *testing.T) {
			processes, diagnostics := definition.Load(file, read(t, file))
			if len(diagnostics) > 0 || len(processes) == 0 {
				t.Fatal(diagnostics)
			}
			results := read(t, "results/"+file)
			first, _, _ := strings.Cut(string(results), "\n")
			expected, ok := strings.CutPrefix(first, "# expect: ")
			if !ok {
				t.Fatalf("its results begin with %q", first)
			}
			programs, err := interpret.ParseResults(processes[0], results, processes...)
			if err != nil {
				t.Fatal(err)
			}
			r, err := interpret.Run(processes[0], nil, programs, interpret.Options{Processes: processes})
			if err != nil {
				t.Fatal(err)
			}
			came := []string{string(r.State)}
			for a := range r.Family() {
				came = append(came, a.Path()+" "+string(a.State))
			}
			want := strings.Split(expected, ", ")
			for _, w := range want {
				if !slices.Contains(came, w) {
					t.Errorf("%s is none of what it came to: %s", w, strings.Join(came, ", "))
				}
			}
			for _, a := range r.Activities {
				if !slices.ContainsFunc(want, func(w string) bool { return strings.HasPrefix(w, a.Activity+" ") }) {
					t.Errorf("nothing is expected of %s", a.Activity)
				}
			}
		})
	}
}

var row = regexp.MustCompile(`(?m)^\| (\d+) \| ([^|]+) \| (yes|partly|no) \| (?:\[([^\]]+)\]\(\.\./examples/patterns/([^)]+)\))? ?\| ([^|]+) \|$`)

// The page has all 43 patterns; each that the language can say has a file, and each file stands there.
func TestThePageHasThePatterns(t *testing.T) {
	page := string(read(t, "../../docs/patterns.md"))
	var linked []string
	rows := row.FindAllStringSubmatch(page, -1)
	can := map[string]int{}
	for i, m := range rows {
		number, how, shown, file := m[1], m[3], m[4], m[5]
		can[how]++
		if number != fmt.Sprint(i+1) {
			t.Errorf("row %d is of pattern %s", i+1, number)
		}
		if how == "yes" && file == "" || how == "no" && file != "" || shown != strings.TrimSuffix(file, ".yaml") {
			t.Errorf("pattern %s is %s, with the file %q", number, how, file)
		}
		if file != "" {
			linked = append(linked, file)
			if !strings.HasPrefix(file, fmt.Sprintf("%02d-", i+1)) {
				t.Errorf("pattern %s has the file %s", number, file)
			}
		}
	}
	if len(rows) != 43 {
		t.Errorf("the page has %d patterns", len(rows))
	}
	if !slices.Equal(linked, files(t)) {
		t.Errorf("the page has %v,\nthe directory %v", linked, files(t))
	}
	if says := fmt.Sprintf("%d of 43 can be said, %d in part", can["yes"], can["partly"]); !strings.Contains(page, says) {
		t.Errorf("the page does not say: %s", says)
	}
}

// files are the definitions, in order.
func files(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
