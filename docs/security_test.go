package docs

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sectionOf gives what stands below a heading of a page, up to the next heading.
func sectionOf(t *testing.T, page, heading string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	found := false
	for line := range strings.Lines(string(text)) {
		switch {
		case strings.HasPrefix(line, "#") && found:
			return b.String()
		case strings.HasPrefix(line, "#"):
			found = strings.TrimSpace(strings.TrimLeft(line, "#")) == heading
		case found:
			b.WriteString(line)
		}
	}
	if !found {
		t.Fatalf("%s has no section %q", page, heading)
	}
	return b.String()
}

// cellsOf gives the cells of a column of the table in a text, without the headline.
func cellsOf(text string, n int) []string {
	var cells []string
	for line := range strings.Lines(text) {
		if parts := strings.Split(line, "|"); len(parts) > n+1 && !strings.HasPrefix(parts[1], "---") {
			cells = append(cells, strings.TrimSpace(parts[n]))
		}
	}
	return cells[1:]
}

// Every field of a header, every kind of message and every question between sites has a
// line that says who may send it, and who proves it.
func TestEveryFieldHasSomebodyWhoProvesIt(t *testing.T) {
	const page = "security.md"
	if diff := cmp.Diff(cellsOf(section(t, "Header"), 2), cellsOf(sectionOf(t, page, "What a message may say"), 1)); diff != "" {
		t.Errorf("the fields of a header in formats.md (-) and in %s (+):\n%s", page, diff)
	}
	if diff := cmp.Diff(cellsOf(section(t, "Kinds of messages"), 2), cellsOf(sectionOf(t, page, "Who may send what"), 1)); diff != "" {
		t.Errorf("the kinds of messages in formats.md (-) and in %s (+):\n%s", page, diff)
	}
	var questions []string
	for _, m := range regexp.MustCompile(`(?m)^(?:\t|const )[aA]sk\w+ += "(\w+)"`).FindAllStringSubmatch(source(t, "../node"), -1) {
		questions = append(questions, m[1])
	}
	slices.Sort(questions)
	documented := cellsOf(sectionOf(t, page, "Who may ask what"), 1)
	slices.Sort(documented)
	if diff := cmp.Diff(questions, documented); diff != "" {
		t.Errorf("the questions that are asked (-) and those in %s (+):\n%s", page, diff)
	}
}
