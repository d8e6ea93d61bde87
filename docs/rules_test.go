package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Code and pages cite the rules of ARCHITECTURE.md by their numbers: each is there, once.
func TestEveryRuleThatIsCitedIsListed(t *testing.T) {
	text, err := os.ReadFile("../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]int{}
	for _, m := range regexp.MustCompile(`(?m)^- \*\*([NLPS]\d+)\*\*`).FindAllStringSubmatch(string(text), -1) {
		if listed[m[1]]++; listed[m[1]] > 1 {
			t.Errorf("rule %s is listed twice", m[1])
		}
	}
	if len(listed) < 20 {
		t.Fatalf("ARCHITECTURE.md has only the rules %v", listed)
	}
	// In comments of Go, anywhere in pages, and in names of tests.
	cited := map[string]*regexp.Regexp{
		".go": regexp.MustCompile(`(?:func Test|//.*?\b)([NLPS]\d{1,2})(?:\b|[A-Z])`),
		".md": regexp.MustCompile(`\b([NLPS]\d{1,2})\b`),
	}
	err = filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() != ".." && strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir
		}
		rule := cited[filepath.Ext(path)]
		if rule == nil {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range rule.FindAllStringSubmatch(string(text), -1) {
			if listed[m[1]] == 0 {
				t.Errorf("%s cites rule %s, which ARCHITECTURE.md does not have", strings.TrimPrefix(path, "../"), m[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
