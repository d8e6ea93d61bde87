package docs

import (
	"os"
	"strings"
	"testing"
)

// The changelog has each heading of a version, and each entry, once: a merge can leave both
// sides of what was rewritten.
func TestTheChangelogHasEverythingOnce(t *testing.T) {
	text, err := os.ReadFile("../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	_, entries, ok := strings.Cut(string(text), "\n## [0.1.0]")
	if !ok {
		t.Fatal("there is no version 0.1.0")
	}
	entries, _, _ = strings.Cut(entries, "\n## ")
	seen := map[string]int{}
	for i, line := range strings.Split(entries, "\n") {
		if !strings.HasPrefix(line, "### ") && !strings.HasPrefix(line, "- ") {
			continue
		}
		if before, twice := seen[line]; twice {
			t.Errorf("line %d of the version is line %d again: %.100s", i, before, line)
		}
		seen[line] = i
	}
}
