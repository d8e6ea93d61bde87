package clitest

import (
	"os"
	"path/filepath"
	"testing"
)

// Pages checks what the project's pages have people type of a program: that it is
// understood as it stands. root is the directory of the project; check is cli.CheckPage.
func Pages(t *testing.T, root string, check func(page string) (wrong []string, checked int)) {
	t.Helper()
	pages := []string{filepath.Join(root, "README.md")}
	for _, pattern := range []string{"docs/*.md", "examples/*/README.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(found) < 5 {
			t.Fatalf("%s: %v, %v", pattern, found, err)
		}
		pages = append(pages, found...)
	}
	all := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		wrong, checked := check(string(text))
		for _, w := range wrong {
			t.Errorf("%s: %s", page, w)
		}
		all += checked
	}
	if all < 15 {
		t.Errorf("the pages call it %d times only", all)
	}
}
